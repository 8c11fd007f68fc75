//! A value as a publication gives it: a number, a range that a text speaks of, or a bound.

use crate::tolerance::{Number, Tolerance, Unit};

/// Least and greatest value that agree with what was printed; equal for a number, infinite on the open side of a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Printed {
    pub from: f64,
    pub to: f64,
}

impl Printed {
    /// Reads `4.4`, `99.9 %`, `10 to 21 %`, `< 50 %` or `> 0.9`.
    pub fn read(text: &str, unit: Unit) -> Result<Printed, String> {
        let text = text.trim();
        let wanted =
            || format!("{text:?} is not a number, a range such as \"10 to 21 %\", or a bound such as \"< 50 %\"");
        let number = |part: &str| Number::read(part).ok_or_else(wanted)?.as_unit(unit);
        if let Some(bound) = text.strip_prefix(['<', '≤']) {
            return Ok(Printed { from: f64::NEG_INFINITY, to: number(bound.trim_start_matches('='))? });
        }
        if let Some(bound) = text.strip_prefix(['>', '≥']) {
            return Ok(Printed { from: number(bound.trim_start_matches('='))?, to: f64::INFINITY });
        }
        let Some((from, to)) = text.split_once(" to ") else {
            return number(text).map(|x| Printed { from: x, to: x });
        };
        let (from, to) = Number::range(from, to).map_err(|_| wanted())?;
        let (from, to) = (from.as_unit(unit)?, to.as_unit(unit)?);
        if from > to {
            return Err(format!("{text:?}: the smaller end comes first"));
        }
        Ok(Printed { from, to })
    }

    /// Neither a range nor a bound.
    pub fn is_number(self) -> bool {
        self.from == self.to
    }

    /// One number for it: the middle of a range, the bound itself.
    pub fn value(self) -> f64 {
        match (self.from.is_finite(), self.to.is_finite()) {
            (true, true) => (self.from + self.to) / 2.0,
            (true, false) => self.from,
            _ => self.to,
        }
    }

    /// Least and greatest value within the tolerance, which widens what was printed at both ends.
    pub fn within(self, tolerance: &Tolerance, unit: Unit) -> Result<(f64, f64), String> {
        let end = |x: f64| if x.is_finite() { tolerance.bounds(x, unit) } else { Ok((x, x)) };
        Ok((end(self.from)?.0, end(self.to)?.1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::quantity::Quantity;

    #[test]
    fn numbers_ranges_and_bounds_are_read_in_the_unit_of_the_figure() {
        let read = |text| Printed::read(text, Unit::Fraction).map(|p| (p.from, p.to, p.value()));
        assert_eq!(read("25 %"), Ok((0.25, 0.25, 0.25)));
        assert_eq!(read("10 to 20 %"), Ok((0.1, 0.2, 0.15000000000000002)));
        assert_eq!(read("0.1 to 20 %"), Ok((0.001, 0.2, 0.1005)), "a bare first end has the unit of the second");
        assert_eq!(read("< 50 %"), Ok((f64::NEG_INFINITY, 0.5, 0.5)));
        assert_eq!(read(">= 0.9"), Ok((0.9, f64::INFINITY, 0.9)));
        assert!(read("20 to 10 %").unwrap_err().contains("smaller"));
        assert!(read("about 5").unwrap_err().contains("range"));
        assert!(read("< 5 ms").unwrap_err().contains("does not fit"));
    }

    #[test]
    fn a_tolerance_widens_both_ends_and_leaves_an_open_one_open() {
        let within = |text| {
            let tolerance = Tolerance::read("max(2 points, 30 %)").unwrap();
            Printed::read(text, Unit::Fraction).unwrap().within(&tolerance, Unit::Fraction).unwrap()
        };
        let (low, high) = within("1 to 10 %");
        assert!((low + 0.01).abs() < 1e-12 && (high - 0.13).abs() < 1e-12);
        assert_eq!(within("< 50 %"), (f64::NEG_INFINITY, 0.65));
    }
}
