//! Which case of a sweep a claim compares another one with: the one with the values of `against`, all else the same.

use super::{Claim, Over, matches_case, whole, without};
use crate::source::{Checked, Fault};
use serde_json::Value as Json;
use std::collections::BTreeMap;

/// Cases that are named so that a reader sees what to tell them apart by.
const NAMED: usize = 3;

/// The cases with the values of a claim's `against`; none without any.
pub(crate) struct Others<'a> {
    claim: &'a Claim,
    cases: Vec<&'a Json>,
    /// Their numbers, by the values that both must share.
    by: BTreeMap<String, Vec<usize>>,
    /// The same by all values but those that `against` gives.
    alike: BTreeMap<String, Vec<usize>>,
    given: Vec<String>,
}

impl<'a> Others<'a> {
    /// Those among these cases.
    pub fn of(claim: &'a Claim, cases: impl Iterator<Item = &'a Json>) -> Self {
        let cases: Vec<_> = if claim.against.is_empty() { Vec::new() } else { cases.collect() };
        let given: Vec<String> = claim.against.iter().map(|(key, _)| key.clone()).collect();
        // Sweeps may have 100 000 cases: none is looked for among all others.
        let (mut by, mut alike) = (BTreeMap::<String, Vec<usize>>::new(), BTreeMap::<String, Vec<usize>>::new());
        for (i, case) in cases.iter().enumerate().filter(|(_, case)| matches_case(&claim.against, case)) {
            by.entry(without(case, &claim.moved).to_string()).or_default().push(i);
            alike.entry(without(case, &given).to_string()).or_default().push(i);
        }
        Others { claim, cases, by, alike, given }
    }

    /// The number of the one that this case is compared with. It must have as many repetitions where each of this one's is
    /// set beside one of its.
    pub fn beside(&self, case: &Json) -> Checked<Option<usize>> {
        let other = self.fitting(case)?;
        if let Some(i) = other
            && self.claim.over == Over::Each
            && let (Some(here), Some(there)) = (whole(case, "run.repeat"), whole(self.cases[i], "run.repeat"))
            && here > there
        {
            let message = format!(
                "over = \"each\" sets each repetition beside one there, and of {here} that are here it has {there}: \
                 let a mean or median fulfil it, or repeat both as often"
            );
            return Err(self.refuse(message, case));
        }
        Ok(other)
    }

    /// The one that has the values of `against` and all else as this case. Of several, keys that a zip moves along must be
    /// the same; where that leaves none or several the claim is no claim.
    fn fitting(&self, case: &Json) -> Checked<Option<usize>> {
        let Some(fit) = self.by.get(&without(case, &self.claim.moved).to_string()) else { return Ok(None) };
        if let [one] = fit[..] {
            return Ok(Some(one));
        }
        match self.alike.get(&without(case, &self.given).to_string()).map(Vec::as_slice) {
            Some([one]) => Ok(Some(*one)),
            Some(several) => Err(self.ambiguous(case, several)),
            None => Err(self.ambiguous(case, fit)),
        }
    }

    fn ambiguous(&self, case: &Json, fit: &[usize]) -> Fault {
        let value = |i: &usize, key: &str| self.cases[*i].get(key);
        let differs = |key: &&String| fit.iter().any(|i| value(i, key) != value(&fit[0], key));
        let keys: Vec<&str> = self.claim.moved.iter().filter(differs).map(String::as_str).collect();
        let mut named: Vec<String> = fit.iter().take(NAMED).map(|i| told(self.cases[*i], &keys)).collect();
        if fit.len() > NAMED {
            named.push("…".into());
        }
        let message = format!(
            "fits {} cases ({}), and a case is compared with one: give one value of {} in it",
            fit.len(),
            named.join("; "),
            keys.join(", ")
        );
        self.refuse(message, case)
    }

    fn refuse(&self, message: String, case: &Json) -> Fault {
        let all: Vec<&str> = case.as_object().into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        Fault::at(self.claim.against_at, message).under("against").in_case(told(case, &all))
    }
}

/// The values that a case has of these keys.
fn told(case: &Json, keys: &[&str]) -> String {
    let of = |key: &&str| {
        let value = case.get(key)?;
        Some(format!("{key} = {}", value.as_str().map_or_else(|| value.to_string(), str::to_string)))
    };
    keys.iter().filter_map(of).collect::<Vec<_>>().join(", ")
}
