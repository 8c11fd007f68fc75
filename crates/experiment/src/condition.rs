//! The right side of a claim: what a figure must be.

use crate::claim::{Over, aggregate};
use crate::metric::Metric;
use crate::quantity::Quantity;
use crate::tolerance::{Number, Tolerance, Unit};
use crate::tree::Any;
use serde_json::Value as Json;

/// What a figure must be.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    Compare(Sign, Operand),
    Near(Operand, Tolerance),
    Between(Number, Number),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sign {
    AtLeast,
    AtMost,
    Above,
    Below,
    Equal,
}

const SIGNS: [(&str, Sign); 8] = [
    (">=", Sign::AtLeast),
    ("≥", Sign::AtLeast),
    ("<=", Sign::AtMost),
    ("≤", Sign::AtMost),
    ("==", Sign::Equal),
    ("=", Sign::Equal),
    (">", Sign::Above),
    ("<", Sign::Below),
];

/// The right side: a number, or a multiple of another figure of the same run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Number(Number),
    Figure(f64, Metric),
}

impl Operand {
    fn read(text: &str) -> Result<Operand, String> {
        let text = text.trim();
        let (factor, rest) = match text.split_once('*') {
            Some((factor, rest)) => {
                let factor = <f64 as params::Value>::parse(factor)
                    .ok_or_else(|| format!("{:?} before \"*\" is not a number", factor.trim()))?;
                (factor, rest.trim())
            }
            None => (1.0, text),
        };
        if rest.starts_with(|c: char| c.is_alphabetic()) {
            return Metric::read(rest).map(|metric| Operand::Figure(factor, metric));
        }
        match Number::read(rest) {
            Some(number) if factor == 1.0 => Ok(Operand::Number(number)),
            _ => Err(format!("{text:?} is neither a number nor a figure such as \"0.5 * flow.b.share\"")),
        }
    }

    fn value(&self, unit: Unit, summary: &Json) -> Option<f64> {
        match self {
            Operand::Number(number) => number.as_unit(unit).ok(),
            Operand::Figure(factor, metric) => metric.of(summary).map(|x| factor * x),
        }
    }
}

impl std::fmt::Display for Operand {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Operand::Number(number) => number.fmt(f),
            Operand::Figure(1.0, metric) => metric.fmt(f),
            Operand::Figure(factor, metric) => write!(f, "{factor} * {metric}"),
        }
    }
}

impl Quantity for Condition {
    fn what() -> String {
        "a condition such as \">= 0.25\", \"0.7 ± 0.05\", \"between 1 and 3\" or \"< 0.5 * flow.b.share\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let malformed = || format!("{text:?} is not {}", Self::what());
        if let Some(turned) = ["=>", "=<"].into_iter().find(|turned| trimmed.starts_with(turned)) {
            let meant = if turned == "=>" { ">=" } else { "<=" };
            return Err(format!("{turned:?} is no comparison: write \"{meant} {}\"", trimmed[2..].trim()));
        }
        if let Some((word, sign)) = SIGNS.iter().find(|(word, _)| trimmed.starts_with(word)) {
            return Operand::read(&trimmed[word.len()..]).map(|operand| Condition::Compare(*sign, operand));
        }
        if let Some(rest) = trimmed.strip_prefix("between ") {
            let (low, high) = rest.split_once(" and ").ok_or_else(malformed)?;
            let (low, high) = Number::range(low, high).map_err(|text| format!("{text:?} is not a number"))?;
            return Ok(Condition::Between(low, high));
        }
        for sign in ["±", "+/-", "+-"] {
            if let Some((centre, width)) = trimmed.split_once(sign) {
                return Ok(Condition::Near(Operand::read(centre)?, Tolerance::read(width)?));
            }
        }
        match Number::read(trimmed) {
            Some(_) => Err(format!("{text:?} lacks a comparison: write \">= {trimmed}\" or \"{trimmed} ± 10 %\"")),
            None => Err(malformed()),
        }
    }
    fn number(x: f64) -> Result<Self, String> {
        Condition::read(&x.to_string())
    }
    fn write(&self) -> Any {
        Any::Text(match self {
            Condition::Compare(sign, operand) => {
                let word = SIGNS.iter().find(|(_, s)| s == sign).map_or("", |(word, _)| word);
                format!("{word} {operand}")
            }
            Condition::Near(centre, width) => format!("{centre} ± {width}"),
            Condition::Between(low, high) => format!("between {low} and {high}"),
        })
    }
}

