//! What one episode leaves to the next, and what the other side and the algorithm learn of it.

use super::algorithm::{lose, script};
use super::*;
use alloc::vec::Vec;
use cc::{CauseKind, Phase, Reaction, Signal};
use units::Bytes;

/// The causes of what happened to the first end's window.
fn causes(p: &mut crate::pair::Pair<'_>) -> Vec<CauseKind> {
    p.ends[0].flow_mut().drain_events().filter_map(|e| e.cause()).collect()
}

#[test]
fn silence_after_a_repair_restarts_the_window_whoever_owned_it_then() {
    for of in [Stack::Linux, Stack::FreeBsd11] {
        let (_, mut p) = script(stack(of), 40, |s| s.reaction = Reaction::Own, lose(&[5]));
        p.ends[0].write(p.now, 100 * MSS);
        p.run(MS(5000));
        assert_eq!((p.cwnd(), p.ends[0].stats().recoveries), (Bytes::new(40 * MSS), 1), "{of:?}");
        p.ends[0].write(p.now, MSS);
        p.run(MS(5010));
        assert_eq!(p.cwnd(), Bytes::new(10 * MSS), "{of:?}");
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
        assert_eq!((p.cwnd(), causes(&mut p)), (Bytes::new(5 * MSS), [CauseKind::LossBackoff].to_vec()), "{lost:?}");
    }
}
