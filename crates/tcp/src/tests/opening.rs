use super::*;
use crate::pair::{Fate, Pair};
use crate::{Config, Endpoint};
use alloc::boxed::Box;
use alloc::vec::Vec;
use units::Bytes;

#[test]
fn the_handshake_takes_a_round_trip_and_measures_it() {
    let mut p = Pair::new(linux(), |_, _, _| Fate::Pass);
    p.ends[0].write(p.now, 5 * MSS);
    p.run(MS(45));
    let data: Vec<_> = p.sent.iter().filter(|(_, s)| s.len > 0).map(|(at, _)| *at).collect();
    assert_eq!(data, [AT(40); 5]);
    assert_eq!(p.ends[0].flow().srtt, MS(40));
    assert!(p.ends[0].is_established() && !p.ends[0].is_closed());
    p.run(MS(100));
    assert_eq!(p.ends[1].received(), 5 * MSS);
    assert_eq!(p.ends.each_ref().map(|e| e.flow().sent_to), [1 + 5 * MSS, 1], "the SYN counts");
}

#[test]
fn without_handshake_data_leaves_at_once() {
    let mut p = Pair::new(stack(Stack::Ns2), |_, _, _| Fate::Pass);
    p.ends[0].write(p.now, 3 * MSS);
    p.run(MS(30));
    assert_eq!(p.sent.iter().map(|(at, s)| (*at, number(s))).collect::<Vec<_>>(), [(AT(0), 1), (AT(0), 2), (AT(0), 3)]);
    assert_eq!(p.ends[1].received(), 3 * MSS);
}

#[test]
fn lost_syns_are_sent_again_and_leave_a_window_of_one_segment_where_it_was_no_hasty_timeout() {
    // (SYNs lost, when they are sent in ms, the first window): Linux forgives one. FreeBSD's window is one payload, for which its
    // silly-window avoidance keeps more than one segment waiting; its timers have their slop from the second SYN on.
    for (of, lost, sent_at, window) in [
        (Stack::Linux, 0, &[0][..], 10),
        (Stack::Linux, 1, &[0, 1000], 10),
        (Stack::Linux, 2, &[0, 1000, 3000], 1),
        (Stack::Linux, 3, &[0, 1000, 3000, 7000], 1),
        (Stack::FreeBsd11, 0, &[0], 10),
        (Stack::FreeBsd11, 1, &[0, 3000], 1),
        (Stack::FreeBsd11, 2, &[0, 3000, 6200], 1),
        (Stack::FreeBsd11, 6, &[0, 3000, 6200, 9400, 12_600, 15_800, 22_000], 1),
    ] {
        let mut left = lost;
        let mut p = Pair::new(stack(of), move |from, _, s| {
            let drop = from == 0 && s.flags.has(Flags::SYN) && left > 0;
            left -= u32::from(drop);
            if drop { Fate::Drop } else { Fate::Pass }
        });
        p.ends[0].write(p.now, 4 * MSS);
        // FreeBSD's timers may be a sixteenth late.
        let last = *sent_at.last().unwrap();
        let opened = last + if of == Stack::Linux { 0 } else { last / 16 } + 45;
        p.run(MS(opened));
        let syns: Vec<_> = p.sent.iter().filter(|(_, s)| s.flags.has(Flags::SYN)).map(|(at, _)| *at).collect();
        assert_eq!(syns.len(), sent_at.len(), "{of:?}, {lost} lost");
        for (gap, wanted) in syns.windows(2).zip(sent_at.windows(2)) {
            let waits = gap[1].since(gap[0]);
            assert!(may_wait(of, waits, MS(wanted[1] - wanted[0])), "{of:?}, {lost} lost: {syns:?}");
        }
        assert_eq!(p.cwnd(), Bytes::new(window * MSS), "{of:?}, {lost} lost");
        // Both know by the timestamp which SYN was answered.
        assert_eq!(p.ends[0].flow().srtt, MS(40), "{of:?}, {lost} lost");
        let sent = p.sent.iter().filter(|(_, s)| s.len > 0).count();
        assert_eq!(sent, if window > 1 { 4 } else { usize::from(of == Stack::Linux) }, "{of:?}, {lost} lost");
        // A window of one segment is a sliver on FreeBSD: 5 s with a sample, 6.2 s without, and a sixteenth.
        p.run(MS(opened + 5500));
        assert_eq!(p.ends[1].received(), 4 * MSS, "{of:?}, {lost} lost");
    }
}

#[test]
fn without_timestamps_nobody_knows_which_syn_was_answered() {
    // RFC 6298, section 5.7.
    for of in [Stack::Linux, Stack::FreeBsd11] {
        let lost_first = |from, n, _: &Segment| if (from, n) == (0, 0) { Fate::Drop } else { Fate::Pass };
        let mut p = Pair::new(Config { timestamps: false, ..stack(of) }, lost_first);
        p.run(MS(3300));
        assert!(p.ends[0].is_established(), "{of:?}");
        assert_eq!((p.ends[0].flow().srtt, p.ends[0].rto()), (Duration::ZERO, Duration::from_secs(3)), "{of:?}");
    }
}

