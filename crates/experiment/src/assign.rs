//! `path.rtt`, `flow.a.cc`, `flow.a.cc.beta`: setting a value of the tree by its key.

use crate::decode::decode;
use crate::limits::{FLOWS_MAX, KEY_PARTS_MAX};
use crate::quantity::{Q, Whole};
use crate::source::{Checked, Fault, did_you_mean};
use crate::tree::{Any, At, Table, get, get_mut};
use params::Spec;

/// Gives every `[[flow]]` without a name one: its congestion control's, or its traffic's, with -2, -3, … where taken.
pub(crate) fn name_flows(doc: &mut At<Any>) {
    let Any::Table(table) = &mut doc.value else { return };
    let Some(At { value: Any::List(flows), .. }) = get_mut(table, "flow") else { return };
    let mut taken: Vec<(String, u64)> = Vec::new();
    for flow in flows.iter() {
        if let Any::Table(keys) = &flow.value
            && let Some(name) = get(keys, "name").and_then(|n| n.as_text())
        {
            taken.push((name.to_string(), count(keys)));
        }
    }
    for flow in flows.iter_mut() {
        let place = flow.place;
        let Any::Table(keys) = &mut flow.value else { continue };
        if get(keys, "name").is_some() {
            continue;
        }
        let (cc, traffic) = (get(keys, "cc"), get(keys, "traffic"));
        // The one-line form's "web" stands for both: then the traffic is what people call it.
        let named = match (cc, traffic) {
            (Some(cc), Some(traffic)) if cc.place == traffic.place => Some(traffic),
            (cc, traffic) => cc.or(traffic),
        };
        let text = named.and_then(|n| n.as_text()).unwrap_or("flow");
        let word: String = text.trim().chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        let word = if word.is_empty() { "flow".to_string() } else { word };
        let count = count(keys);
        let free = |name: &String| taken.iter().all(|other| !share_a_name(other, &(name.clone(), count)));
        let name = flow_names(&word, u64::MAX).find(free).expect("there are more numbers than flows");
        taken.push((name.clone(), count));
        let entry = (At { value: "name".into(), place }, At { value: Any::Text(name), place });
        keys.insert(0, entry);
    }
}

/// How many flows an entry has; what is no number, or too large, is refused later.
fn count(keys: &Table) -> u64 {
    let written = get(keys, "count").and_then(|n| decode::<Q<Whole>>(n).ok());
    written.map_or(1, |n| n.0.0.clamp(1, FLOWS_MAX.into()) as u64)
}

/// Have two entries, each with its name and count, flows of the same name?
fn share_a_name(one: &(String, u64), other: &(String, u64)) -> bool {
    let numbers = |(name, count): &(String, u64), other: &str| {
        let number = other.strip_prefix(name.as_str()).and_then(|rest| rest.strip_prefix('-'));
        number.is_some_and(|n| n.parse().is_ok_and(|i: u64| (2..=*count).contains(&i) && i.to_string() == n))
    };
    one.0 == other.0 || numbers(one, &other.0) || numbers(other, &one.0)
}

/// `a`, `a-2`, `a-3`, …: the flows of an entry with `count`.
pub(crate) fn flow_names(name: &str, count: u64) -> impl Iterator<Item = String> + use<'_> {
    (1..=count).map(move |i| if i == 1 { name.to_string() } else { format!("{name}-{i}") })
}

/// Sets the value of a dotted key, making it if it is not there. Decoding finds keys that do not exist.
pub(crate) fn assign(doc: &mut At<Any>, key: &At<String>, value: At<Any>) -> Checked<()> {
    refuse_deep(key)?;
    let segments: Vec<&str> = key.value.split('.').collect();
    if segments.iter().any(|s| s.trim().is_empty()) {
        return Err(Fault::at(key.place, format!("{:?} is not a key such as path.rtt or flow.a.cc", key.value)));
    }
    let Any::Table(root) = &mut doc.value else { return Err(Fault::at(key.place, "the experiment is not a table")) };
    match segments.as_slice() {
        [kind @ ("flow" | "link"), rest @ ..] => {
            let (Some((name, keys)), false) = (rest.split_first(), rest.len() < 2) else {
                let message = format!("{:?} names no key: write {kind}.NAME.KEY, such as flow.a.cc", key.value);
                return Err(Fault::at(key.place, message));
            };
            if name.contains('*') {
                return set_all(root, kind, name, keys, key, &value);
            }
            let entry = named(root, (kind, name), keys, key)?;
            set(entry, keys, key, value)
        }
        keys => set(doc, keys, key, value),
    }
}

