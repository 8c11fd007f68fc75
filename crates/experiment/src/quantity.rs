//! Values as users write them: times, rates, buffers, probabilities, words.

mod words;

pub(crate) use self::words::{Cc, ClockKind, Kind, Name, Queue, SpecOf, Word};

use crate::source::did_you_mean;
use crate::tree::Any;
use params::{Value, bytes_a_second, parse_number};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use units::{Bytes, Duration, Rate};

/// A kind of value that a key takes.
pub(crate) trait Quantity: Sized {
    /// What it is, with an example, for errors and the reference.
    fn what() -> String;
    /// Reads text; the error says what is wrong with it and what is allowed.
    fn read(text: &str) -> Result<Self, String>;
    /// Reads a bare number.
    fn number(x: f64) -> Result<Self, String> {
        Err(format!("{x} is not {}", Self::what()))
    }
    /// Reads a bare whole number.
    fn integer(n: i64) -> Result<Self, String> {
        Self::number(n as f64)
    }
    /// The canonical spelling.
    fn write(&self) -> Any;
    /// The words allowed, if it is a choice.
    fn choices() -> Vec<String> {
        Vec::new()
    }
    /// May be written as a bare number.
    const NUMERIC: bool = false;
    /// May be written as text.
    const TEXT: bool = true;
}

/// A [`Quantity`] in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Q<T>(pub T);

impl<T> Deref for Q<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Quantity> Deserialize<'de> for Q<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<T: Quantity> Visitor<'_> for Reader<T> {
            type Value = Q<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&T::what())
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Q<T>, E> {
                T::read(text).map(Q).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, x: i64) -> Result<Q<T>, E> {
                T::integer(x).map(Q).map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, x: f64) -> Result<Q<T>, E> {
                T::number(x).map(Q).map_err(E::custom)
            }
        }
        d.deserialize_any(Reader(PhantomData))
    }
}

impl<T: Quantity> Serialize for Q<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.write().serialize(s)
    }
}

impl<T: Quantity> JsonSchema for Q<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::any::type_name::<T>().into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choices = T::choices();
        if !choices.is_empty() {
            return json_schema!({ "type": "string", "enum": choices });
        }
        if !T::TEXT {
            return json_schema!({ "type": "integer", "x-kind": T::what() });
        }
        let types = if T::NUMERIC { serde_json::json!(["string", "number"]) } else { serde_json::json!("string") };
        json_schema!({ "type": types, "x-kind": T::what() })
    }
}

/// Explains why `text` is no value of a kind with units.
fn no_unit(text: &str, kind: &str, noun: &str, units: &[&str], likely: &[&str]) -> String {
    match parse_number(text) {
        None => format!("{text:?} is not {kind}"),
        Some((x, _)) if x < 0.0 => format!("{text:?} is negative; {noun} is not"),
        Some((x, "")) => {
            let cures: Vec<_> = likely.iter().map(|unit| format!("\"{x} {unit}\"")).collect();
            format!("{text:?} has no unit: write {}; allowed are {}", cures.join(" or "), units.join(", "))
        }
        Some((_, unit)) if units.contains(&unit) => format!("{text:?} is too large for {noun}"),
        Some((_, unit)) => {
            let near = did_you_mean(unit, units.iter().copied());
            format!("{unit:?} in {text:?} is no unit of {noun}{near} (allowed: {})", units.join(", "))
        }
    }
}

const TIME_UNITS: [&str; 6] = ["ns", "us", "ms", "s", "min", "h"];
const RATE_UNITS: [&str; 4] = ["bit/s", "kbit/s", "Mbit/s", "Gbit/s"];
const SIZE_UNITS: [&str; 7] = ["B", "kB", "MB", "GB", "KiB", "MiB", "GiB"];

impl Quantity for Duration {
    fn what() -> String {
        "a time such as \"40 ms\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        <Duration as Value>::parse(text)
            .ok_or_else(|| no_unit(text, &Self::what(), "a time", &TIME_UNITS, &["ms", "s"]))
    }
    fn number(x: f64) -> Result<Self, String> {
        Err(format!("{x} has no unit: write \"{x} ms\" or \"{x} s\""))
    }
    fn write(&self) -> Any {
        Any::Text(self.show())
    }
}

pub(crate) fn read_rate(text: &str, kind: &str) -> Result<Rate, String> {
    <Rate as Value>::parse(text).ok_or_else(|| match parse_number(text) {
        // MB/s and friends: the commonest slip is bytes for bits.
        Some((x, unit)) if (unit.contains('B') || bytes_a_second(unit)) && x >= 0.0 => {
            // A prefix before the B or byte: none, k, M, G, and Ki, Mi, Gi.
            let scale = match unit.to_lowercase().as_bytes() {
                [b'k', b'i', ..] => 1024e-6,
                [b'm', b'i', ..] => 1.048_576,
                [b'g', b'i', ..] => 1_073.741_824,
                [b'k', ..] => 1e-3,
                [b'm', ..] => 1.0,
                [b'g', ..] => 1e3,
                _ => 1e-6,
            };
            let rate = Rate::from_mbps(x * 8.0 * scale);
            format!("{text:?} counts bytes; rates are in bits per second, such as \"{}\"", rate.show())
        }
        _ => no_unit(text, kind, "a rate", &RATE_UNITS, &["Mbit/s"]),
    })
}

impl Quantity for Rate {
    fn what() -> String {
        "a rate such as \"12 Mbit/s\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        read_rate(text, &Self::what())
    }
    fn number(x: f64) -> Result<Self, String> {
        Err(format!("{x} has no unit: write \"{x} Mbit/s\""))
    }
    fn write(&self) -> Any {
        Any::Text(self.show())
    }
}

