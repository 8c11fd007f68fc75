//! Values as text: the only place where they are read and written.

use crate::unit::{BDP, PACKETS, SIZES, TIMES, Unit, scale, scale_of_rate};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use units::{Bytes, Duration, Packets, Rate};

/// A type a parameter may have.
pub trait Value: Clone + Sized + 'static {
    /// The kind as users see it: "a time such as 15ms".
    const KIND: &'static str;
    /// Reads `text`; `None` if it is no such value.
    fn parse(text: &str) -> Option<Self>;
    /// Writes the value so that [`Value::parse`] reads it back.
    fn show(&self) -> String;
    /// Position on the number line for range checks; values without an order return 0, a value that stands for
    /// "not set" NaN, which passes every check.
    fn position(&self) -> f64 {
        0.0
    }
    /// The words allowed, for values that are a choice.
    fn choices() -> &'static [&'static str] {
        &[]
    }
}

/// Splits "12.5 Mbit/s" into 12.5 and "Mbit/s". Takes digits with `_`, a decimal point and an exponent.
pub fn parse_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let mut end = 0;
    while end < bytes.len() {
        let c = bytes[end];
        let sign = (c == b'-' || c == b'+') && (end == 0 || matches!(bytes[end - 1], b'e' | b'E'));
        // An "e" belongs to the number only if a digit or sign follows it.
        let exponent = matches!(c, b'e' | b'E')
            && end > 0
            && bytes.get(end + 1).is_some_and(|n| {
                n.is_ascii_digit() || ((*n == b'-' || *n == b'+') && bytes.get(end + 2).is_some_and(u8::is_ascii_digit))
            });
        if !(c.is_ascii_digit() || c == b'.' || c == b'_' || sign || exponent) {
            break;
        }
        end += 1;
    }
    let number: String = text[..end].chars().filter(|c| *c != '_').collect();
    let value: f64 = number.parse().ok()?;
    value.is_finite().then(|| (value, text[end..].trim()))
}

/// A number with a unit of any kind, as it is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure<'a> {
    /// The number.
    pub value: f64,
    /// The unit.
    pub unit: &'a str,
    /// `time`, `rate`, `size`, `packets`, `BDP` or `share`.
    pub kind: &'static str,
    /// What the unit is: in seconds, bit/s, bytes, packets, BDPs or as a fraction.
    pub scale: f64,
}

/// Reads a value whose kind only its unit tells; a number without one is a share.
pub fn measure(text: &str) -> Option<Measure<'_>> {
    let (value, unit) = parse_number(text)?;
    let share = match unit {
        "" => Some(1.0),
        "%" => Some(0.01),
        _ => None,
    };
    let kinds = [
        ("time", scale(&TIMES, unit).map(|ns| ns / 1e9)),
        ("rate", rate(unit)),
        ("size", scale(&SIZES, unit)),
        ("packets", scale(&[PACKETS], unit)),
        ("BDP", scale(&[BDP], unit)),
        ("share", share),
    ];
    kinds.into_iter().find_map(|(kind, scale)| Some(Measure { value, unit, kind, scale: scale? }))
}

/// How many of the base unit `text` is; zero needs no unit.
fn amount(text: &str, units: &[Unit]) -> Option<f64> {
    match parse_number(text)? {
        (x, "") if x == 0.0 => Some(x),
        (x, unit) => Some(x * scale(units, unit)?),
    }
}

/// The shortest text that reads back as `x`.
pub(crate) fn show_number(x: f64) -> String {
    format!("{x}")
}

impl Value for f64 {
    const KIND: &'static str = "a number";
    fn parse(text: &str) -> Option<Self> {
        match parse_number(text)? {
            (x, "") => Some(x),
            (x, "%") => Some(x / 100.0),
            _ => None,
        }
    }
    fn show(&self) -> String {
        show_number(*self)
    }
    fn position(&self) -> f64 {
        *self
    }
}

