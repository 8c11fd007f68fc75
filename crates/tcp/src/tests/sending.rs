use super::alone::Alone;
use super::*;
use crate::pair::{Fate, Pair, Plain};
use crate::{Config, DelayedAck, Offload};
use alloc::boxed::Box;
use alloc::vec::Vec;
use cc::{CauseKind, Flow};
use units::{Bytes, Rate};

/// A pair whose first end starts with `set` and a window that stays.
fn fixed<'a>(config: Config, set: impl Fn(&mut Flow) + 'a) -> Pair<'a> {
    Pair::with(
        config.clone(),
        config,
        &mut |flow| {
            set(flow);
            Box::new(Plain { fixed: true })
        },
        |_, _, _| Fate::Pass,
    )
}

fn times(p: &Pair<'_>) -> Vec<u64> {
    p.sent.iter().filter(|(_, s)| s.len > 0).map(|(at, _)| at.as_nanos() / 1000).collect()
}

#[test]
fn the_initial_window_is_what_was_asked_for() {
    for window in 1..=10 {
        let mut p = Pair::new(Config { initial_window: window, ..linux() }, |_, _, _| Fate::Pass);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(50));
        assert_eq!(times(&p).len(), window as usize);
    }
}

#[test]
fn slow_start_doubles_with_and_without_delayed_acks() {
    for delayed_ack in [DelayedAck::None, DelayedAck::Linux, DelayedAck::EverySecond { timeout: MS(100) }] {
        let mut p = Pair::new(Config { delayed_ack, ..linux() }, |_, _, _| Fate::Pass);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(150));
        // Windows of 10, 20 and 40 leave at 40, 80 and 120 ms.
        assert_eq!(p.cwnd(), Bytes::new(40 * MSS), "{delayed_ack:?}");
        assert_eq!(times(&p).len(), 70);
    }
}

#[test]
fn pacing_spaces_segments_by_size_over_rate_but_for_linux_first_ten_and_its_late_ones() {
    // `tcp_update_skb_after_send`. Fourteen segments, and four more twenty milliseconds later. (not paced, µs to the second of the
    // latter)
    for (of, free, second) in [(Stack::Linux, 9, 500), (Stack::Ns2, 0, 1000)] {
        let set = |f: &mut Flow| (f.pacing, f.cwnd) = (Some(Rate::from_mbps(8.0)), Bytes::new(100 * MSS));
        let mut p = fixed(Config { handshake: true, ..stack(of) }, set);
        p.ends[0].write(p.now, 14 * MSS);
        p.run(MS(75));
        p.ends[0].write(p.now, 4 * MSS);
        p.run(MS(500));
        let first = (0..14).map(|n: u64| 40_000 + n.saturating_sub(free) * 1000);
        let then = [0, second, second + 1000, second + 2000].map(|after| 75_000 + after);
        assert_eq!(times(&p), first.chain(then).collect::<Vec<_>>(), "{of:?}");
    }
}

#[test]
fn what_left_late_shortens_the_wait_for_the_next_by_half_at_most() {
    // `tcp_update_skb_after_send`, where a burst is one packet. At a segment a millisecond. (segments of the burst, µs since it was
    // due, since the last left, µs to the next)
    for (burst, late, idle, wait) in [
        (1, 0, 1000, 1000),
        (1, 300, 1300, 700),
        (1, 500, 1500, 500),
        (1, 800, 1800, 500),
        (1, 500_000, 200, 800), // the last was not paced
        (3, 400, 1400, 2600),
        (3, 700, 1700, 2300),
        (3, 2000, 3000, 1500),
    ] {
        let mut a = Alone::new(linux(), 12);
        let ago = |us| AT(1039) - Duration::from_micros(us);
        a.now += MS(39);
        let s = &mut a.end.sender;
        (s.config.offload, s.ways.bursts) = (Offload::Burst(burst), burst > 1);
        (s.pace_next, s.last_sent) = (ago(late), ago(idle));
        s.flow.pacing = Some(Rate::from_mbps(8.0));
        (s.flow.cwnd, s.asleep) = (Bytes::new((12 + u64::from(burst)) * MSS), false);
        assert_eq!(a.leaving().len(), burst as usize, "{burst} {late}");
        let waits = a.end.sender.pace_next.since(a.now);
        assert_eq!(waits, Duration::from_micros(wait), "{burst} {late}");
    }
}