/// Refuses a key that leads deeper than any does.
pub(crate) fn refuse_deep(key: &At<String>) -> Checked<()> {
    match key.value.split('.').count() {
        parts if parts > KEY_PARTS_MAX => {
            let message = format!("{:?} has {parts} parts; allowed are {KEY_PARTS_MAX}, as in path.rtt", key.value);
            Err(Fault::at(key.place, message))
        }
        _ => Ok(()),
    }
}

/// Is it this name, or one that a pattern such as `web-*` stands for?
pub(crate) fn fits<'a>(pattern: &str, name: &'a str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return name == pattern };
    let (middle, end) = rest.rsplit_once('*').unwrap_or(("", rest));
    let between = name.strip_prefix(start).and_then(|left| left.strip_suffix(end));
    // Where a piece is found first it leaves the most for those behind it.
    let next = |left: &'a str, piece: &str| left.find(piece).map(|i| &left[i + piece.len()..]);
    between.is_some_and(|left| middle.split('*').try_fold(left, next).is_some())
}

/// Are there flows (or links) for which both keys, one of them a pattern, set the same?
pub(crate) fn overlap(doc: &At<Any>, one: &str, other: &str) -> bool {
    one != other && meant(doc, one, other).contains(&(true, true))
}

/// Does the first of two such keys set all that the second one does?
pub(crate) fn covers(doc: &At<Any>, wide: &str, narrow: &str) -> bool {
    !meant(doc, wide, narrow).contains(&(false, true))
}

/// For each flow (or link) whether these keys mean it; nothing if they are different keys of it.
fn meant(doc: &At<Any>, one: &str, other: &str) -> Vec<(bool, bool)> {
    fn parts(key: &str) -> Option<[&str; 3]> {
        let mut parts = key.splitn(3, '.');
        Some([parts.next()?, parts.next()?, parts.next()?])
    }
    let (Some([kind, a, key]), Some([other_kind, b, other_key])) = (parts(one), parts(other)) else {
        return Vec::new();
    };
    let Any::Table(root) = &doc.value else { return Vec::new() };
    match get(root, kind).map(|node| &node.value) {
        Some(Any::List(entries)) if (kind, key) == (other_kind, other_key) => {
            entries.iter().filter_map(name_of).map(|name| (fits(a, name), fits(b, name))).collect()
        }
        _ => Vec::new(),
    }
}

fn name_of(entry: &At<Any>) -> Option<&str> {
    if let Any::Table(keys) = &entry.value { get(keys, "name").and_then(|n| n.as_text()) } else { None }
}

/// `flow.web-*.cc`: every flow (or link) that the pattern stands for.
fn set_all(
    root: &mut Table,
    kind: &str,
    pattern: &str,
    keys: &[&str],
    key: &At<String>,
    value: &At<Any>,
) -> Checked<()> {
    let mut any = false;
    if let Some(Any::List(entries)) = get_mut(root, kind).map(|node| &mut node.value) {
        for entry in entries {
            if name_of(entry).is_some_and(|name| fits(pattern, name)) {
                set(entry, keys, key, value.clone())?;
                any = true;
            }
        }
    }
    if any {
        return Ok(());
    }
    let message = of_path(root, kind, pattern, keys).unwrap_or_else(|| format!("no {kind} is called like {pattern}"));
    Err(Fault::at(key.place, message))
}

/// What to write for a key of a link where a `[path]` has them: results and claims have names for its two.
fn of_path(root: &Table, kind: &str, name: &str, keys: &[&str]) -> Option<String> {
    if kind != "link" || get(root, "link").is_some() || get(root, "path").is_none() {
        return None;
    }
    let (first, rest) = keys.split_first()?;
    let own = match (name, *first) {
        (_, "delay") => "rtt",
        ("return", "rate") => "up",
        ("return", "buffer") => "up_buffer",
        ("return", "queue") => "up_queue",
        ("return", "loss") => "up_loss",
        ("return", _) => {
            return Some("the way back of a [path] has the keys up, up_buffer, up_queue and up_loss alone".into());
        }
        (_, other) => other,
    };
    let whole: String = rest.iter().map(|key| format!(".{key}")).collect();
    Some(format!("the links of a [path] have no keys of their own: write path.{own}{whole}"))
}