impl Condition {
    /// Checks the numbers' units against the figure's.
    pub fn check(&self, metric: &Metric) -> Result<(), String> {
        let unit = metric.unit();
        let operand = |o: &Operand| match o {
            Operand::Number(number) => number.as_unit(unit),
            Operand::Figure(_, other) if !other.unit().compares_with(unit) => {
                Err(format!("{other} and {metric} do not count the same thing"))
            }
            Operand::Figure(..) => Ok(1.0),
        };
        match self {
            Condition::Compare(_, o) => operand(o).map(|_| ()),
            Condition::Near(o, width) => operand(o).and_then(|centre| width.bounds(centre, unit)).map(|_| ()),
            Condition::Between(low, high) => {
                if low.as_unit(unit)? > high.as_unit(unit)? {
                    return Err(format!("nothing is between {low} and {high}: the smaller comes first"));
                }
                Ok(())
            }
        }
    }

    /// The figures of the run that it mentions.
    pub fn figures(&self) -> Vec<&Metric> {
        match self {
            Condition::Compare(_, Operand::Figure(_, m)) | Condition::Near(Operand::Figure(_, m), _) => vec![m],
            _ => Vec::new(),
        }
    }

    /// Least and greatest value allowed, and whether the bounds themselves are.
    pub fn bounds(&self, unit: Unit, summaries: &[&Json], over: Over) -> Option<(f64, f64, bool)> {
        let value = |o: &Operand| {
            let all: Option<Vec<f64>> = summaries.iter().map(|s| o.value(unit, s)).collect();
            aggregate(&all?, over)
        };
        Some(match self {
            Condition::Compare(sign, o) => {
                let x = value(o)?;
                match sign {
                    Sign::AtLeast => (x, f64::INFINITY, true),
                    Sign::AtMost => (f64::NEG_INFINITY, x, true),
                    Sign::Above => (x, f64::INFINITY, false),
                    Sign::Below => (f64::NEG_INFINITY, x, false),
                    Sign::Equal => (x, x, true),
                }
            }
            Condition::Near(o, width) => {
                let (low, high) = width.bounds(value(o)?, unit).ok()?;
                (low, high, true)
            }
            Condition::Between(low, high) => (low.as_unit(unit).ok()?, high.as_unit(unit).ok()?, true),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_read_back_as_written() {
        for text in [
            ">= 0.25",
            "0.7 ± 5 %",
            "between 1 and 3",
            "< 0.5 * flow.b.share",
            "== 3",
            "flow.b.share ± max(2 points, 30 %)",
        ] {
            let Any::Text(written) = Condition::read(text).unwrap().write() else { panic!("{text}") };
            assert_eq!(written, text);
        }
    }

    #[test]
    fn a_bare_first_end_has_the_unit_of_the_second() {
        let bounds = |is: &str, that: &str| {
            let (condition, metric) = (Condition::read(is).unwrap(), Metric::read(that).unwrap());
            condition.check(&metric).unwrap();
            let (low, high, _) = condition.bounds(metric.unit(), &[], Over::Mean).unwrap();
            (low, high)
        };
        assert_eq!(bounds("between 1 and 3 s", "flow.a.rtt_ms.mean"), (1000.0, 3000.0));
        assert_eq!(bounds("between 1 ms and 3 s", "flow.a.rtt_ms.mean"), (1.0, 3000.0));
        assert_eq!(bounds("between 1 and 3", "flow.a.rtt_ms.mean"), (1.0, 3.0));
        assert_eq!(bounds("between 40 and 60 %", "flow.a.share"), (0.4, 0.6));
        assert!(Condition::read("between some and 3 s").unwrap_err().contains("\"some\" is not a number"));
    }

    #[test]
    fn fractions_of_one_kind_are_compared_whether_or_not_they_may_exceed_one() {
        let check = |that: &str, is: &str| Condition::read(is).unwrap().check(&Metric::read(that).unwrap());
        assert_eq!(check("link.l.utilisation", "> link.l.load"), Ok(()));
        assert_eq!(check("link.l.load", "0.9 * link.l.utilisation ± 5 %"), Ok(()));
        for (that, is) in [("link.l.load", "> flow.a.loss_pct"), ("link.l.utilisation", "> link.l.queue_ms.mean")] {
            assert!(check(that, is).unwrap_err().contains("do not count the same thing"), "{that} {is}");
        }
    }
}