#[test]
fn fq_lets_ten_go_then_two_for_the_time_that_two_frames_take() {
    for (timestamps, headers) in [(true, 14 + 52), (false, 14 + 40)] {
        let set = |f: &mut Flow| (f.pacing, f.cwnd) = (Some(Rate::from_mbps(8.0)), Bytes::new(100 * MSS));
        let mut p = fixed(Config { pacing_quantum: 2, timestamps, ..linux() }, set);
        p.ends[0].write(p.now, 16 * MSS);
        p.run(MS(60));
        let pair = 2 * (MSS + headers);
        let want: Vec<u64> = (0..16).map(|n: u64| 40_000 + n.saturating_sub(8) / 2 * pair).collect();
        assert_eq!(times(&p), want);
        // What leaves late is not made up for: the next pair is counted from then.
        p.ends[0].write(p.now, 4 * MSS);
        p.run(MS(100));
        assert_eq!(times(&p)[16..], [60_000, 60_000, 60_000 + pair, 60_000 + pair]);
    }
}

#[test]
fn bursts_under_fq_keep_the_rate() {
    // 8 Mbit/s of frames of 1066 bytes, ten of which are free: `fq_dequeue` waits for all that a burst has.
    for offload in [Offload::Off, Offload::Burst(2), Offload::Burst(3), Offload::Burst(5), Offload::Auto] {
        let set = |f: &mut Flow| (f.pacing, f.cwnd) = (Some(Rate::from_mbps(8.0)), Bytes::new(100 * MSS));
        let mut p = fixed(Config { pacing_quantum: 2, offload, delayed_ack: DelayedAck::None, ..linux() }, set);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(1040));
        assert!((945..=953).contains(&times(&p).len()), "{offload:?}: {}", times(&p).len());
    }
}

#[test]
fn a_window_below_one_segment_sends_one_in_several_round_trips() {
    // A quarter of a segment: one in four round trips of 40 ms, not sooner although each is acknowledged after one.
    let config = Config { delayed_ack: DelayedAck::None, ..linux() };
    let mut p = fixed(config, |f| (f.cwnd, f.floor) = (Bytes::new(MSS / 4), Bytes::new(10)));
    p.ends[0].write(p.now, 4 * MSS);
    p.run(MS(1000));
    assert_eq!(times(&p), [40_000, 200_000, 360_000, 520_000]);
}

#[test]
fn freebsd_holds_a_window_below_one_segment_back_until_the_persist_timer() {
    // As much as the window takes, five seconds after the handshake and after each acknowledgement (a round trip, a
    // delayed ACK), however long the queue of data; each timer may be a sixteenth late.
    let config = Config { receive_window: Bytes::new(5 * MSS), ..stack(Stack::FreeBsd11) };
    let mut p = fixed(config, |f| (f.cwnd, f.floor) = (Bytes::new(600), Bytes::new(1)));
    p.ends[0].write(p.now, 4 * MSS);
    p.run(MS(16_500));
    let sent: Vec<_> = p.sent.iter().filter(|(_, s)| s.len > 0).map(|(at, s)| (*at, s.len)).collect();
    let told: Vec<_> = p.ends[0].flow_mut().drain_events().map(|e| (e.cause(), e.time, e.values)).collect();
    assert_eq!((sent.len(), told[0].1), (3, MS(40).as_nanos()));
    for ((at, len), (cause, told, values)) in sent.into_iter().zip(told) {
        assert_eq!((cause, values), (Some(CauseKind::Persist), [600, 5_000_000_000, 0, 0, 0, 0, 0, 0]));
        let waits = at.since(Instant::from_nanos(told));
        assert!(len == 600 && may_wait(Stack::FreeBsd11, waits, MS(5000)), "{waits:?}");
    }
    // What is left of the stream leaves at once if the window takes it (`len + off >= sbavail`).
    for (written, sent) in [(500, &[40_000][..]), (600, &[40_000]), (601, &[])] {
        let mut p = fixed(stack(Stack::FreeBsd11), |f| (f.cwnd, f.floor) = (Bytes::new(600), Bytes::new(1)));
        p.ends[0].write(p.now, written);
        p.run(MS(1000));
        assert_eq!(times(&p), sent, "{written}");
    }
}

