//! Bare numbers, and words in their place.

use super::Quantity;
use crate::limits::FORMAT;
use crate::tree::Any;
use params::{Value, parse_number};

/// A probability.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Probability(pub f64);

fn probability(x: f64, text: &str) -> Result<f64, String> {
    if (0.0..=1.0).contains(&x) {
        return Ok(x);
    }
    let cure = if x > 1.0 && x <= 100.0 && !text.contains('%') {
        format!("; for {x} % write \"{x} %\"")
    } else {
        String::new()
    };
    Err(format!("{text} is out of range: allowed is 0 to 1, or \"0 %\" to \"100 %\"{cure}"))
}

impl Quantity for Probability {
    const NUMERIC: bool = true;
    fn what() -> String {
        "a probability such as \"0.1 %\" or 0.001".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        match <f64 as Value>::parse(text) {
            Some(x) => probability(x, &format!("{text:?}")).map(Probability),
            None => Err(format!("{text:?} is not {}", Self::what())),
        }
    }
    fn number(x: f64) -> Result<Self, String> {
        probability(x, &x.to_string()).map(Probability)
    }
    fn write(&self) -> Any {
        Any::Float(self.0)
    }
}

/// A deviation of a clock, in parts per billion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Parts(pub i64);

impl Parts {
    /// A tenth of a percent: a crystal is off by a hundredth of that.
    const MOST: f64 = 1000.0;
}

impl Quantity for Parts {
    fn what() -> String {
        "parts per million such as \"50 ppm\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        match parse_number(text) {
            Some((x, "ppm")) if x.abs() <= Parts::MOST => Ok(Parts((x * 1000.0).round() as i64)),
            Some((x, "ppm")) => Err(format!("{x} ppm is out of range: allowed is -1000 ppm to 1000 ppm")),
            Some((x, "")) => Self::number(x),
            _ => Err(format!("{text:?} is not {}", Self::what())),
        }
    }
    fn number(x: f64) -> Result<Self, String> {
        Err(format!("{x} has no unit: write \"{x} ppm\""))
    }
    fn write(&self) -> Any {
        Any::Text(format!("{} ppm", self.0 as f64 / 1000.0))
    }
}

/// The version of the format: a bare number, so that a file says the same to every reader of TOML.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Version(i64);

impl Version {
    /// The one that is read.
    pub const OURS: Version = Version(FORMAT as i64);
}

impl Quantity for Version {
    const NUMERIC: bool = true;
    const TEXT: bool = false;
    fn what() -> String {
        format!("the number {FORMAT}")
    }
    fn read(text: &str) -> Result<Self, String> {
        Err(format!("the text {text:?} is not {}: write it without quotes", Self::what()))
    }
    fn number(x: f64) -> Result<Self, String> {
        let given = format!("{x:?}");
        let is_ours = x == FORMAT as f64;
        Err(if is_ours { format!("{given} is not {FORMAT}: write it without the point") } else { other_format(&given) })
    }
    fn integer(n: i64) -> Result<Self, String> {
        if n == Version::OURS.0 { Ok(Version::OURS) } else { Err(other_format(&n.to_string())) }
    }
    fn write(&self) -> Any {
        Any::Integer(self.0)
    }
}

fn other_format(given: &str) -> String {
    format!("this version reads format {FORMAT}, not {given}")
}

/// A whole number. Negative ones are refused with the range of the key that they stand at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Whole(pub i128);

impl Quantity for Whole {
    const NUMERIC: bool = true;
    fn what() -> String {
        "a whole number such as 10".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        match <u64 as Value>::parse(text) {
            Some(n) => Ok(Whole(n.into())),
            None => text.trim().parse().map(Whole).map_err(|_| format!("{text:?} is not {}", Self::what())),
        }
    }
    fn number(x: f64) -> Result<Self, String> {
        if x.fract() != 0.0 || x.abs() > 1.8e19 {
            return Err(format!("{x} is not {}", Self::what()));
        }
        Ok(Whole(x as i128))
    }
    fn integer(n: i64) -> Result<Self, String> {
        Ok(Whole(n.into()))
    }
    fn write(&self) -> Any {
        i64::try_from(self.0).map_or_else(|_| Any::Text(self.0.to_string()), Any::Integer)
    }
}

/// Sender offload: `"off"`, `"auto"` or the largest burst in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Burst {
    Off,
    Auto,
    Segments(u64),
}

impl Quantity for Burst {
    const NUMERIC: bool = true;
    fn what() -> String {
        "\"off\", \"auto\" or the largest burst in segments, such as 16".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "off" => return Ok(Burst::Off),
            "auto" => return Ok(Burst::Auto),
            _ => {}
        }
        let segments = Whole::read(text).ok().and_then(|n| u64::try_from(n.0).ok());
        segments.map(Burst::Segments).ok_or_else(|| format!("{text:?} is not {}", Self::what()))
    }
    fn number(x: f64) -> Result<Self, String> {
        let segments = Whole::number(x).ok().and_then(|n| u64::try_from(n.0).ok());
        segments.map(Burst::Segments).ok_or_else(|| format!("{x} is not {}", Self::what()))
    }
    fn write(&self) -> Any {
        match self {
            Burst::Off => Any::Text("off".into()),
            Burst::Auto => Any::Text("auto".into()),
            Burst::Segments(n) => Whole((*n).into()).write(),
        }
    }
}
