//! What papers claim of the survey's algorithms, where a small run shows it.

mod common;
use common::{dumbbell, run};
use units::{Duration, Instant};

/// Mean queue in packets of 1500 bytes on 12 Mbit/s: one a millisecond. The first ten seconds do not count.
fn packets_queued(ccs: &[&str]) -> f64 {
    let mut s = dumbbell(12.0, 40.0, 400, "fifo", ccs, 40);
    s.run.measure.0 = Instant::ZERO + Duration::from_secs(10);
    run(&s).links[0].queue_ms.unwrap().mean
}

#[test]
fn copa_queues_in_proportion_to_one_over_delta() {
    let (two, eight) = (packets_queued(&["copa"]), packets_queued(&["copa(delta=0.125)"]));
    println!("copa queues {two:.1} packets with delta 1/2, {eight:.1} with 1/8");
    // 1/δ on average by the paper's model, within the oscillation of a few packets it draws around it.
    assert!((1.0..=5.0).contains(&two), "{two}");
    assert!((6.0..=14.0).contains(&eight), "{eight}");
}