fn named<'a>(
    root: &'a mut Table,
    (kind, name): (&str, &str),
    keys: &[&str],
    key: &At<String>,
) -> Checked<&'a mut At<Any>> {
    if let Some(message) = of_path(root, kind, name, keys) {
        return Err(Fault::at(key.place, message));
    }
    let entries = match get_mut(root, kind).map(|node| &mut node.value) {
        Some(Any::List(entries)) => entries.as_mut_slice(),
        _ => &mut [],
    };
    let names: Vec<String> = entries.iter().filter_map(name_of).map(str::to_string).collect();
    match entries.iter_mut().find(|entry| name_of(entry) == Some(name)) {
        Some(entry) => Ok(entry),
        None => {
            let near = did_you_mean(name, names.iter().map(String::as_str));
            let all = if names.is_empty() { "there is none".into() } else { format!("there are {}", names.join(", ")) };
            Err(Fault::at(key.place, format!("there is no {kind} {name:?}{near} ({all})")))
        }
    }
}

fn set(node: &mut At<Any>, keys: &[&str], key: &At<String>, value: At<Any>) -> Checked<()> {
    let Some((first, rest)) = keys.split_first() else {
        *node = value;
        return Ok(());
    };
    match &mut node.value {
        Any::Table(table) => {
            let i = table.iter().position(|(k, _)| k.value == *first).unwrap_or_else(|| {
                let empty = At { value: Any::Table(Table::new()), place: key.place };
                table.push((At { value: first.to_string(), place: key.place }, empty));
                table.len() - 1
            });
            set(&mut table[i].1, rest, key, value)
        }
        // A setting inside "cubic(beta=0.7)".
        Any::Text(text) => {
            let changed = set_in_spec(text, keys, &value.show()).map_err(|e| Fault::at(key.place, e))?;
            *node = At { value: Any::Text(changed), place: value.place };
            Ok(())
        }
        other => {
            let message = format!("{:?} leads below {}, which has no keys", key.value, other.kind());
            Err(Fault::at(key.place, message))
        }
    }
}

fn set_in_spec(text: &str, keys: &[&str], value: &str) -> Result<String, String> {
    let Some((first, rest)) = keys.split_first() else { return Ok(value.into()) };
    let mut spec: Spec = text.parse().map_err(|e| format!("{e}, so it takes no setting {first:?}"))?;
    let old = spec.args.iter_mut().find(|(k, _)| k == first);
    match old {
        Some((_, old)) => *old = set_in_spec(old, rest, value)?,
        None if rest.is_empty() => spec.args.push((first.to_string(), value.into())),
        None => {
            let whole = rest.iter().rev().fold(value.to_string(), |inner, key| format!("NAME({key}={inner})"));
            let message = format!("{spec} is written without {first:?}, so that nothing can be set in it");
            return Err(format!("{message}: give it whole, as in {first}={whole}"));
        }
    }
    Ok(spec.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_inside_a_spec_are_replaced_or_added() {
        assert_eq!(set_in_spec("cubic", &["beta"], "0.8").unwrap(), "cubic(beta=0.8)");
        assert_eq!(set_in_spec("cubic(beta=0.7, c=0.4)", &["beta"], "0.8").unwrap(), "cubic(beta=0.8, c=0.4)");
        let nested = set_in_spec("cubic(slow_start=hystart)", &["slow_start", "low"], "16").unwrap();
        assert_eq!(nested, "cubic(slow_start=hystart(low=16))");
        let unwritten = set_in_spec("cubic", &["slow_start", "low"], "16").unwrap_err();
        assert!(unwritten.ends_with("give it whole, as in slow_start=NAME(low=16)"), "{unwritten}");
    }

    #[test]
    fn stars_stand_for_any_letters() {
        for (pattern, name, is) in [
            ("a", "a", true),
            ("a", "ab", false),
            ("*", "", true),
            ("web-*", "web-1", true),
            ("web-*", "we", false),
            ("ab*ba", "aba", false),
            ("*a*", "cubic-a-2", true),
            ("*a*", "cubic", false),
            ("w*-*-x", "web-1-x", true),
            ("w*-*-x", "web-x", false),
            ("**", "any", true),
            ("*b*a*", "ab", false),
        ] {
            assert_eq!(fits(pattern, name), is, "{pattern} {name}");
        }
    }
}
