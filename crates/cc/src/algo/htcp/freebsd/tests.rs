use super::*;
use crate::CauseKind;
use crate::testing::{ack, flow, ms, packets};
use units::{Duration, Instant};

fn htcp(cwnd: u64, adaptive: bool, rtt_scaling: bool) -> (State, Flow) {
    let mut f = flow(cwnd, 40);
    let mut state = State::new(&Params::default(), &mut f);
    (state.adaptive, state.rtt_scaling) = (adaptive, rtt_scaling);
    f.ssthresh = packets(2);
    (state, f)
}

fn extremes(state: &mut State, least: u64, most: u64) {
    (state.rtt_min, state.rtt_max) = (32 * least as i64, 32 * most as i64);
}

#[test]
fn alpha_is_quadratic_with_a_factor_in_whole_seconds() {
    // 11.25 after a second, 57.25 after five, 69.99 after almost six, 126 after ten.
    assert_eq!([1, 1000, 5000, 5999, 10_000].map(segments_per_round), [1, 11, 57, 68, 126]);
}

#[test]
fn a_window_acknowledged_adds_alpha_segments_at_once() {
    let (mut state, mut f) = htcp(20, false, false);
    let mut windows = std::vec::Vec::new();
    for window in [20, 21, 22] {
        // In the first second Reno's; at 6 s 57 segments.
        f.now = if window == 22 { Instant::from_millis(6000) } else { Instant::from_millis(1000) };
        (0..window).for_each(|_| state.on_ack(&mut f, &ack(1, 40)));
        windows.push(f.cwnd.get() / 1000);
    }
    assert_eq!(windows, [21, 22, 79]);
    f.ssthresh = f.cwnd;
    state.on_ack(&mut f, &ack(1, 40));
    assert_eq!(f.cwnd, packets(80), "slow start at the threshold");
}

#[test]
fn scaling_and_the_adaptive_growth_are_asked_for() {
    let alpha = |adaptive, scaling, beta, rtt| {
        let (mut state, mut f) = htcp(20, adaptive, scaling);
        (f.now, f.srtt, state.beta) = (Instant::from_millis(6000), ms(rtt), beta);
        state.update_alpha(&f);
        state.alpha
    };
    assert_eq!(alpha(false, false, 204, 40), 57);
    // 2 · 52/256 of 57; 102/256 of 57; a tenth and two at the ends.
    assert_eq!(alpha(true, false, 204, 40), 23);
    assert_eq!([2, 40, 100, 1000].map(|rtt| alpha(false, true, 128, rtt)), [5, 22, 57, 114]);
}

#[test]
fn it_halves_and_with_the_adaptive_beta_a_bracket_leaves_four_fifths() {
    let leaves = |adaptive, most| {
        let (mut state, f) = htcp(100, adaptive, false);
        extremes(&mut state, 40, most);
        state.reduce(&f, Signal::Loss).get()
    };
    assert_eq!(
        [(false, 80), (true, 42), (true, 80), (true, 92)].map(|(a, most)| leaves(a, most)),
        [50_000, 79_687, 79_687, 79_687]
    );
    // 2.5 times 1280: (1280 + 95·1920)/100 = 1836, and 178/256 stay. 3.2 times: 2688, and 121/256 are below the least.
    assert_eq!([100, 128].map(|most| leaves(true, most)), [69_531, 50_000]);
}

#[test]
fn the_first_congestion_halves() {
    let (mut state, mut f) = htcp(100, true, false);
    extremes(&mut state, 40, 42);
    f.ssthresh = Bytes::MAX;
    assert_eq!(state.reduce(&f, Signal::Loss), packets(50));
}

#[test]
fn extremes_are_of_the_smoothed_rtt_from_the_eighth_sample_on() {
    let (mut state, mut f) = htcp(10, true, false);
    f.cwnd_limited = false;
    let seen = [1, 2, 3, 4, 5, 6, 7, 40, 50, 45].map(|rtt| {
        f.srtt = Duration::from_millis(rtt);
        state.on_ack(&mut f, &ack(1, rtt));
        (state.rtt_min, state.rtt_max)
    });
    assert_eq!(seen[6..], [(0, 0), (1280, 1280), (1280, 1600), (1280, 1600)]);
}

#[test]
fn time_counts_from_congestion_and_from_a_second_timeout() {
    let (mut state, mut f) = htcp(100, false, false);
    let mut since = |state: &mut State, at, signal| {
        f.now = Instant::from_millis(at);
        state.reduce(&f, signal);
        state.since
    };
    assert_eq!(since(&mut state, 1000, Signal::Loss), 1000);
    assert_eq!(since(&mut state, 2000, Signal::Timeout), 1000);
    assert_eq!(since(&mut state, 2500, Signal::Timeout), 2500);
    assert_eq!(since(&mut state, 3000, Signal::Ecn), 3000);
}

#[test]
fn a_repair_leaves_beta_of_the_window_before_it_or_what_is_in_flight() {
    for (in_flight, leaves, told) in [(60, 50, false), (20, 21, true)] {
        let (mut state, mut f) = htcp(100, false, false);
        let to = state.reduce(&f, Signal::Loss);
        (f.cwnd, f.ssthresh, f.in_flight) = (to, to, packets(in_flight));
        state.recovered(&mut f);
        assert_eq!(f.cwnd, packets(leaves));
        assert_eq!(f.drain_events().next().and_then(|e| e.cause()), told.then_some(CauseKind::RecoveryExit));
    }
    let (mut state, mut f) = htcp(100, false, false);
    let to = state.reduce(&f, Signal::Ecn);
    f.cwnd = to;
    state.recovered(&mut f);
    assert_eq!(f.cwnd, packets(50), "nothing is set where nothing was repaired");
}
