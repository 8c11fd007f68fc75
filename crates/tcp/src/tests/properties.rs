use super::*;
use crate::pair::{Fate, Pair, Plain};
use crate::{Config, DelayedAck, Offload, RoundKind};
use alloc::boxed::Box;
use alloc::vec::Vec;
use proptest::prelude::*;
use units::Rate;

/// A path that loses, copies, delays and marks, each packet by its own draw; it tires of it in the end, so that every
/// transfer can finish.
fn fates() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..400)
}

fn fate(draw: u8, harm: u8) -> Fate {
    match draw {
        d if d < harm => Fate::Drop,
        d if d < harm + 12 => Fate::Twice,
        d if d < harm + 30 => Fate::Late(MS(d as u64)),
        d if d < harm + 45 => Fate::Mark,
        _ => Fate::Pass,
    }
}

fn configs() -> impl Strategy<Value = Config> {
    let stacks = prop::sample::select(alloc::vec![Stack::Linux, Stack::FreeBsd11, Stack::Ns2]);
    let acks = prop::sample::select(alloc::vec![
        DelayedAck::None,
        DelayedAck::Linux,
        DelayedAck::EverySecond { timeout: MS(100) }
    ]);
    (stacks, prop::sample::select(WAYS.to_vec()), acks, any::<[bool; 7]>(), 1u32..11, 3_000u64..60_000).prop_map(
        |(
            of,
            loss,
            delayed_ack,
            [own_loss, timestamps, ecn, accurate_ecn, rate_samples, marked, slow_reader],
            initial_window,
            window,
        )| {
            let base = stack(of);
            Config {
                loss: if own_loss { base.loss } else { loss },
                delayed_ack,
                timestamps,
                ecn,
                accurate_ecn,
                rate_samples,
                round: if marked { RoundKind::Marked } else { RoundKind::Sequence },
                offload: if marked && ecn { Offload::Burst(4) } else { Offload::Off },
                initial_window,
                slow_reader,
                receive_window: units::Bytes::new(window),
                ..base
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever the path does, the stream arrives whole, in both directions; the pair's own checks hold the sums of
    /// the scoreboard, the floor of the window, and that a timer is pending while anything is outstanding.
    #[test]
    fn every_stream_arrives_whole(
        config in configs(),
        draws in [fates(), fates()],
        harm in 1u8..90,
        bytes in (0u64..150_000, 0u64..60_000),
        paced in any::<bool>(),
    ) {
        let mut p = Pair::with(
            config.clone(),
            config,
            &mut |flow| {
                if paced {
                    flow.pacing = Some(Rate::from_mbps(4.0));
                }
                Box::new(Plain::default())
            },
            |from, n, _| draws[from].get(n as usize).map_or(Fate::Pass, |d| fate(*d, harm)),
        );
        p.ends[0].write(p.now, bytes.0);
        p.ends[1].write(p.now, bytes.1);
        p.ends[0].close(p.now);
        p.ends[1].close(p.now);
        // Slow readers take some every minute.
        for minute in 1..50 * 60u64 {
            p.run(Duration::from_secs(minute * 60));
            p.ends.iter_mut().for_each(|e| _ = e.read(units::Bytes::new(10_000)));
            if p.ends.iter().all(|e| e.is_closed() && !e.has_unread()) {
                break;
            }
        }
        prop_assert!(p.ends.iter().all(|e| e.is_closed()), "{:?}", p.ends);
        prop_assert_eq!((p.ends[1].received(), p.ends[0].received()), bytes);
        prop_assert_eq!((p.ends[0].acked(), p.ends[1].acked()), bytes);
        prop_assert_eq!(p.ends[0].flow().in_flight, units::Bytes::ZERO);
    }
}
