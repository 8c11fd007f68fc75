//! The rate of a Quick-Start request (RFC 4782, section 3.1): four bits, 40 kbit/s · 2^N. A SYN carries it in the field that
//! counts marked bytes otherwise, since a SYN has no marks to report, and its answer carries back what is left of it.

use units::Rate;

const UNIT: u64 = 40_000;

/// The largest N whose rate is no more than this; 0 asks for nothing.
pub fn code(rate: Rate) -> u32 {
    (1..=15).rev().find(|n| UNIT << n <= rate.as_bps()).unwrap_or(0)
}

/// The rate of N, if it is a request.
pub fn rate(code: u32) -> Option<Rate> {
    (1..=15).contains(&code).then(|| Rate::from_bps(UNIT << code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_of_the_rfc() {
        // RFC 4782, section 3.1: from 80 kbit/s to 1.31072 Gbit/s.
        assert_eq!((rate(0), rate(1), rate(16)), (None, Some(Rate::from_bps(80_000)), None));
        assert_eq!(rate(15), Some(Rate::from_bps(1_310_720_000)));
        let codes = [79_999, 80_000, 10_000_000, 5_000_000_000].map(|bps| code(Rate::from_bps(bps)));
        assert_eq!(codes, [0, 1, 7, 15], "10 Mbit/s asks for 5.12");
    }
}
