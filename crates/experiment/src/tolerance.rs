//! Numbers in the unit of a figure, and how far from them another may be.

use crate::quantity::Quantity;
use crate::tree::Any;
use params::{Value, parse_number};
use units::{Bytes, Duration, Rate};

/// What a figure counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Ms,
    Seconds,
    Mbps,
    Bytes,
    Megabytes,
    /// 0 to 1; may be written in percent.
    Fraction,
    /// A fraction that may be more than one, such as an offered load.
    Ratio,
    Percent,
    Count,
}

impl Unit {
    fn what(self) -> &'static str {
        match self {
            Unit::Ms => "ms (or a time with its unit)",
            Unit::Seconds => "s (or a time with its unit)",
            Unit::Mbps => "Mbit/s (or a rate with its unit)",
            Unit::Bytes => "bytes (or a size with its unit)",
            Unit::Megabytes => "MB (or a size with its unit)",
            Unit::Fraction | Unit::Ratio => "a fraction of 1, %, or points",
            Unit::Percent => "% or points",
            Unit::Count => "a plain number",
        }
    }

    /// Whether figures of both count the same thing.
    pub fn compares_with(self, other: Unit) -> bool {
        let fraction = |unit| matches!(unit, Unit::Fraction | Unit::Ratio);
        self == other || fraction(self) && fraction(other)
    }

    /// The unit that a width is to be written with; `None` if a plain number cannot be mistaken for another.
    fn written(self) -> Option<&'static str> {
        match self {
            Unit::Ms => Some("ms"),
            Unit::Seconds => Some("s"),
            Unit::Mbps => Some("Mbit/s"),
            Unit::Bytes => Some("B"),
            Unit::Megabytes => Some("MB"),
            Unit::Percent => Some("points"),
            Unit::Fraction | Unit::Ratio | Unit::Count => None,
        }
    }
}

/// A number with the unit it was written with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Number {
    text: String,
}

impl Number {
    pub fn read(text: &str) -> Option<Number> {
        let text = text.trim();
        parse_number(text).map(|_| Number { text: text.into() })
    }

    /// The ends of a range, "10" and "21 %": a bare first one has the unit of the second. The error is what is no number.
    pub fn range<'a>(from: &'a str, to: &'a str) -> Result<(Number, Number), &'a str> {
        let last = Number::read(to).ok_or(to)?;
        let unit = parse_number(to).map_or("", |(_, unit)| unit);
        let bare = parse_number(from).is_some_and(|(_, unit)| unit.is_empty());
        let first = if bare { Number::read(&format!("{} {unit}", from.trim())) } else { Number::read(from) };
        Ok((first.ok_or(from)?, last))
    }

    /// The value in the unit of a figure; an error if its own unit does not fit.
    pub fn as_unit(&self, unit: Unit) -> Result<f64, String> {
        let (x, written) = parse_number(&self.text).unwrap_or((0.0, ""));
        let value = match (unit, written) {
            (Unit::Fraction, "") if x.abs() > 1.0 => {
                return Err(format!(
                    "{x} is more than the whole of a share: write \"{x} %\", or of a width \"{x} points\""
                ));
            }
            (_, "") => Some(x),
            (Unit::Ms, _) => <Duration as Value>::parse(&self.text).map(Duration::as_millis_f64),
            (Unit::Seconds, _) => <Duration as Value>::parse(&self.text).map(Duration::as_secs_f64),
            (Unit::Mbps, _) => <Rate as Value>::parse(&self.text).map(Rate::as_mbps),
            (Unit::Bytes, _) => <Bytes as Value>::parse(&self.text).map(Bytes::as_f64),
            (Unit::Megabytes, _) => <Bytes as Value>::parse(&self.text).map(|bytes| bytes.as_f64() / 1e6),
            (Unit::Fraction | Unit::Ratio, "%" | "point" | "points") => Some(x / 100.0),
            (Unit::Percent, "%" | "point" | "points") => Some(x),
            _ => None,
        };
        value.ok_or_else(|| format!("{:?} does not fit a figure in {}", self.text, unit.what()))
    }
}

impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// How far from a value a figure may be: `"30 %"` of it, `"2 ms"` or `"5 points"` either side, `"factor 2"`, or the wider
/// of several, `"max(1.5 ms, 30 %)"`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tolerance(Vec<Part>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Relative(f64),
    Absolute(Number),
    Factor(f64),
}

impl Quantity for Tolerance {
    const NUMERIC: bool = true;
    fn what() -> String {
        "a tolerance such as \"30 %\" (of the value), \"2 ms\", \"5 points\", \"factor 2\" or \"max(1.5 ms, 30 %)\""
            .into()
    }
    fn read(text: &str) -> Result<Self, String> {
        let inside = text.trim();
        let inside = inside.strip_prefix("max(").and_then(|t| t.strip_suffix(')')).unwrap_or(inside);
        let part = |piece: &str| {
            let piece = piece.trim();
            if let Some(factor) = piece.strip_prefix("factor") {
                return parse_number(factor)
                    .filter(|(x, rest)| *x >= 1.0 && rest.is_empty())
                    .map(|(x, _)| Part::Factor(x));
            }
            let (x, unit) = parse_number(piece)?;
            match unit {
                _ if x < 0.0 => None,
                "%" => Some(Part::Relative(x / 100.0)),
                _ => Number::read(piece).map(Part::Absolute),
            }
        };
        let parts = inside.split(',').map(part).collect::<Option<Vec<_>>>();
        parts.map(Tolerance).ok_or_else(|| format!("{text:?} is not {}", Self::what()))
    }
    fn number(x: f64) -> Result<Self, String> {
        Tolerance::read(&x.to_string())
    }
    fn write(&self) -> Any {
        Any::Text(self.to_string())
    }
}

