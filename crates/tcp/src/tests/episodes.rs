//! What one episode leaves to the next, and what the other side and the algorithm learn of it.

use super::algorithm::{lose, script};
use super::*;
use alloc::vec::Vec;
use cc::{CauseKind, Reaction};
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