macro_rules! whole {
    ($($t:ty),*) => {$(
        impl Value for $t {
            const KIND: &'static str = "a whole number";
            fn parse(text: &str) -> Option<Self> {
                text.trim().chars().filter(|c| *c != '_').collect::<String>().parse().ok()
            }
            fn show(&self) -> String {
                self.to_string()
            }
            fn position(&self) -> f64 {
                *self as f64
            }
        }
    )*};
}
whole!(u8, u16, u32, u64, i64, usize);

impl Value for bool {
    const KIND: &'static str = "true or false";
    fn parse(text: &str) -> Option<Self> {
        match text.trim() {
            "true" | "on" | "yes" => Some(true),
            "false" | "off" | "no" => Some(false),
            _ => None,
        }
    }
    fn show(&self) -> String {
        self.to_string()
    }
    fn choices() -> &'static [&'static str] {
        &["true", "false"]
    }
}

impl Value for Duration {
    const KIND: &'static str = "a time such as 15ms (ns, us, ms, s, min, h)";
    fn parse(text: &str) -> Option<Self> {
        let ns = units::math::round(amount(text, &TIMES)?);
        (0.0..9.2e18).contains(&ns).then(|| Duration::from_nanos(ns as u64))
    }
    fn show(&self) -> String {
        let ns = self.as_nanos();
        match ns {
            0 => "0ms".to_owned(),
            _ if ns.is_multiple_of(1_000_000_000) => format!("{}s", ns / 1_000_000_000),
            _ if ns >= 1_000_000 => format!("{}ms", show_number(ns as f64 / 1e6)),
            _ if ns >= 1_000 => format!("{}us", show_number(ns as f64 / 1e3)),
            _ => format!("{ns}ns"),
        }
    }
    fn position(&self) -> f64 {
        self.as_secs_f64()
    }
}

/// Whether a unit of rates counts bytes, as `MB/s`, `MBps` and `MByte/s` do and `MBit/s` does not: the commonest slip.
pub fn bytes_a_second(unit: &str) -> bool {
    ["Bps", "BPS"].iter().any(|end| unit.ends_with(end)) || unit.contains("B/") || unit.to_lowercase().contains("byte")
}

/// How many bit/s a unit of rates is.
fn rate(unit: &str) -> Option<f64> {
    if bytes_a_second(unit) { None } else { scale_of_rate(unit) }
}

impl Value for Rate {
    const KIND: &'static str = "a rate such as 10Mbit/s (bit/s, kbit/s, Mbit/s, Gbit/s; decimal)";
    fn parse(text: &str) -> Option<Self> {
        let (x, unit) = parse_number(text)?;
        let bps = units::math::round(x * rate(unit)?);
        (0.0..1.8e19).contains(&bps).then(|| Rate::from_bps(bps as u64))
    }
    fn show(&self) -> String {
        let bps = self.as_bps();
        match bps {
            1_000_000_000.. if bps.is_multiple_of(100_000_000) => format!("{}Gbit/s", show_number(bps as f64 / 1e9)),
            1_000_000.. => format!("{}Mbit/s", show_number(bps as f64 / 1e6)),
            1_000.. => format!("{}kbit/s", show_number(bps as f64 / 1e3)),
            _ => format!("{bps}bit/s"),
        }
    }
    fn position(&self) -> f64 {
        self.as_bps() as f64
    }
}

impl Value for Bytes {
    const KIND: &'static str = "a size such as 120kB (B, kB, MB, GB decimal; KiB, MiB, GiB binary)";
    fn parse(text: &str) -> Option<Self> {
        let n = units::math::round(amount(text, &SIZES)?);
        (0.0..1.8e19).contains(&n).then(|| Bytes::new(n as u64))
    }
    fn show(&self) -> String {
        let n = self.get();
        match n {
            1_000_000.. if n.is_multiple_of(1_000) => format!("{}MB", show_number(n as f64 / 1e6)),
            1_000.. if n.is_multiple_of(10) => format!("{}kB", show_number(n as f64 / 1e3)),
            _ => format!("{n}B"),
        }
    }
    fn position(&self) -> f64 {
        self.as_f64()
    }
}