#[test]
fn offload_holds_segments_back_until_a_burst_may_go() {
    let config = Config { offload: Offload::Burst(8), delayed_ack: DelayedAck::None, ..linux() };
    let mut p = fixed(config, |f| f.cwnd = Bytes::new(24 * MSS));
    p.service = Duration::from_micros(500);
    p.ends[0].write(p.now, 400 * MSS);
    p.run(MS(400));
    let mut bursts: Vec<usize> = Vec::new();
    let mut last = 0;
    for at in times(&p) {
        match bursts.last_mut() {
            Some(n) if at == last => *n += 1,
            _ => bursts.push(1),
        }
        last = at;
    }
    assert!(bursts[1..bursts.len() - 1].iter().all(|n| *n == 8), "{bursts:?}");
    assert!(p.ends[1].received() > 180 * MSS, "the window is used: {}", p.ends[1].received());
}

#[test]
fn a_burst_of_linux_is_a_millisecond_of_its_pacing_rate_and_more_on_short_paths() {
    // (window, smoothed and smallest RTT in ms, threshold in windows, rate of its own in Mbit/s): segments of 1000 bytes.
    for (window, srtt, min_rtt, threshold, own, segments) in [
        (20, 40, 40, 9, None, 2),       // 1 MB/s and so 976 bytes: never less than two
        (200, 40, 40, 9, None, 9),      // 10 MB/s, in slow start
        (200, 40, 40, 2, None, 5),      // from half of the threshold on 1.2 windows a round trip
        (9000, 40, 40, 9, None, 65),    // 64 KB less headers
        (20, 40, 1, 9, None, 33),       // and half of 64 KB, from 512 µs on
        (20, 40, 2, 9, None, 9),        // an eighth, from 1536 µs on
        (20, 40, 40, 9, Some(80.0), 9), // an algorithm's rate
        (20, 40, 40, 9, Some(1.1), 1),  // below 1.2 Mbit/s
        (20, 40, 40, 9, Some(1.3), 2),
        (20, 0, 0, 9, None, 65), // nothing measured
    ] {
        let mut p = fixed(Config { offload: Offload::Auto, ..linux() }, |_| {});
        let sender = &mut p.ends[0].sender;
        (sender.flow.cwnd, sender.flow.ssthresh) = (Bytes::new(window * MSS), Bytes::new(window * MSS * threshold));
        (sender.flow.srtt, sender.flow.min_rtt) = (MS(srtt), MS(min_rtt));
        sender.flow.pacing = own.map(Rate::from_mbps);
        assert_eq!(sender.auto_burst(), segments, "{window}, {srtt} ms, {min_rtt} ms, {threshold}, {own:?}");
    }
}

#[test]
fn what_waits_for_a_burst_waits_for_the_window_and_so_grows_it() {
    // Above the threshold, over a path of 20 ms that the window fills: a segment a round trip, whatever the bursts.
    for offload in [Offload::Off, Offload::Auto, Offload::Burst(4), Offload::Burst(16), Offload::Burst(44)] {
        let mut p = Pair::new(Config { offload, ..linux() }, |_, _, _| Fate::Pass);
        (p.service, p.delay) = (Duration::from_micros(120), MS(10));
        let start = Bytes::new(170 * MSS);
        (p.ends[0].flow_mut().cwnd, p.ends[0].flow_mut().ssthresh) = (start, start);
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(4000));
        assert!(p.cwnd() >= Bytes::new(300 * MSS), "{offload:?}: {:?}", p.cwnd());
    }
}

/// Lengths of the bursts of a flow whose window stays.
fn bursts(p: &mut Pair<'_>) -> Vec<usize> {
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(1000));
    let times = times(p);
    times[500..].chunk_by(|a, b| a == b).skip(1).map(|burst| burst.len()).collect()
}

#[test]
fn linux_waits_for_a_burst_only_within_a_millisecond() {
    // A hundred segments that fill the path: 1.2 times 2.5 MB/s, so that bursts are of two, or less.
    for (service, length) in [(400, 2), (1100, 1)] {
        let config = Config { offload: Offload::Auto, delayed_ack: DelayedAck::None, ..linux() };
        let mut p = fixed(config, |f| (f.cwnd, f.ssthresh) = (Bytes::new(100 * MSS), Bytes::new(50 * MSS)));
        p.service = Duration::from_micros(service);
        p.delay = MS(10);
        let bursts = bursts(&mut p);
        assert!(bursts[..bursts.len() - 1].iter().all(|n| *n == length), "{service} µs: {bursts:?}");
    }
}

