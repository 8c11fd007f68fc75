//! What one episode leaves to the next, and what the other side and the algorithm learn of it.

use super::algorithm::{Script, lose, script};
use super::*;
use crate::pair::Fate;
use alloc::boxed::Box;
use alloc::vec::Vec;
use cc::{CauseKind, How, Phase, Reaction, Signal};
use units::Bytes;

/// The causes of what happened to the first end's window.
fn causes(p: &mut crate::pair::Pair<'_>) -> Vec<CauseKind> {
    p.ends[0].flow_mut().drain_events().filter_map(|e| e.cause()).collect()
}

#[test]
fn silence_after_a_repair_restarts_the_window_whoever_owned_it_then() {
    // FreeBSD's four segments count with their options.
    for (of, restart) in [(Stack::Linux, 10 * MSS), (Stack::FreeBsd11, 4 * (MSS + 12))] {
        let (_, mut p) = script(stack(of), 40, |s| s.reaction = Reaction::Own, lose(&[5]));
        p.ends[0].write(p.now, 100 * MSS);
        p.run(MS(5000));
        assert_eq!((p.cwnd(), p.ends[0].stats().recoveries), (Bytes::new(40 * MSS), 1), "{of:?}");
        p.ends[0].write(p.now, MSS);
        p.run(MS(5010));
        assert_eq!(p.cwnd(), Bytes::new(restart), "{of:?}");
        assert_eq!(causes(&mut p), [CauseKind::IdleRestart]);
    }
}

#[test]
fn a_tail_probe_that_shows_a_loss_is_answered_once() {
    // (lost, causes): with 9 and 10 the probe, 10 again, tells of 9; with 10 alone it repairs the loss itself.
    for (lost, sent_again) in [(&[9, 10][..], 2), (&[10], 1)] {
        let (told, mut p) = script(linux(), 10, |_| {}, lose(lost));
        p.ends[0].write(p.now, 10 * MSS);
        p.run(MS(420));
        p.ends[0].write(p.now, 4 * MSS);
        p.run(MS(700));
        let s = p.ends[0].stats();
        assert_eq!((s.tail_probes, s.retransmissions, s.timeouts), (1, sent_again, 0), "{lost:?}");
        assert_eq!(told.lock().unwrap().congestion, [(Signal::Loss, Phase::Open)], "{lost:?}");
        let told: Vec<_> = p.ends[0].flow_mut().drain_events().map(|e| (e.cause(), e.values[0])).collect();
        assert_eq!(
            (p.cwnd(), told),
            (Bytes::new(5 * MSS), [(Some(CauseKind::LossBackoff), 1000)].to_vec()),
            "{lost:?}"
        );
    }
}

#[test]
fn losses_inside_a_reduction_are_one_congestion_but_after_a_back_off_by_delay_where_it_is_not_linux() {
    let prr = |of| Config { loss: LossDetection::RackTlp, ..stack(of) };
    let (loss, mark) = ((Signal::Loss, Phase::Reduced), (Signal::Ecn, Phase::Open));
    // (host, what it is told of a mark and a loss, and of a back-off by delay and a loss)
    for (config, marked, delayed) in [
        (linux(), &[mark][..], &[][..]),
        (with_loss(LossDetection::Sack), &[mark], &[]),
        (stack(Stack::Ns2), &[mark], &[loss]),
        (stack(Stack::FreeBsd11), &[mark], &[loss]),
        (prr(Stack::FreeBsd11), &[mark], &[loss]),
    ] {
        for (marks, expected) in [(true, marked), (false, delayed)] {
            let config = Config { ecn: true, ..config.clone() };
            let which = (config.stack, config.loss, marks);
            let at = if config.handshake { 109 } else { 69 };
            let mut drop = lose(&[36]);
            // With number 30 comes the mark, or at about its time the delay.
            let change = |s: &mut Script| s.back_off = (!marks).then_some((AT(at), How::Prr));
            let (told, mut p) = script(config, 40, change, move |from, n, s| {
                if marks && from == 0 && number(s) == 30 { Fate::Mark } else { drop(from, n, s) }
            });
            p.service = MS(1);
            p.ends[0].write(p.now, crate::ENDLESS);
            p.run(MS(400));
            assert_eq!(told.lock().unwrap().congestion, expected, "{which:?}");
            let s = p.ends[0].stats();
            assert_eq!((s.retransmissions, s.timeouts, s.recoveries), (1, 0, 1), "{which:?}");
            if !expected.contains(&loss) {
                let to = if marks { 5 } else { 20 };
                assert_eq!(p.ends[0].flow().ssthresh, Bytes::new(to * MSS), "{which:?}");
                assert!((to - 1..=to + 1).contains(&(p.cwnd().get() / MSS)), "{which:?}: {:?}", p.cwnd());
            }
        }
    }
}

#[test]
fn the_first_new_data_after_a_reduction_of_any_kind_tells_the_receiver() {
    // (what happens, segments with CWR on Linux, on FreeBSD)
    type Path = fn() -> Box<dyn FnMut(usize, u64, &Segment) -> Fate>;
    let cases: [(&str, Path, u64, usize, usize); 4] = [
        ("nothing", || Box::new(|_, _, _| Fate::Pass), 100, 0, 0),
        ("a loss", || Box::new(lose(&[5])), 100, 1, 1),
        ("a tail probe", || Box::new(lose(&[100])), 100, 1, 0),
        ("a timeout", || Box::new(lose(&[1, 1, 1])), 1, 1, 0),
    ];
    for (what, path, written, linux, freebsd) in cases {
        for (of, expected) in [(Stack::Linux, linux), (Stack::FreeBsd11, freebsd)] {
            let (_, mut p) = script(Config { ecn: true, ..stack(of) }, 20, |_| {}, path());
            p.ends[0].write(p.now, written * MSS);
            for until in [3000, 6000] {
                p.run(MS(until));
                p.ends[0].write(p.now, 5 * MSS);
            }
            p.run(MS(9000));
            assert_eq!(p.ends[1].received(), (written + 10) * MSS, "{what}, {of:?}");
            let told: Vec<_> = p.sent.iter().filter(|(_, s)| s.len > 0 && s.flags.has(Flags::CWR)).collect();
            assert_eq!(told.len(), expected, "{what}, {of:?}");
        }
    }
}

#[test]
fn a_second_timeout_of_a_segment_leaves_the_threshold_except_on_freebsd() {
    for (of, after) in [(Stack::Linux, [5, 5, 5]), (Stack::Ns2, [5, 5, 5]), (Stack::FreeBsd11, [5, 2, 2])] {
        let path = |from, _, s: &Segment| if from == 0 && s.len > 0 { Fate::Drop } else { Fate::Pass };
        let (told, mut p) = script(stack(of), 20, |_| {}, path);
        p.ends[0].write(p.now, 20 * MSS);
        for (timeouts, threshold) in (1..).zip(after) {
            while p.ends[0].stats().timeouts < timeouts {
                p.run(p.now.since(Instant::ZERO) + MS(10));
            }
            assert_eq!(p.ends[0].flow().ssthresh, Bytes::new(threshold * MSS), "{of:?}, timeout {timeouts}");
        }
        assert_eq!(told.lock().unwrap().congestion, [(Signal::Timeout, Phase::Open)], "{of:?}");
    }
}