impl std::fmt::Display for Tolerance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let show = |part: &Part| match part {
            // 30 % is kept as 0.3: rounding takes away what the division left over.
            Part::Relative(x) => format!("{} %", (x * 1e8).round() / 1e6),
            Part::Absolute(n) => n.to_string(),
            Part::Factor(x) => format!("factor {x}"),
        };
        match self.0.as_slice() {
            [one] => f.write_str(&show(one)),
            many => write!(f, "max({})", many.iter().map(show).collect::<Vec<_>>().join(", ")),
        }
    }
}

impl Tolerance {
    /// Allows a ratio either side rather than a difference, so that widths are ratios too.
    pub fn is_ratio(&self) -> bool {
        matches!(self.0.as_slice(), [Part::Factor(_)])
    }

    /// Refuses a number without a unit where the figure has one: 35 that were meant as percent would be so many ms, and
    /// nothing outside.
    pub fn has_units(&self, unit: Unit) -> Result<(), String> {
        for part in &self.0 {
            let Part::Absolute(number) = part else { continue };
            let (x, written) = parse_number(&number.text).unwrap_or((0.0, ""));
            let own = match unit {
                // A load may be more than one, but no width of it is.
                Unit::Ratio if x > 1.0 => "points",
                _ => unit.written().unwrap_or(""),
            };
            if written.is_empty() && x != 0.0 && !own.is_empty() {
                return Err(format!(
                    "{number} has no unit: write \"{number} %\" of what was printed, or \"{number} {own}\""
                ));
            }
        }
        Ok(())
    }

    /// Least and greatest value allowed around `centre`; an error if a part of it has a unit that does not fit the
    /// figure's.
    pub fn bounds(&self, centre: f64, unit: Unit) -> Result<(f64, f64), String> {
        let (mut low, mut high) = (centre, centre);
        for part in &self.0 {
            let (l, h) = match part {
                Part::Relative(r) => (centre - centre.abs() * r, centre + centre.abs() * r),
                Part::Absolute(n) => {
                    let width = n.as_unit(unit)?;
                    (centre - width, centre + width)
                }
                Part::Factor(k) => ((centre / k).min(centre * k), (centre / k).max(centre * k)),
            };
            (low, high) = (low.min(l), high.max(h));
        }
        Ok((low, high))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_has_no_more_room_than_there_is() {
        let bounds = |text: &str, unit| Tolerance::read(text).unwrap().bounds(0.5, unit);
        assert!(bounds("5", Unit::Fraction).unwrap_err().contains("\"5 points\""));
        assert_eq!(bounds("0.02", Unit::Fraction), Ok((0.48, 0.52)));
        assert_eq!(bounds("5", Unit::Ms), Ok((-4.5, 5.5)));
    }

    #[test]
    fn a_width_has_a_unit_where_its_figure_has_one() {
        let refused = |text: &str, unit| Tolerance::read(text).unwrap().has_units(unit).err();
        let cure = "35 has no unit: write \"35 %\" of what was printed, or \"35 ms\"";
        assert_eq!(refused("35", Unit::Ms).as_deref(), Some(cure));
        for (text, unit, own) in [
            ("max(30 %, 2)", Unit::Seconds, "2 s"),
            ("0.2", Unit::Mbps, "0.2 Mbit/s"),
            ("3000", Unit::Bytes, "3000 B"),
            ("2", Unit::Megabytes, "2 MB"),
            ("2", Unit::Percent, "2 points"),
            ("35", Unit::Ratio, "35 points"),
        ] {
            assert!(refused(text, unit).is_some_and(|e| e.ends_with(&format!("{own:?}"))), "{text}");
        }
        for (text, unit) in [
            ("35 %", Unit::Ms),
            ("factor 2", Unit::Ms),
            ("0", Unit::Ms),
            ("20", Unit::Count),
            ("0.02", Unit::Fraction),
            ("0.1", Unit::Ratio),
        ] {
            assert_eq!(refused(text, unit), None, "{text}");
        }
    }

    #[test]
    fn the_widest_part_of_a_tolerance_counts() {
        let bounds = |text: &str, centre| Tolerance::read(text).unwrap().bounds(centre, Unit::Ms).unwrap();
        assert_eq!(bounds("max(1.5 ms, 30 %)", 2.0), (0.5, 3.5));
        assert_eq!(bounds("max(1.5 ms, 30 %)", 100.0), (70.0, 130.0));
        assert_eq!(bounds("factor 2", 10.0), (5.0, 20.0));
        for text in ["30 %", "factor 2", "max(1.5 ms, 30 %)", "0.02", "35 %", "7 %"] {
            assert_eq!(Tolerance::read(text).unwrap().to_string(), text);
        }
    }
}
