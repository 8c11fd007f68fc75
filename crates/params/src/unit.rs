//! Units of values: the one place that lists them, for reading and for messages.

/// A unit.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    /// How it may be written; messages show the first.
    pub names: &'static [&'static str],
    /// How many of the base unit of its kind it is.
    pub scale: f64,
}

const fn unit(names: &'static [&'static str], scale: f64) -> Unit {
    Unit { names, scale }
}

/// Of times, in ns.
pub const TIMES: [Unit; 6] = [
    unit(&["ns"], 1.0),
    unit(&["us", "µs"], 1e3),
    unit(&["ms"], 1e6),
    unit(&["s"], 1e9),
    unit(&["min"], 60e9),
    unit(&["h"], 3600e9),
];

/// Of rates, in bit/s. They are read in capitals and small letters alike.
pub const RATES: [Unit; 4] = [
    unit(&["bit/s", "bit", "bps"], 1.0),
    unit(&["kbit/s", "kbit", "kbps"], 1e3),
    unit(&["Mbit/s", "Mbit", "Mbps"], 1e6),
    unit(&["Gbit/s", "Gbit", "Gbps"], 1e9),
];

/// Of sizes, in bytes.
pub const SIZES: [Unit; 7] = [
    unit(&["B"], 1.0),
    unit(&["kB", "KB"], 1e3),
    unit(&["MB"], 1e6),
    unit(&["GB"], 1e9),
    unit(&["KiB"], 1024.0),
    unit(&["MiB"], 1_048_576.0),
    unit(&["GiB"], 1_073_741_824.0),
];

/// The unit of what is counted.
pub const PACKETS: Unit = unit(&["packets", "packet", "p", "pkts", "pkt"], 1.0);

/// The unit of what is a multiple of the bandwidth-delay product.
pub const BDP: Unit = unit(&["BDP", "bdp"], 1.0);

/// How many of the base unit is what goes by `name`.
pub fn scale(units: &[Unit], name: &str) -> Option<f64> {
    units.iter().find(|unit| unit.names.contains(&name)).map(|unit| unit.scale)
}

/// As [`scale`], for [`RATES`].
pub fn scale_of_rate(name: &str) -> Option<f64> {
    RATES.iter().find(|unit| unit.names.iter().any(|n| n.eq_ignore_ascii_case(name))).map(|unit| unit.scale)
}

/// The names that messages show.
pub fn names(units: &[Unit]) -> impl Iterator<Item = &'static str> {
    units.iter().map(|unit| unit.names[0])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use units::{Bytes, Duration, Rate};

    #[test]
    fn every_unit_is_so_many_of_the_one_before() {
        for (units, steps) in [
            (&TIMES[..], &[1e3, 1e3, 1e3, 60.0, 60.0][..]),
            (&RATES, &[1e3; 3]),
            (&SIZES[..4], &[1e3; 3]),
            (&SIZES[4..], &[1024.0; 2]),
        ] {
            let scales = units.windows(2).map(|pair| pair[1].scale / pair[0].scale);
            assert!(scales.eq(steps.iter().copied()), "{units:?}");
        }
        for (units, name, one) in [(&TIMES[..], "ns", 1.0), (&SIZES, "B", 1.0), (&SIZES, "KiB", 1024.0)] {
            assert_eq!(scale(units, name), Some(one), "{name}");
        }
        assert_eq!((scale_of_rate("BPS"), scale(&SIZES, "b")), (Some(1.0), None));
    }

    #[test]
    fn what_a_kind_says_of_its_units_is_all_of_them() {
        for (kind, units) in [(Duration::KIND, &TIMES[..]), (Rate::KIND, &RATES), (Bytes::KIND, &SIZES)] {
            let said: std::vec::Vec<_> =
                kind.split(['(', ')']).nth(1).unwrap().split([' ', ',', ';']).filter(|word| !word.is_empty()).collect();
            let said = said.iter().filter(|word| !["decimal", "binary"].contains(word)).copied();
            assert!(said.eq(names(units)), "{kind}");
        }
    }
}
