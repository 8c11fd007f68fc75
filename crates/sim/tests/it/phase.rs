//! Two Renos and a deterministic drop-tail queue lock into phases: a fifth of a millisecond more RTT for one of them
//! turns shares over (Floyd and Jacobson, 1992). `vary` takes the effect away and leaves single flows as they are.
//! What remains with it is smooth: the flow with the shorter RTT loses up to a third of its share while the RTTs differ
//! by about a packet time, because the two windows still travel as trains that overlap on one side only.

use crate::common::{dumbbell, ms};
use experiment::{Traffic, Vary};
use sim::{Options, Summary};
use tcp::Stack;
use units::{Bytes, Instant, Rate};

fn run(s: &experiment::Scenario, repetition: u32) -> Summary {
    sim::run(s, (), Options { repetition, ..Options::default() }).unwrap().0
}

/// Mean share of the first of two flows as the second one's RTT grows in steps of 0.2 ms.
fn shares(vary: Vary) -> Vec<f64> {
    (0..16)
        .map(|i| {
            let mut s = dumbbell(10.0, 40.0, 20, "fifo", &["newreno", "newreno"], 150);
            s.run.vary = vary;
            let extra = ms(0.2 * i as f64);
            s.flows[1].edge = extra;
            s.flows[1].base_rtt = ms(40.0) + extra;
            (0..4).map(|n| run(&s, n).flows[0].share).sum::<f64>() / 4.0
        })
        .collect()
}

/// Largest change of the share from one RTT to the next.
fn jump(shares: &[f64]) -> f64 {
    shares.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f64::max)
}

#[test]
fn vary_removes_the_phase_effect() {
    let (locked, varied) = (shares(Vary::None), shares(Vary::StartHost));
    println!("without vary {locked:.2?}\nwith vary    {varied:.2?}");
    assert!(jump(&locked) > 0.15, "no phase effect to see: {locked:.2?}");
    assert!(jump(&varied) < 0.07, "vary leaves {varied:.2?} of {locked:.2?}");
}

#[test]
fn single_delay_gradient_flows_do_not_move() {
    for cc in ["cdg", "hldg"] {
        let figures = |vary: Vary| {
            let mut s = dumbbell(10.0, 100.0, 1000, "fifo", &[cc], 200);
            s.flows[0].stack = Stack::FreeBsd11;
            s.run.vary = vary;
            let runs: Vec<Summary> = (0..4).map(|n| run(&s, n)).collect();
            let mean = |of: &dyn Fn(&Summary) -> f64| runs.iter().map(of).sum::<f64>() / runs.len() as f64;
            (mean(&|r| r.links[0].utilisation.unwrap()), mean(&|r| r.links[0].queue_ms.unwrap().mean))
        };
        let (plain, varied) = (figures(Vary::None), figures(Vary::StartHost));
        println!("{cc}: utilisation and queue {plain:.3?} without vary, {varied:.3?} with");
        assert!((plain.0 - varied.0).abs() < 0.04, "{cc}: utilisation {plain:?} against {varied:?}");
        assert!((plain.1 - varied.1).abs() < 0.5, "{cc}: queue {plain:?} against {varied:?}");
    }
}

#[test]
fn a_flow_that_lasts_ends_as_much_later_as_it_starts() {
    // Shorter than its RTT, so that a start that moved alone would come after the end.
    for (lasts, stop) in [(Some(ms(50.0)), None), (None, Some(Instant::from_millis(50)))] {
        let mut s = dumbbell(10.0, 200.0, 100, "fifo", &["newreno"], 2);
        let (rate, size) = (Rate::from_mbps(1.0), Bytes::new(250));
        s.flows[0].traffic = Traffic::Cbr { rate, size, on: ms(0.0), off: ms(0.0) };
        (s.flows[0].lasts, s.flows[0].stop) = (lasts, stop);
        s.run.vary = Vary::Start;
        for repetition in 0..8 {
            let sent = run(&s, repetition).flows[0].sent;
            // One each 2 ms.
            let due = if lasts.is_some() { 25..=25 } else { 1..=25 };
            assert!(due.contains(&sent), "{sent} of repetition {repetition}, lasts {lasts:?}");
        }
    }
}

#[test]
fn a_flow_starts_before_it_is_to_stop_and_before_the_run_ends() {
    // Both within an RTT of its start. (when it is to stop in ms)
    for stop in [None, Some(9900.0), Some(12_000.0)] {
        let mut s = dumbbell(12.0, 340.0, 340, "fifo", &["cubic", "cubic"], 10);
        s.run.vary = Vary::Start;
        s.flows[1].start = Instant::ZERO + ms(9800.0);
        s.flows[1].stop = stop.map(|at| Instant::ZERO + ms(at));
        let before = stop.unwrap_or(f64::MAX).min(10_000.0) / 1000.0;
        let starts: Vec<_> = (0..10).map(|seed| run(&s, seed).flows[1].start_s).collect();
        assert!(starts.iter().all(|at| (9.8..before).contains(at)), "{stop:?}: {starts:?}");
    }
}