#[test]
fn what_the_application_does_not_use_does_not_grow() {
    let mut p = Pair::new(linux(), |_, _, _| Fate::Pass);
    p.run(MS(50));
    for _ in 0..40 {
        p.ends[0].write(p.now, 3 * MSS);
        p.run(p.now.since(Instant::ZERO) + MS(60));
        assert!(p.ends[0].flow().app_limited);
    }
    assert_eq!(p.cwnd(), Bytes::new(10 * MSS), "three segments a round never filled half of ten");
    p.ends[0].write(p.now, 2000 * MSS);
    p.run(p.now.since(Instant::ZERO) + MS(200));
    assert!(p.cwnd() > Bytes::new(40 * MSS));
    assert!(!p.ends[0].flow().app_limited);
}

#[test]
fn the_peers_window_limits_without_growth() {
    let config = Config { receive_window: Bytes::new(8 * MSS), ..linux() };
    let mut p = Pair::new(config, |_, _, _| Fate::Pass);
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(2000));
    let most = p.ends[0].flow().in_flight;
    assert_eq!(most, Bytes::new(8 * MSS));
    assert!(p.cwnd() <= Bytes::new(16 * MSS), "{:?}", p.cwnd());
}

#[test]
fn after_a_second_of_silence_linux_halves_the_window_for_every_timeout() {
    // Pacing by the host changes nothing about it; algorithms with a rate of their own keep their window.
    for pacing in [false, true] {
        let mut p = Pair::new(Config { pacing, ..linux() }, |_, _, _| Fate::Pass);
        p.ends[0].write(p.now, 600 * MSS);
        p.run(MS(1000));
        let (before, rto) = (p.cwnd(), p.ends[0].rto());
        assert!(before >= Bytes::new(150 * MSS), "{before:?}");
        let last = p.sent.iter().rev().find(|(_, s)| s.len > 0).unwrap().0;
        p.ends[0].write(p.now, MSS);
        p.run(MS(1001));
        let idle = AT(1000).since(last).as_nanos() / rto.as_nanos();
        assert_eq!(p.cwnd(), Bytes::new(before.get() >> idle).max(Bytes::new(10 * MSS)));
        assert!(p.ends[0].flow_mut().drain_events().any(|e| e.cause() == Some(CauseKind::IdleRestart)));
    }
}

#[test]
fn the_pacing_rate_follows_a_window_whose_repair_has_no_rtt_to_measure() {
    // Everything from the 21st segment on is lost once, so that a timeout and then slow start repair it; without
    // timestamps none of that gives a sample (Karn).
    let config = Config { pacing: true, timestamps: false, ..linux() };
    let mut lost = [false; 200];
    let mut p = Pair::new(config, move |from, _, s| {
        let n = number(s) as usize;
        if from == 0 && n > 20 && !core::mem::replace(&mut lost[n], true) { Fate::Drop } else { Fate::Pass }
    });
    p.ends[0].write(p.now, 100 * MSS);
    let mut seen = 0;
    for _ in 0..600 {
        p.run(p.now.since(Instant::ZERO) + MS(5));
        let flow = p.ends[0].flow();
        if flow.phase == cc::Phase::Loss && flow.cwnd >= Bytes::new(4 * MSS) {
            seen += 1;
            let percent = if flow.cwnd < flow.ssthresh / 2 { 200 } else { 120 };
            assert_eq!(flow.pacing, Some(flow.cwnd * percent / 100 / flow.srtt));
        }
    }
    assert!(seen > 5, "{seen}");
}

#[test]
fn freebsd_forgets_its_window_in_silence_but_not_while_the_other_side_speaks() {
    // (host, when the other side sends, window and threshold after a second) in segments: forty and twenty before.
    for (of, spoken, window, threshold) in [
        (Stack::Linux, None, 10, 30),
        (Stack::Linux, Some(1990), 10, 30),
        (Stack::FreeBsd11, None, 4, 20),
        (Stack::FreeBsd11, Some(1700), 4, 20),
        (Stack::FreeBsd11, Some(1990), 40, 20),
    ] {
        let mut p = Pair::fixed(stack(of), |_, _, _| Fate::Pass);
        p.ends[0].write(p.now, 40 * MSS);
        p.run(MS(1000));
        p.ends[0].flow_mut().cwnd = Bytes::new(40 * MSS);
        p.ends[0].flow_mut().ssthresh = Bytes::new(20 * MSS);
        if let Some(at) = spoken {
            p.run(MS(at));
            p.ends[1].write(p.now, MSS);
        }
        p.run(MS(2020));
        p.ends[0].write(p.now, MSS);
        p.run(MS(2021));
        let flow = p.ends[0].flow();
        assert_eq!((flow.cwnd.get() / MSS, flow.ssthresh.get() / MSS), (window, threshold), "{of:?}, {spoken:?}");
    }
}

