//! Times, rates and sizes, and what a link takes of them: all that has a unit.

use super::Quantity;
use crate::limits::{BUFFER_MAX, DURATION_MAX, RATE_MAX};
use crate::source::did_you_mean;
use crate::tree::Any;
use params::unit::{PACKETS, RATES, SIZES, TIMES, names, scale_of_rate};
use params::{Value, bytes_a_second, parse_number};
use units::{Bytes, Duration, Rate};

/// Explains why `text` is no value of a kind with units; `noun` comes with the most that any key takes of it.
fn no_unit(
    text: &str,
    kind: &str,
    (noun, most): (&str, String),
    units: impl Iterator<Item = &'static str>,
    likely: &[&str],
) -> String {
    let units: Vec<_> = units.collect();
    match parse_number(text) {
        None => format!("{text:?} is not {kind}"),
        Some((x, _)) if x < 0.0 => format!("{text:?} is negative; {noun} is not"),
        Some((x, "")) => {
            let cures: Vec<_> = likely.iter().map(|unit| format!("\"{x} {unit}\"")).collect();
            format!("{text:?} has no unit: write {}; allowed are {}", cures.join(" or "), units.join(", "))
        }
        Some((_, unit)) if units.contains(&unit) => {
            format!("{text:?} is too large for {noun}: no key takes more than {most}")
        }
        Some((x, unit)) => {
            if let Some(bits) = bits(unit).filter(|_| units.contains(&"B")) {
                let size = Bytes::new((x * bits / 8.0).ceil() as u64);
                return format!("{text:?} counts bits; {noun} is in bytes, such as \"{}\"", size.show());
            }
            let near = did_you_mean(unit, units.iter().copied());
            format!("{unit:?} in {text:?} is no unit of {noun}{near} (allowed: {})", units.join(", "))
        }
    }
}

/// How many bits a unit such as `Mbit` or `kbits` is; without its last s none that is a rate for certain has a name.
fn bits(unit: &str) -> Option<f64> {
    scale_of_rate(unit.strip_suffix('s').unwrap_or(unit))
}

impl Quantity for Duration {
    fn what() -> String {
        "a time such as \"40 ms\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        <Duration as Value>::parse(text)
            .ok_or_else(|| no_unit(text, &Self::what(), ("a time", DURATION_MAX.show()), names(&TIMES), &["ms", "s"]))
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
        _ => no_unit(text, kind, ("a rate", RATE_MAX.show()), names(&RATES), &["Mbit/s"]),
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
        <Bytes as Value>::parse(text)
            .ok_or_else(|| no_unit(text, &Self::what(), ("a size", BUFFER_MAX.show()), names(&SIZES), &["B"]))
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

/// How fast a sender's own link sends, as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AccessText(pub Option<Rate>);

impl Quantity for AccessText {
    fn what() -> String {
        "a rate such as \"1 Gbit/s\", or \"unlimited\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        match text.trim() {
            "unlimited" => Ok(AccessText(None)),
            trace if trace.starts_with("trace(") => {
                Err(format!("{text:?}: an access link takes a constant rate, not a trace"))
            }
            _ => read_rate(text, &Self::what()).map(|rate| AccessText(Some(rate))),
        }
    }
    fn number(x: f64) -> Result<Self, String> {
        <Rate as Quantity>::number(x).map(|rate| AccessText(Some(rate)))
    }
    fn write(&self) -> Any {
        self.0.map_or_else(|| Any::Text("unlimited".into()), |rate| rate.write())
    }
}

/// The size of a buffer, as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Buffer {
    Packets(u64),
    Bytes(Volume),
    /// As many full packets as hold it, whatever their size turns out to be: routers that count slots.
    Slots(Volume),
}

/// So much data, as written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Volume {
    Size(Bytes),
    Time(Duration),
    Bdp(f64),
}

impl Volume {
    fn read(text: &str) -> Option<Self> {
        let (x, unit) = parse_number(text)?;
        match unit {
            "" => None,
            "BDP" | "bdp" => Some(Volume::Bdp(x)),
            _ => {
                let size = || <Bytes as Value>::parse(text).map(Volume::Size);
                <Duration as Value>::parse(text).map(Volume::Time).or_else(size)
            }
        }
    }

    fn show(self) -> String {
        match self {
            Volume::Size(n) => n.show(),
            Volume::Time(t) => t.show(),
            Volume::Bdp(x) => format!("{x} BDP"),
        }
    }
}

