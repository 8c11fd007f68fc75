use super::*;
use crate::testing::{ack, flow, ms, packets};
use units::Instant;

fn htcp(f: &Flow) -> State {
    let mut state = State::new(&Params::default(), f);
    (state.rtt_min, state.rtt_max) = (100, 100);
    state
}

fn at(f: &mut Flow, ms: u64) -> &mut Flow {
    f.now = Instant::from_millis(ms);
    f
}

/// α in packets so long after congestion, with that RTT in ms.
fn alpha(delta: u64, rtt: u64, beta: u64) -> f64 {
    let mut state = htcp(&flow(100, rtt));
    (state.rtt_min, state.beta) = (rtt, beta);
    state.update_alpha(delta);
    state.alpha as f64 / ONE as f64
}

#[test]
fn alpha_is_one_for_a_second_and_then_quadratic_in_whole_packets() {
    // Beyond: 1 + 10 t + t²/4: 2.0025 after 0.1 s, 11.25 after one, 126 after ten, 1126 after 50.
    assert_eq!(
        [500, 1000, 1100, 2000, 11_000, 51_000].map(|d| alpha(d, 100, 64)),
        [1.0, 1.0, 2.0, 11.0, 126.0, 1126.0]
    );
    // 2(1 − β): 102/128 leave 26.
    assert_eq!(alpha(11_000, 100, 102), 51.1875);
    assert_eq!([131_070, 131_072].map(packets_per_round), [5606, 1311], "32 bits");
}

#[test]
fn growth_is_scaled_by_the_rtt_over_100_ms_within_a_tenth_and_two() {
    assert_eq!([5, 10, 50, 100, 200, 400].map(|rtt| alpha(11_000, rtt, 64)), [12.0, 12.0, 63.0, 126.0, 252.0, 252.0]);
    // In the first second too: but a packet at least.
    assert_eq!([50, 200].map(|rtt| alpha(0, rtt, 64)), [1.0, 2.0]);
    let mut state = htcp(&flow(100, 100));
    (state.rtt_scaling, state.rtt_min) = (false, 200);
    state.update_alpha(11_000);
    assert_eq!(state.alpha as f64 / ONE as f64, 126.0);
}

#[test]
fn beta_is_the_ratio_of_the_rtts_unless_the_throughput_changed_by_more_than_a_fifth() {
    let beta = |rates: (u64, u64), rtts: (u64, u64)| {
        let mut state = htcp(&flow(100, 100));
        (state.adapts, state.throughput.most, state.throughput.before) = (true, rates.0, rates.1);
        (state.rtt_min, state.rtt_max) = rtts;
        state.update_beta();
        (state.beta, state.adapts, state.throughput.before == rates.0)
    };
    assert_eq!([110, 150, 201].map(|most| beta((100, 100), (100, most)).0), [102, 85, 64]);
    assert_eq!([79, 80, 120, 121].map(|rate| beta((rate, 100), (100, 150)).0), [64, 85, 85, 64]);
    assert_eq!(beta((50, 100), (100, 150)), (64, false, true));
    assert_eq!(beta((100, 100), (10, 12)), (64, true, true), "10 ms are too short");
}

#[test]
fn beta_follows_at_the_second_congestion_that_found_the_throughput_unchanged() {
    let mut f = flow(100, 100);
    let mut state = htcp(&f);
    state.rtt_max = 150;
    // Out of the slow start nothing is known; then there is a throughput, which is a change; then it is the same.
    let betas = [0, 100, 100, 100].map(|rate| {
        state.throughput.most = rate;
        (state.reduce(at(&mut f, 1000), Signal::Loss).get() / 1000, state.beta)
    });
    assert_eq!(betas, [(50, 64), (50, 64), (50, 64), (70, 90)]);
}

#[test]
fn the_largest_rtt_rises_by_20_ms_a_sample_and_ages_by_a_twentieth() {
    let mut f = flow(100, 100);
    let mut state = State::new(&Params::default(), &f);
    let most = [100, 120, 141, 140, 110].map(|rtt| (state.hear(ms(rtt)), state.rtt_max).1);
    assert_eq!(most, [100, 120, 120, 140, 140]);
    state.open = false;
    state.hear(ms(150));
    state.hear(Duration::from_micros(98_001));
    assert_eq!((state.rtt_min, state.rtt_max), (99, 140), "rounded up, and not learnt in a repair");
    // 41 · 95 / 100 = 38.
    state.reduce(at(&mut f, 1000), Signal::Loss);
    assert_eq!(state.rtt_max, 137);
}

#[test]
fn a_window_grows_by_one_for_an_alphath_of_it_and_an_ack() {
    let grown = |alpha: u64, acks: u64, per: u64| {
        let mut f = flow(100, 100);
        f.ssthresh = packets(2);
        let mut state = htcp(&f);
        for _ in 0..acks {
            // α is looked up anew with every packet.
            state.alpha = alpha * ONE;
            state.on_ack(at(&mut f, 10), &ack(per, 100));
        }
        f.cwnd.get() / 1000 - 100
    };
    // 100 packets counted, and the ACK that grows.
    assert_eq!([100, 101].map(|acks| grown(1, acks, 1)), [0, 1]);
    // Ten packets counted to an ACK of growth, eleven from 101 packets on.
    assert_eq!([10, 11, 22, 23].map(|acks| grown(10, acks, 1)), [0, 1, 1, 2]);
    // Every other ACK grows at most.
    assert_eq!(grown(1000, 100, 1), 50);
    assert_eq!([5, 6].map(|acks| grown(10, acks, 2)), [0, 1]);
}

#[test]
fn time_counts_from_the_end_of_the_repair_and_on_if_it_was_in_vain() {
    let mut f = flow(100, 100);
    let mut state = htcp(&f);
    state.reduce(at(&mut f, 5000), Signal::Loss);
    assert_eq!(state.since, 5000);
    state.recovered(at(&mut f, 5200));
    assert_eq!(state.since, 5200);
    state.recovered(at(&mut f, 5300));
    assert_eq!(state.since, 5200, "once");
    state.reduce(at(&mut f, 9000), Signal::Loss);
    state.undo();
    state.recovered(at(&mut f, 9100));
    assert_eq!(state.since, 5200);
}

#[test]
fn throughput_is_measured_a_window_at_a_time_outside_of_repairs() {
    let f = flow(100, 100);
    let mut state = htcp(&f);
    // 99 packets in 90 ms are too soon, and enough at 100.
    (0..98).for_each(|_| state.measure(100, 1, 90));
    state.measure(100, 1, 90);
    assert_eq!((state.throughput.rate, state.throughput.packets), (0, 99));
    state.measure(100, 1, 100);
    assert_eq!((state.throughput.rate, state.throughput.most, state.throughput.packets), (1000, 1000, 0));
    // Three RTTs after congestion it is averaged: (3 · 1000 + 2000) / 4.
    state.measure(100, 200, 200);
    assert_eq!(state.throughput.most, 2000);
    state.measure(100, 100, 500);
    assert_eq!((state.throughput.rate, state.throughput.most), (1583, 2000));
    state.open = false;
    state.measure(100, 100, 600);
    assert_eq!((state.throughput.packets, state.throughput.from), (0, 600));
    // A growth beyond the window is no measure.
    (state.open, state.alpha) = (true, 101 * ONE);
    state.measure(100, 500, 900);
    assert_eq!(state.throughput.packets, 500);
}
