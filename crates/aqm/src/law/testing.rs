//! What tests of laws share: a look, and a law beside itself behind a real timer.

use crate::queue::fifo::Fifo;
use crate::{Ecn, Law, Limit, LinkInfo, Look, Packet, Qdisc, Reason, Sink};
use std::format;
use units::{Bytes, Duration, Instant, Rate, Rng, streams};

/// A link with a buffer of 60 full packets.
pub(crate) fn link(mbps: f64) -> LinkInfo {
    LinkInfo {
        rate: Rate::from_mbps(mbps),
        delay: Duration::ZERO,
        mtu: Bytes::new(1500),
        limit: Some(Limit::Packets(60)),
    }
}

/// A full packet that arrives at a queue of so many.
pub(crate) fn look(now: Instant, len: usize) -> Look {
    let backlog = Bytes::new(1500 * len as u64);
    Look {
        now,
        size: Bytes::new(1500),
        ecn: Ecn::NotEct,
        sojourn: Duration::ZERO,
        head_age: Duration::ZERO,
        own_backlog: backlog,
        total_backlog: backlog,
        len,
        mtu: Bytes::new(1500),
        largest: Bytes::new(1500),
        largest_of_all: Bytes::new(1500),
    }
}

#[derive(Clone, Copy, Debug)]
struct Full(Ecn);

impl Packet for Full {
    fn size(&self) -> Bytes {
        Bytes::new(1500)
    }
    fn flow(&self) -> u64 {
        1
    }
    fn ecn(&self) -> Ecn {
        self.0
    }
    fn mark(&mut self) -> bool {
        self.0 != Ecn::NotEct
    }
}

#[derive(Default)]
struct Count(u32);

impl Sink<Full> for Count {
    fn dropped(&mut self, _: Full, _: Reason) {
        self.0 += 1;
    }
}

const SENT_IN: Duration = Duration::from_micros(1_200);

/// Runs a law that catches up, told of idle time as late as the simulator tells it, beside one that looks at the clock
/// every 100 µs and is told at once. Their decisions and their whole state must be equal. Returns the least and the
/// greatest of what `watch` sees.
pub(crate) fn side_by_side<L: Law + Clone>(make: impl Fn(Rng) -> L, watch: impl Fn(&L) -> f64) -> (f64, f64) {
    let queue = || Fifo::<Full, L>::new(make(Rng::new(3, 0, streams::AQM)), &link(10.0), Limit::Packets(60));
    let (mut lazy, mut timed) = (queue(), queue());
    let (mut lazy_drops, mut timed_drops) = (Count::default(), Count::default());
    let mut rng = Rng::new(11, 0, 0);
    let (mut now, mut ticked, mut free) = (Instant::ZERO, Instant::ZERO, Instant::ZERO);
    let mut seen = (f64::INFINITY, f64::NEG_INFINITY);
    let tick = |timed: &mut Fifo<Full, L>, ticked: &mut Instant, to: Instant| {
        while *ticked + Duration::from_micros(100) <= to {
            *ticked += Duration::from_micros(100);
            let held = Qdisc::<Full>::len(timed);
            timed.law_mut().advance(&look(*ticked, held));
        }
    };
    timed.dequeue(now, &mut timed_drops);
    for i in 0..8_000u64 {
        // Overload by half, then a third of the rate, then a pause of up to a second, over and over.
        now += Duration::from_micros(match i % 2_000 {
            0 => rng.below(1_000_000),
            1..1_400 => rng.below(1_600),
            _ => rng.below(7_200),
        });
        while free <= now && !Qdisc::<Full>::is_empty(&timed) {
            tick(&mut timed, &mut ticked, free);
            let a = lazy.dequeue(free, &mut lazy_drops).map(|d| d.marked);
            let b = timed.dequeue(free, &mut timed_drops).map(|d| d.marked);
            assert_eq!(a, b, "marks of departures");
            free += if a.is_some() { SENT_IN } else { Duration::ZERO };
            if Qdisc::<Full>::is_empty(&timed) && free <= now {
                tick(&mut timed, &mut ticked, free);
                timed.dequeue(free, &mut timed_drops);
            }
        }
        tick(&mut timed, &mut ticked, now);
        if free <= now && Qdisc::<Full>::is_empty(&lazy) {
            lazy.idle(free);
            free = now;
        }
        let packet = Full(if rng.below(2) == 0 { Ecn::Ect0 } else { Ecn::NotEct });
        let (a, b) = (lazy.enqueue(now, packet, &mut lazy_drops), timed.enqueue(now, packet, &mut timed_drops));
        assert_eq!((a, lazy_drops.0), (b, timed_drops.0), "marks of arrivals and drops at {now:?}");
        let state = |queue: &Fifo<Full, L>| {
            let mut law = queue.law().clone();
            law.advance(&look(now, Qdisc::<Full>::len(queue)));
            (watch(&law), format!("{law:?}"))
        };
        let (value, text) = state(&lazy);
        assert_eq!(text, state(&timed).1, "state at {now:?}");
        seen = (seen.0.min(value), seen.1.max(value));
    }
    seen
}