impl Quantity for Buffer {
    fn what() -> String {
        "a buffer such as \"80 packets\", \"2 BDP\", \"340 ms\", \"120 kB\" or \"packets(2 BDP)\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        if let Some(rest) = text.trim().strip_prefix("packets(") {
            let volume = rest.strip_suffix(')').map(str::trim);
            return match volume.map(|v| (v.starts_with('-'), Volume::read(v))) {
                Some((false, Some(volume))) => Ok(Buffer::Slots(volume)),
                _ => Err(format!(
                    "{text:?} does not say how much: write packets(2 BDP), packets(340 ms) or packets(120 kB); \
                     of a number of packets \"80 packets\""
                )),
            };
        }
        let Some((x, unit)) = parse_number(text) else { return Err(format!("{text:?} is not {}", Self::what())) };
        match unit {
            _ if x < 0.0 => Err(format!("{text:?} is negative; a buffer is not")),
            _ if PACKETS.names.contains(&unit) && (x.fract() != 0.0 || x > 1e18) => {
                Err(format!("{text:?} is not a whole number of packets"))
            }
            _ if PACKETS.names.contains(&unit) => Ok(Buffer::Packets(x as u64)),
            _ => Volume::read(text).map(Buffer::Bytes).ok_or_else(|| {
                let units = ["packets", "p", "BDP"].into_iter().chain(names(&TIMES)).chain(names(&SIZES));
                no_unit(text, &Self::what(), ("a buffer", BUFFER_MAX.show()), units, &["packets"])
            }),
        }
    }
    fn number(x: f64) -> Result<Self, String> {
        Err(format!("{x} has no unit: write \"{x} packets\", \"{x} ms\" or \"{x} BDP\""))
    }
    fn write(&self) -> Any {
        Any::Text(match self {
            Buffer::Packets(1) => "1 packet".into(),
            Buffer::Packets(n) => format!("{n} packets"),
            Buffer::Bytes(volume) => volume.show(),
            Buffer::Slots(volume) => format!("packets({})", volume.show()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_read_in_every_way_and_written_back() {
        let (time, size) = (Volume::Time(Duration::from_millis(340)), Volume::Size(Bytes::new(120_000)));
        for (text, want) in [
            ("80 packets", Buffer::Packets(80)),
            ("1000p", Buffer::Packets(1000)),
            ("2BDP", Buffer::Bytes(Volume::Bdp(2.0))),
            ("0.5 bdp", Buffer::Bytes(Volume::Bdp(0.5))),
            ("340 ms", Buffer::Bytes(time)),
            ("120kB", Buffer::Bytes(size)),
            ("packets(2 BDP)", Buffer::Slots(Volume::Bdp(2.0))),
            ("packets( 340ms )", Buffer::Slots(time)),
            ("packets(120kB)", Buffer::Slots(size)),
        ] {
            let read = Buffer::read(text).unwrap();
            assert_eq!(read, want);
            let Any::Text(written) = read.write() else { panic!("{read:?} is not written as text") };
            assert_eq!(Buffer::read(&written), Ok(want));
        }
    }

    #[test]
    fn packets_of_nothing_or_of_packets_are_refused() {
        for text in ["packets()", "packets(2)", "packets(-1 BDP)", "packets(80 packets)", "packets(2 BDP"] {
            let e = Buffer::read(text).unwrap_err();
            assert!(e.contains("write packets(2 BDP)"), "{e}");
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

    #[test]
    fn a_size_in_bits_is_told_in_bytes() {
        for (bits, bytes) in
            [("1 Mbit", "125kB"), ("12 kbits", "1.5kB"), ("1Gbit", "125MB"), ("20 bit", "3B"), ("0.5 mbit", "62.5kB")]
        {
            let says = |noun: &str| Err(format!("{bits:?} counts bits; {noun} is in bytes, such as {bytes:?}"));
            assert_eq!(Buffer::read(bits), says("a buffer"));
            assert_eq!(<Bytes as Quantity>::read(bits).map(|_| Buffer::Packets(0)), says("a size"));
        }
        assert_eq!(<Rate as Quantity>::read("1 Mbit").map(|rate| rate.show()), Ok("1Mbit/s".into()));
        assert!(Buffer::read("1 mim").unwrap_err().contains("did you mean \"min\"?"));
    }
}