#[test]
fn freebsd_s_syn_acks_wait_twice_as_long_each_time() {
    // `syncache_timeout`: `tcp_backoff`, not `tcp_syn_backoff`, and no slop.
    let mut p = Pair::new(stack(Stack::FreeBsd11), |from, n, s| {
        if from == 1 || (s.flags.has(Flags::SYN) && n > 0) { Fate::Drop } else { Fate::Pass }
    });
    p.run(Duration::from_secs(25));
    let answers: Vec<_> = p.replied.iter().map(|(at, _)| *at).collect();
    assert_eq!(answers.len(), 4);
    for (gap, seconds) in answers.windows(2).zip([3, 6, 12]) {
        assert!(may_wait(Stack::FreeBsd11, gap[1].since(gap[0]), Duration::from_secs(seconds)), "{answers:?}");
    }
}

#[test]
fn freebsd_s_syn_ack_echoes_the_syn_that_came_last() {
    // `syncache_add` of a SYN that comes again; Linux' `tcp_check_req` keeps the first one's stamp.
    for (of, echoed) in [(Stack::Linux, [5, 5]), (Stack::FreeBsd11, [5, 3005])] {
        let mut build = |_: &mut _| Box::new(crate::pair::Plain::default()) as Box<dyn cc::CongestionControl>;
        let mut end = Endpoint::listen(stack(of), &mut build);
        let answers = [5, 3005].map(|ts_val| {
            let flags = Flags::SYN.with(Flags::TIMESTAMP);
            end.on_segment(AT(ts_val.into()), &Segment { flags, ts_val, window: 1000, ..Segment::default() });
            end.poll_send(AT(ts_val.into())).map(|s| s.ts_ecr)
        });
        assert_eq!(answers, echoed.map(Some), "{of:?}");
    }
}

#[test]
fn a_lost_syn_ack_and_a_lost_ack_of_it_are_repaired() {
    for lost in [(1, 0), (0, 1)] {
        let mut p = Pair::new(linux(), move |from, n, _| if (from, n) == lost { Fate::Drop } else { Fate::Pass });
        // The passive end speaks first, so only the ACK of its SYN-ACK opens it.
        p.ends[1].write(p.now, 3 * MSS);
        p.run(MS(3000));
        assert_eq!(p.ends[0].received(), 3 * MSS, "lost {lost:?}");
    }
}