impl Value for Packets {
    const KIND: &'static str = "a number of packets";
    fn parse(text: &str) -> Option<Self> {
        match parse_number(text)? {
            (x, unit) if x >= 0.0 && (unit.is_empty() || PACKETS.names.contains(&unit)) => Some(Packets(x)),
            _ => None,
        }
    }
    fn show(&self) -> String {
        show_number(self.0)
    }
    fn position(&self) -> f64 {
        self.0
    }
}

/// Declares an enum whose variants are words users write: `choice! { pub enum Reference { Rfc = "rfc", Linux = "linux" } }`.
#[macro_export]
macro_rules! choice {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$vmeta:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $($(#[$vmeta])* $variant),+ }
        impl $crate::Value for $name {
            const KIND: &'static str = concat!("one of", $(" ", $word),+);
            fn parse(text: &str) -> Option<Self> {
                match text.trim() { $($word => Some($name::$variant),)+ _ => None }
            }
            fn show(&self) -> $crate::macros::String {
                match self { $($name::$variant => $word),+ }.into()
            }
            fn choices() -> &'static [&'static str] {
                &[$($word),+]
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_read_in_every_usual_spelling() {
        for (text, ns) in
            [("15ms", 15_000_000), ("15 ms", 15_000_000), ("1.5s", 1_500_000_000), ("20us", 20_000), ("0", 0)]
        {
            assert_eq!(<Duration as Value>::parse(text), Some(Duration::from_nanos(ns)), "{text}");
        }
        for (text, bps) in
            [("10Mbit/s", 10_000_000), ("10 MBit/s", 10_000_000), ("1e6 bit/s", 1_000_000), ("1.5 Mbps", 1_500_000)]
        {
            assert_eq!(<Rate as Value>::parse(text), Some(Rate::from_bps(bps)), "{text}");
            assert!(!bytes_a_second(text));
        }
        for bytes in ["10 MB/s", "10 MBps", "10MBPS", "10 kByte/s", "10 mbytes/s"] {
            assert!(bytes_a_second(bytes) && <Rate as Value>::parse(bytes).is_none(), "{bytes}");
        }
        for bad in ["", "ms", "15", "-3ms", "1e400s", "15 parsecs", "NaN ms", "inf s"] {
            assert_eq!(<Duration as Value>::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_unit_tells_what_kind_a_value_is_of() {
        let read = |text| measure(text).map(|m| (m.value, m.unit, m.kind, m.scale));
        for (text, found) in [
            ("12.5 Mbit/s", (12.5, "Mbit/s", "rate", 1e6)),
            ("10 mBIT/s", (10.0, "mBIT/s", "rate", 1e6)),
            ("20 ms", (20.0, "ms", "time", 1e-3)),
            ("3 KiB", (3.0, "KiB", "size", 1024.0)),
            ("10_000 packets", (10_000.0, "packets", "packets", 1.0)),
            (".5bdp", (0.5, "bdp", "BDP", 1.0)),
            ("-3 %", (-3.0, "%", "share", 0.01)),
            ("0.5", (0.5, "", "share", 1.0)),
        ] {
            assert_eq!(read(text), Some(found), "{text}");
        }
        for bad in ["10 MB/s", "10MBPS", "10 mb", "ms", "1.2.3 ms", "fifo", "1e999 ms"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_shown_reads_back() {
        for ns in [0, 1, 999, 15_000_000, 1_500_000_000, 123_456_789] {
            let d = Duration::from_nanos(ns);
            assert_eq!(Duration::parse(&d.show()), Some(d));
        }
        for bps in [1, 56_000, 1_500_000, 12_345_678, 1_000_000_000, 2_500_000_000] {
            let r = Rate::from_bps(bps);
            assert_eq!(Rate::parse(&r.show()), Some(r));
        }
        for n in [0, 1, 1500, 1514, 120_000, 1_234_567] {
            let b = Bytes::new(n);
            assert_eq!(Bytes::parse(&b.show()), Some(b));
        }
    }
}