impl Quantity for Bytes {
    fn what() -> String {
        "a size such as \"1448 B\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        <Bytes as Value>::parse(text).ok_or_else(|| no_unit(text, &Self::what(), "a size", &SIZE_UNITS, &["B"]))
    }
    fn number(x: f64) -> Result<Self, String> {
        Err(format!("{x} has no unit: write \"{x} B\""))
    }
    fn write(&self) -> Any {
        Any::Text(self.show())
    }
}

/// How fast a link sends, as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RateText {
    Constant(Rate),
    Trace(String),
    Unlimited,
}

impl Quantity for RateText {
    fn what() -> String {
        "a rate such as \"12 Mbit/s\", \"trace(file)\" or \"unlimited\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        if trimmed == "unlimited" {
            return Ok(RateText::Unlimited);
        }
        if let Some(rest) = trimmed.strip_prefix("trace(") {
            return match rest.strip_suffix(')').map(str::trim) {
                Some(file) if !file.is_empty() => Ok(RateText::Trace(file.into())),
                _ => Err(format!("{text:?} names no file: write trace(file), the file beside this one")),
            };
        }
        read_rate(text, &Self::what()).map(RateText::Constant)
    }
    fn number(x: f64) -> Result<Self, String> {
        <Rate as Quantity>::number(x).map(RateText::Constant)
    }
    fn write(&self) -> Any {
        match self {
            RateText::Constant(rate) => rate.write(),
            RateText::Trace(file) => Any::Text(format!("trace({file})")),
            RateText::Unlimited => Any::Text("unlimited".into()),
        }
    }
}

/// The size of a buffer, as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Buffer {
    Packets(u64),
    Bytes(Bytes),
    Time(Duration),
    Bdp(f64),
}

impl Quantity for Buffer {
    fn what() -> String {
        "a buffer such as \"80 packets\", \"2 BDP\", \"340 ms\" or \"120 kB\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        let Some((x, unit)) = parse_number(text) else { return Err(format!("{text:?} is not {}", Self::what())) };
        match unit {
            _ if x < 0.0 => Err(format!("{text:?} is negative; a buffer is not")),
            "p" | "packet" | "packets" | "pkt" | "pkts" if x.fract() != 0.0 || x > 1e18 => {
                Err(format!("{text:?} is not a whole number of packets"))
            }
            "p" | "packet" | "packets" | "pkt" | "pkts" => Ok(Buffer::Packets(x as u64)),
            "BDP" | "bdp" => Ok(Buffer::Bdp(x)),
            _ => {
                let time = <Duration as Value>::parse(text).filter(|_| !unit.is_empty()).map(Buffer::Time);
                let size = || <Bytes as Value>::parse(text).filter(|_| !unit.is_empty()).map(Buffer::Bytes);
                time.or_else(size).ok_or_else(|| {
                    let units = [&["packets", "p", "BDP"][..], &TIME_UNITS, &SIZE_UNITS].concat();
                    no_unit(text, &Self::what(), "a buffer", &units, &["packets"])
                })
            }
        }
    }
    fn number(x: f64) -> Result<Self, String> {
        Err(format!("{x} has no unit: write \"{x} packets\", \"{x} ms\" or \"{x} BDP\""))
    }
    fn write(&self) -> Any {
        Any::Text(match self {
            Buffer::Packets(1) => "1 packet".into(),
            Buffer::Packets(n) => format!("{n} packets"),
            Buffer::Bytes(n) => n.show(),
            Buffer::Time(t) => t.show(),
            Buffer::Bdp(x) => format!("{x} BDP"),
        })
    }
}

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
pub(crate) struct Version(pub i64);

impl Quantity for Version {
    const NUMERIC: bool = true;
    const TEXT: bool = false;
    fn what() -> String {
        "the number 1".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        Err(format!("the text {text:?} is not {}: write it without quotes", Self::what()))
    }
    fn integer(n: i64) -> Result<Self, String> {
        Ok(Version(n))
    }
    fn write(&self) -> Any {
        Any::Integer(self.0)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_read_in_all_four_ways_and_written_back() {
        for (text, want) in [
            ("80 packets", Buffer::Packets(80)),
            ("1000p", Buffer::Packets(1000)),
            ("2BDP", Buffer::Bdp(2.0)),
            ("0.5 bdp", Buffer::Bdp(0.5)),
            ("340 ms", Buffer::Time(Duration::from_millis(340))),
            ("120kB", Buffer::Bytes(Bytes::new(120_000))),
        ] {
            let read = Buffer::read(text).unwrap();
            assert_eq!(read, want);
            let Any::Text(written) = read.write() else { panic!("{read:?} is not written as text") };
            assert_eq!(Buffer::read(&written), Ok(want));
        }
    }

    #[test]
    fn bits_and_bytes_are_told_apart() {
        for (bytes, bits) in [
            ("2 MB/s", "16Mbit/s"),
            ("1500 KB/s", "12Mbit/s"),
            ("1500kBps", "12Mbit/s"),
            ("1 GB/s", "8Gbit/s"),
            ("1500 B/s", "12kbit/s"),
            ("2 MiB/s", "16.777216Mbit/s"),
            ("3 mbytes/s", "24Mbit/s"),
        ] {
            let e = RateText::read(bytes).unwrap_err();
            assert_eq!(e, format!("{bytes:?} counts bytes; rates are in bits per second, such as {bits:?}"));
        }
    }
}
