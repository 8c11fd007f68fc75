//! The C of `bpf/law` beside the Rust it follows: the same calls, the same draws, the same windows.
//!
//! The C is compiled here, by `cc`, as a program that reads a tape (`bpf/native.c`). Tapes come from the simulator and from
//! chance; those of the kernel are compared by `examples/kernel_tape.rs`, as `python/tests_linux` records them.

mod compare;
mod host;
mod native;
mod random;
mod replay;
mod told;
mod words;

use crate::common::dumbbell;
use compare::both;
use proptest::prelude::*;
use sim::{Options, Tape};
use words::Words;

/// What flow 0 of a simulation was told.
fn simulated(ccs: &[&str], mbps: f64, rtt: f64, buffer: usize, seconds: u64) -> Vec<Words> {
    let tape = Tape::new();
    let s = dumbbell(mbps, rtt, buffer, "fifo", ccs, seconds);
    sim::run(&s, (), Options { tape: Some(&tape), ..Options::default() }).unwrap();
    told::of_tape(&tape.entries())
}

const SPECS: [&str; 18] = [
    "hldg",
    "hldg(lpcc=true)",
    "hldg(slow_start=standard)",
    "hldg(base_window=1s)",
    "hldg(least=0)",
    "hldg(dwell_again=true, base_in_repairs=false)",
    "hldg(start_threshold=window, acked=cumulative)",
    "hldg(start_threshold=none)",
    "hldg(start_bandwidth=round)",
    "hldg(wwma=false, window=4, zsgw=false, bdp=false, accumulate=false, threshold_by=weights)",
    "cdg",
    "cdg(reference=paper)",
    "cdg(slow_start_min=true)",
    "cdg(slow_start=standard)",
    "chd",
    "chd(reference=freebsd)",
    "hd",
    "hd(reference=freebsd)",
];

#[test]
fn the_c_answers_as_the_rust_does_on_what_the_simulator_told() {
    for spec in SPECS {
        let name = spec.split('(').next().unwrap();
        // Alone over a long buffer, alone over a short one, and long enough beside CUBIC for HLDG's modes.
        let paths = [
            (vec![spec, "cubic"], 12.0, 40.0, 340, 25),
            (vec![spec], 10.0, 100.0, 1000, 12),
            (vec![spec], 40.0, 10.0, 30, 5),
        ];
        for (ccs, mbps, rtt, buffer, seconds) in paths.into_iter().take(if spec == name { 3 } else { 1 }) {
            let calls = simulated(&ccs, mbps, rtt, buffer, seconds);
            let n = calls.len();
            let a = both(spec, calls);
            println!("{name} {mbps} Mbit/s {rtt} ms {}: {n} calls, {a:?}", ccs.len());
            assert!(n > 200 && a.events > 0 && a.probability < 1e-6, "{spec}: {n} calls, {a:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn the_c_answers_as_the_rust_does_on_anything(seed: u64, which in 0..SPECS.len()) {
        let a = random::calls(SPECS[which], seed, 1500, random::EXACT);
        prop_assert!(a.probability < 2e-6, "{a:?}");
    }
}

/// The C's credit was a byte behind here, and eight growth steps after each other came an ACK later.
#[test]
fn a_byte_of_credit_makes_one_step_late_at_most() {
    let a = random::calls("hldg(slow_start=standard)", 8_408_957_933_170_319_006, 1500, random::EXACT);
    assert!(a.late <= 1, "{a:?}");
}

/// In the 34 ms after its plateau the C's curve is less than 2^-16 of a packet higher, and what was acknowledged then did
/// not count.
#[test]
fn what_is_acknowledged_just_after_the_plateau_counts() {
    for spec in ["hldg(slow_start=standard)", "hldg(least=0)"] {
        let a = random::calls(spec, 15_415_986_093_552_705_542, 1500, random::EXACT);
        assert!(a.late == 0, "{spec}: {a:?}");
    }
}
