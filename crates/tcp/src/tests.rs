//! Whole connections over imaginary paths.

use crate::pair::{Fate, Pair};
use crate::{Config, DelayedAck, LossDetection, Offload, Stack};
use alloc::vec::Vec;
use units::{Bytes, Duration, Instant};

const MS: fn(u64) -> Duration = Duration::from_millis;
const ALL: [LossDetection; 5] =
    [LossDetection::RackTlp, LossDetection::Sack, LossDetection::NewReno, LossDetection::Reno, LossDetection::Tahoe];

fn linux() -> Config {
    Config::of(Stack::Linux)
}

fn with_loss(loss: LossDetection) -> Config {
    Config { loss, ..linux() }
}

#[test]
fn a_megabyte_arrives_over_every_stack() {
    for stack in [Stack::Linux, Stack::FreeBsd11, Stack::Ns2] {
        let mut p = Pair::new(Config::of(stack), |_, _, _| Fate::Pass);
        p.transfer(1_000_000);
        let s = p.ends[0].stats();
        assert_eq!((s.retransmissions, s.timeouts, s.tail_probes), (0, 0, 0), "{stack:?}");
        assert!(p.now.since(Instant::ZERO) > MS(200));
    }
}

#[test]
fn random_loss_is_repaired_by_every_recovery() {
    for loss in ALL {
        let mut n = 0u64;
        let mut p = Pair::new(with_loss(loss), move |from, _, s| {
            n += 1;
            if from == 0 && s.len > 0 && n % 61 == 7 { Fate::Drop } else { Fate::Pass }
        });
        p.service = MS(1);
        p.transfer(2_000_000);
        let s = p.ends[0].stats();
        assert!(s.recoveries > 3, "{loss:?} {s:?}");
        std::println!("{loss:?} {:?} {s:?}", p.now);
    }
}
#[test]
fn overflowing_a_queue() {
    for loss in ALL {
        let mut p = Pair::new(with_loss(loss), |_, _, _| Fate::Pass);
        p.service = MS(1);
        p.room = 60;
        p.transfer(5_000_000);
        std::println!("{loss:?} {:?} {:?}", p.now, p.ends[0].stats());
    }
    let _ = (Bytes::ZERO, DelayedAck::None, Offload::Off, Vec::<u8>::new());
}