#[test]
fn both_directions_carry_data_and_close() {
    for lost_fins in [0, 1, 2] {
        let mut lost = 0;
        let mut p = Pair::new(linux(), move |_, _, s| {
            if s.flags.has(Flags::FIN) && lost < lost_fins {
                lost += 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
        p.ends[0].write(p.now, 40 * MSS + 123);
        p.ends[1].write(p.now, 70 * MSS + 7);
        p.ends[0].close(p.now);
        p.run(MS(500));
        assert!(!p.ends[1].is_closed(), "half closed");
        p.ends[1].close(p.now);
        p.run(MS(5000));
        assert_eq!((p.ends[1].received(), p.ends[0].received()), (40 * MSS + 123, 70 * MSS + 7));
        assert_eq!((p.ends[0].acked(), p.ends[1].acked()), (40 * MSS + 123, 70 * MSS + 7));
        assert!(p.ends.iter().all(|e| e.is_closed()), "lost {lost_fins}");
        assert_eq!(p.ends[0].next_timer().min(p.ends[1].next_timer()), Instant::MAX, "nothing left to happen");
    }
}

#[test]
fn timestamps_and_ecn_need_both_ends() {
    let plain = || Box::new(crate::pair::Plain::default());
    for (ours, theirs) in [(true, true), (true, false), (false, true)] {
        let a = Config { timestamps: ours, ecn: ours, ..linux() };
        let b = Config { timestamps: theirs, ecn: theirs, ..linux() };
        let mut p = Pair::with(a, b, &mut |_| plain(), |_, _, _| Fate::Pass);
        p.transfer(20 * MSS);
        let both = ours && theirs;
        for (_, s) in p.sent.iter().filter(|(_, s)| s.len > 0) {
            assert_eq!((s.flags.has(Flags::TIMESTAMP), s.ecn), if both { (true, 2) } else { (false, 0) });
        }
    }
}

#[test]
fn a_syn_sent_again_asks_for_ecn_no_more_and_both_ends_know() {
    // RFC 3168, section 6.1.1.1: Linux' `tcp_ecn_clear_syn`, FreeBSD's `tcp_ecn_maxretries`. A SYN-ACK sent again answers the SYN
    // that came first. (SYNs lost, SYN-ACKs lost, which SYNs ask, ECN)
    for (of, syns, answers, asks, ecn) in [
        (Stack::Linux, 0, 0, &[true][..], true),
        (Stack::Linux, 1, 0, &[true, false], false),
        (Stack::Linux, 0, 1, &[true, false], true),
        (Stack::FreeBsd11, 1, 0, &[true, true], true),
        (Stack::FreeBsd11, 2, 0, &[true, true, false], false),
    ] {
        let mut left = [syns, answers];
        let mut p = Pair::new(Config { ecn: true, ..stack(of) }, move |from, _, s| {
            let drop = s.flags.has(Flags::SYN) && left[from] > 0;
            left[from] -= u32::from(drop);
            if drop { Fate::Drop } else { Fate::Pass }
        });
        p.transfer(3 * MSS);
        let asked = p.sent.iter().filter(|(_, s)| s.flags.has(Flags::SYN)).map(|(_, s)| s.flags.has(Flags::ECE));
        let asked: Vec<_> = asked.take(asks.len()).collect();
        let used = p.sent.iter().filter(|(_, s)| s.len > 0).all(|(_, s)| (s.ecn == 2) == ecn);
        let on = p.ends.each_ref().map(|e| (e.sender.ecn.on, e.receiver.ecn.on));
        assert_eq!((asked.as_slice(), used, on), (asks, true, [(ecn, ecn); 2]), "{of:?} {syns} {answers}");
    }
}

#[test]
fn an_endpoint_is_small() {
    // A thousand flows of two ends each stay well inside a cache of a few megabytes.
    assert!(size_of::<Endpoint>() <= 1200, "{} bytes", size_of::<Endpoint>());
    assert!(size_of::<Segment>() <= 64, "{} bytes: a cache line", size_of::<Segment>());
}

#[test]
fn after_a_lost_syn_linux_has_an_rtt_by_its_timestamp() {
    // The first SYN and the first segment are lost: it leaves again 40 + 200 ms later, or by the probe a second and 200 ms later.
    for (timestamps, again) in [(true, 1280), (false, 2240)] {
        let mut lost = false;
        let mut p = Pair::new(Config { timestamps, ..linux() }, move |from, n, s| {
            let first = number(s) == 1 && !core::mem::replace(&mut lost, true);
            if from == 0 && (n == 0 || first) { Fate::Drop } else { Fate::Pass }
        });
        p.ends[0].write(p.now, MSS);
        p.run(MS(4000));
        assert_eq!(p.sent.iter().filter(|(_, s)| s.len > 0).nth(1).unwrap().0, AT(again), "{timestamps}");
    }
}

#[test]
fn only_what_fits_the_state_opens_a_connection() {
    // RFC 9293, sections 3.10.7.2 to 3.10.7.4, without the resets. (who, arrivals as flags and ACK number, answers)
    const BOTH: Flags = Flags::SYN.with(Flags::ACK);
    type Arrivals<'a> = &'a [(Flags, u64)];
    let cases: [(bool, Arrivals<'_>, &[Flags], bool); 13] = [
        (false, &[(Flags::ACK, 0)], &[], false),
        (false, &[(Flags::ACK, 1)], &[], false),
        (false, &[(BOTH, 1)], &[], false),
        (false, &[(Flags::SYN, 0)], &[BOTH], false),
        (false, &[(Flags::SYN, 0), (Flags::SYN, 0)], &[BOTH, BOTH], false),
        (false, &[(Flags::SYN, 0), (BOTH, 1)], &[BOTH], false),
        (false, &[(Flags::SYN, 0), (Flags::ACK, 0)], &[BOTH], false),
        (false, &[(Flags::SYN, 0), (Flags::ACK, 1)], &[BOTH], true),
        (true, &[(Flags::SYN, 0)], &[Flags::SYN], false),
        (true, &[(Flags::ACK, 1)], &[Flags::SYN], false),
        (true, &[(BOTH, 0)], &[Flags::SYN], false),
        (true, &[(BOTH, 2)], &[Flags::SYN], false),
        (true, &[(BOTH, 1)], &[Flags::SYN, Flags::ACK], true),
    ];
    for (active, arrivals, answers, open) in cases {
        let config = Config { timestamps: false, ..linux() };
        let mut build = |_: &mut _| Box::new(crate::pair::Plain::default()) as Box<dyn cc::CongestionControl>;
        let mut end = if active { Endpoint::connect(config, &mut build) } else { Endpoint::listen(config, &mut build) };
        let mut left: Vec<Flags> = end.poll_send(AT(1)).map(|s| s.flags).into_iter().collect();
        for (flags, ack) in arrivals {
            let seq = u64::from(!flags.has(Flags::SYN));
            let s = Segment { seq, ack: *ack, flags: *flags, window: 1000, ..Segment::default() };
            end.on_segment(AT(2), &s);
            left.extend(core::iter::from_fn(|| end.poll_send(AT(2))).map(|s| s.flags));
        }
        assert_eq!((left.as_slice(), end.is_established()), (answers, open), "{active} {arrivals:?}");
    }
}
