//! Parameters as whole numbers, for hosts without floating point: the C of `bpf/`.
//!
//! A time is nanoseconds, an amount of data bytes, a number Q30 (1 is 2^30), a count itself, yes and no are 1 and 0, a
//! choice is its place in the list of words, and "auto" of a number or a time is −1.

use crate::registry::Entry;
use alloc::vec::Vec;
use params::{Auto, AutoTime, Field, ParamError, Spec, Value};
use units::{Bytes, Duration, math};

const ONE: f64 = (1u64 << 30) as f64;

fn q30(x: f64) -> i64 {
    math::round(x * ONE) as i64
}

fn nanos(d: Duration) -> i64 {
    d.as_nanos() as i64
}

/// A value as a whole number; `None` for a kind that has none.
fn whole(field: &Field, text: &str) -> Option<i64> {
    match field.kind {
        k if k == bool::KIND => bool::parse(text).map(i64::from),
        k if k == u32::KIND => u32::parse(text).map(i64::from),
        k if k == f64::KIND => f64::parse(text).map(q30),
        k if k == Duration::KIND => Duration::parse(text).map(nanos),
        k if k == Bytes::KIND => Bytes::parse(text).map(|b| b.get() as i64),
        k if k == Auto::KIND => Auto::parse(text).map(|a| a.0.map_or(-1, q30)),
        k if k == AutoTime::KIND => AutoTime::parse(text).map(|a| a.0.map_or(-1, nanos)),
        _ => field.choices.iter().position(|word| *word == text).map(|place| place as i64),
    }
}

impl Entry {
    /// The parameters of a spec as whole numbers, and `own_start`: 1 if the algorithm's own slow start is in charge. An
    /// error if it does not take a setting.
    pub fn whole_numbers(&self, spec: &Spec) -> Result<Vec<(&'static str, i64)>, ParamError> {
        let fields = (self.fields)();
        let values = self.resolve(spec)?;
        let mut numbers = Vec::new();
        for (name, text) in &values {
            let field = fields.iter().find(|f| f.name == *name);
            numbers.extend(field.and_then(|f| whole(f, text)).map(|n| (*name, n)));
            if *name == "slow_start" {
                numbers.push(("own_start", i64::from(text == self.about.name)));
            }
        }
        Ok(numbers)
    }
}

#[cfg(test)]
mod tests {
    use std::string::String;

    fn number(spec: &str, name: &str) -> i64 {
        let spec: params::Spec = spec.parse().unwrap();
        let all = crate::find(&spec.name).unwrap().whole_numbers(&spec).unwrap();
        all.into_iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{name}")).1
    }

    #[test]
    fn every_kind_of_value_has_a_number() {
        assert_eq!(number("hldg", "g"), 3 << 30);
        assert_eq!(number("hldg", "wwma"), 1);
        assert_eq!((number("hldg", "lambda"), number("hldg(lambda=0.5)", "lambda")), (-1, 1 << 29));
        assert_eq!((number("hldg", "base_window"), number("hldg", "mtu")), (30_000_000_000, 1500));
        assert_eq!((number("hldg", "rounds"), number("hldg(after_probe=stay)", "after_probe")), (4, 2));
        assert_eq!(
            [number("cdg", "table"), number("cdg(table=true)", "table"), number("cdg(table=false)", "table")],
            [0, 1, 2]
        );
        assert_eq!((number("hd", "q_th"), number("hd(q_th=20ms)", "q_th")), (-1, 20_000_000));
        assert_eq!((number("hldg", "own_start"), number("hldg(slow_start=standard)", "own_start")), (1, 0));
    }

    /// What HD, CHD, CDG and HLDG may be told reaches the kernel.
    #[test]
    fn no_parameter_of_the_kernels_algorithms_is_lost() {
        for name in ["hd", "chd", "cdg", "hldg"] {
            let entry = crate::find(name).unwrap();
            let numbers = entry.whole_numbers(&name.parse().unwrap()).unwrap();
            let lost: std::vec::Vec<String> = (entry.fields)()
                .iter()
                .filter(|f| !numbers.iter().any(|(n, _)| *n == f.name))
                .map(|f| f.name.into())
                .collect();
            assert!(lost.is_empty(), "{name}: {lost:?}");
        }
    }
}