#[test]
fn a_window_of_zero_growth_keeps_the_pipe_at_the_window() {
    // In flight never exceeds the window and comes back to it after every ACK.
    let mut p = fixed(linux(), |f| f.cwnd = Bytes::new(20 * MSS));
    p.service = MS(1);
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(2000));
    assert_eq!(p.ends[0].flow().in_flight, Bytes::new(20 * MSS));
    let rate = p.ends[1].received() as f64 / 1.94;
    assert!((rate / (20.0 * MSS as f64 / 0.041) - 1.0).abs() < 0.02, "{rate} bytes per second");
}

#[test]
fn freebsd_waits_for_room_for_a_segment_with_its_options() {
    // `t_maxseg` is 1460, a segment carries 1448: the tenth of an initial window of ten has 1448 bytes and waits, unless
    // they are the last that was written.
    let lens = |written, until| {
        let mut p = Pair::new(Config::of(Stack::FreeBsd11), |_, _, _| Fate::Pass);
        p.ends[0].write(p.now, written);
        p.run(MS(until));
        p.sent.iter().filter(|(_, s)| s.len > 0).map(|(_, s)| s.len).collect::<Vec<_>>()
    };
    assert_eq!(lens(crate::ENDLESS, 79), [1448; 9]);
    assert_eq!(lens(9 * 1448 + 500, 79), [1448, 1448, 1448, 1448, 1448, 1448, 1448, 1448, 1448, 500]);
}

#[test]
fn a_write_pushed_on_its_own_shares_no_segment() {
    let mut p = Pair::new(Config::of(Stack::FreeBsd11), |_, _, _| Fate::Pass);
    p.ends[0].write(p.now, 24);
    p.ends[0].push();
    p.ends[0].write(p.now, crate::ENDLESS);
    p.run(MS(79));
    // iperf 2 on FreeBSD 11: its header, nine segments, and 1424 bytes of the window left.
    let lens: Vec<_> = p.sent.iter().filter(|(_, s)| s.len > 0).map(|(_, s)| s.len).collect();
    assert_eq!(lens, [24, 1448, 1448, 1448, 1448, 1448, 1448, 1448, 1448, 1448]);
}

#[test]
fn linux_paces_at_twice_the_window_until_half_of_the_threshold() {
    // 20 segments over 40 ms; the threshold in segments, and the rate in segments a second.
    for (threshold, rate) in [(u64::MAX / MSS, 1000), (41, 1000), (40, 600), (20, 600)] {
        let mut p = fixed(Config { pacing: true, ..linux() }, |f| {
            (f.cwnd, f.ssthresh) = (Bytes::new(20 * MSS), Bytes::new(threshold * MSS));
        });
        p.ends[0].write(p.now, crate::ENDLESS);
        p.run(MS(1000));
        let pacing = p.ends[0].flow().pacing.unwrap().bytes_per_sec() / MSS as f64;
        let srtt = p.ends[0].flow().srtt.as_secs_f64();
        assert!((pacing * srtt / 0.04 - rate as f64).abs() < 1.0, "{threshold}: {pacing} at {srtt}");
    }
}

#[test]
fn a_second_push_keeps_what_waits_behind_the_first() {
    let mut p = fixed(linux(), |f| f.cwnd = Bytes::new(10 * MSS));
    for bytes in [24, 500, 700] {
        p.ends[0].write(p.now, bytes);
        p.ends[0].push();
    }
    p.run(MS(1000));
    let sent: Vec<u32> = p.sent.iter().map(|(_, s)| s.len).filter(|len| *len > 0).collect();
    assert_eq!((p.ends[1].received(), &sent[..]), (1224, &[24, 1000, 200][..]), "one border stands");
}
