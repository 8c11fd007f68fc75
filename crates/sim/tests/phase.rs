//! Two Renos and a deterministic drop-tail queue lock into phases; `vary` takes the effect away.

mod common;
use common::{dumbbell, ms};
use experiment::Vary;
use sim::Options;

/// Shares of the first flow as the second one's RTT is swept in small steps.
fn shares(vary: Vary) -> Vec<f64> {
    (0..12)
        .map(|i| {
            let mut s = dumbbell(10.0, 40.0, 20, "fifo", &["newreno", "newreno"], 60);
            s.run.vary = vary;
            s.run.seed = i;
            let extra = ms(0.1 * i as f64);
            s.flows[1].edge = extra;
            s.flows[1].base_rtt = ms(40.0) + extra;
            sim::run(&s, (), Options::default()).unwrap().0.flows[0].share
        })
        .collect()
}

fn spread(shares: &[f64]) -> f64 {
    let (low, high) = shares.iter().fold((1.0f64, 0.0f64), |(a, b), &x| (a.min(x), b.max(x)));
    high - low
}

#[test]
fn vary_removes_the_phase_effect() {
    let (locked, varied) = (shares(Vary::None), shares(Vary::StartHost));
    println!("without vary {locked:.2?}\nwith vary    {varied:.2?}");
    assert!(spread(&locked) > 0.3, "no phase effect to see: {locked:.2?}");
    assert!(spread(&varied) < spread(&locked) / 2.0, "vary leaves {varied:.2?} of {locked:.2?}");
}
