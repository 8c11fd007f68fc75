//! dummynet's clock: links that shape, delay and so compress only when a kernel tick comes (thesis Appendix B).
//!
//! A pipe is served, and its delay line looked at, once a tick. The packet that overdraws the pipe's credit is held back
//! in the delay line for what it owes, rounded to ticks. In one tick the pipes are served first, then their delay lines
//! give out what is due, and only then come the packets that arrive in it: that order makes the ACK compression of
//! Figure B.1. Ticks in which nothing happens cost nothing: what happens next is always known.

mod counter;

use crate::capacity::BYTE;
use crate::link::DropWhy;
use crate::network::Network;
use crate::packet::Packet;
use crate::probe::{Probe, Trace};
use crate::scheduler::{Scheduler, Source};
use crate::world::World;
use crate::{RunError, digest::Fact};
use counter::{Counter, SECOND};
use experiment::{Clock, Link as Spec, LossAt, RateSpec, Rounding, TickParams};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Rate};

/// A pipe of dummynet: credit of a shaper, and a delay line. Credit counts bits times ticks per second, so that one tick
/// earns `rate` and a packet costs `hz` times its bits, in whole numbers.
#[derive(Debug)]
pub struct Tick {
    counter: Counter,
    rate: Option<i64>,
    delay: i64,
    round: Rounding,
    io_fast: bool,
    adjust_last: bool,
    credit: i64,
    served: i64,
    idle: i64,
    active: bool,
    line: VecDeque<(i64, Packet)>,
    release: Source,
    orders: [u64; 2],
}

impl Tick {
    /// The pipe of a link, if its clock ticks.
    pub fn new(spec: &Spec, seed: u64, release: Source) -> Result<Option<Self>, RunError> {
        let Clock::Tick(params) = &spec.clock else { return Ok(None) };
        let rate = match spec.rate {
            None => None,
            Some(RateSpec::Constant(rate)) => Some(rate.as_bps() as i64),
            Some(RateSpec::Trace { .. }) => {
                let message = format!("link \"{}\": a link that follows a trace cannot tick", spec.name);
                return Err(RunError::Unsupported(message));
            }
        };
        let mut tick = Tick::empty(params, rate, seed, release);
        tick.set_delay(spec.delay);
        Ok(Some(tick))
    }

    /// A pipe without delay that nothing has come to.
    fn empty(params: &TickParams, rate: Option<i64>, seed: u64, release: Source) -> Self {
        Tick {
            counter: Counter::new(params, seed),
            rate,
            delay: 0,
            round: params.round,
            io_fast: params.io_fast,
            adjust_last: params.adjust_last,
            credit: 0,
            served: 0,
            // Before the first tick, so that the first packet finds an idle pipe.
            idle: -1,
            active: false,
            line: VecDeque::new(),
            release,
            orders: [0; 2],
        }
    }

    /// A new propagation delay, for packets still to be served. dummynet cuts it to whole ticks.
    pub fn set_delay(&mut self, delay: Duration) {
        self.delay = self.counter.whole_ticks(delay);
    }

    /// A new rate; credit and debt stay.
    pub fn set_rate(&mut self, rate: Rate) {
        self.rate = Some(rate.as_bps() as i64);
    }

    /// Packets in the delay line.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Nothing is in the delay line.
    pub fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    /// A packet came to a pipe that is not being served. The credit is forgotten only if the pipe fell idle in an earlier
    /// tick: the whole of Figure B.1.
    fn wake(&mut self, now: i64) {
        if self.idle < now {
            self.served = now;
            self.credit = if self.io_fast { self.rate.unwrap_or(0) } else { 0 };
        }
    }

    /// Adds what the time since the last service has earned.
    fn earn(&mut self, now: i64) {
        self.credit += (now - self.served).saturating_mul(self.rate.unwrap_or(0));
        self.served = now;
    }

    /// Takes a packet from the queue to the delay line.
    fn send(&mut self, now: i64, packet: Packet) {
        if self.rate.is_some() {
            self.credit -= self.counter.hz() as i64 * 8 * packet.size as i64;
        }
        self.line.push_back((now + self.delay, packet));
    }

    /// The service ends: with credit left the pipe is idle, otherwise it is served again at the tick returned.
    fn settle(&mut self, now: i64, sent: bool) -> Option<i64> {
        self.active = self.credit < 0;
        let Some(rate) = self.rate.filter(|_| self.active) else {
            self.idle = now;
            return None;
        };
        let wait = (rate - 1 - self.credit) / rate;
        if sent
            && self.adjust_last
            && let Some(last) = self.line.back_mut()
        {
            last.0 += match self.round {
                Rounding::Ceil => wait,
                Rounding::Floor => -self.credit / rate,
            };
        }
        Some(now + wait)
    }

    /// Debt in 10⁻⁹ bit: what must still be earned for packets already taken from the queue. Negative: credit earned
    /// since the last service, at most what `waiting` needs and what one interval between services earns. Between ticks
    /// the credit is taken to grow steadily.
    pub(crate) fn owed(&self, now: Instant, waiting: Bytes) -> i128 {
        let Some(rate) = self.rate.filter(|_| self.active) else { return 0 };
        let (rate, hz) = (rate as i128, self.counter.hz() as i128);
        let earned = rate * self.counter.nanoticks(self.served, now);
        let credit = (self.credit as i128 * SECOND as i128 + earned) / hz;
        let between_services = rate * SECOND as i128 / hz * self.counter.stride() as i128;
        -credit.min(waiting.get() as i128 * BYTE).min(between_services)
    }

    /// A packet whose time has come.
    fn due(&mut self, now: i64) -> Option<Packet> {
        let is_due = self.line.front().is_some_and(|(out, _)| *out <= now);
        if is_due { self.line.pop_front().map(|(_, packet)| packet) } else { None }
    }
}

/// Takes the numbers of order with which the ticking links' events come before all others of their instant: first every
/// link's service, then every link's delay line. A run without them takes none.
pub fn order(net: &mut Network, scheduler: &mut Scheduler) {
    for which in 0..2 {
        for tick in net.links.iter_mut().filter_map(|l| l.tick.as_mut()) {
            tick.orders[which] = scheduler.ticket();
        }
    }
}

impl<P: Probe> World<P> {
    /// A packet comes to a ticking link.
    pub(crate) fn tick_arrival(&mut self, l: u32, packet: Packet) {
        let now = self.now;
        let link = &mut self.net.links[l as usize];
        let tick = link.tick.as_mut().expect("the way leads to a ticking link");
        let count = tick.counter.read(now);
        if tick.rate.is_none() {
            // No shaper: the delay line alone.
            link.arrived(packet.size, self.measuring);
            if link.impaired && link.loss_at == LossAt::Enqueue && link.loss.strikes() {
                self.lose(l, &packet, DropWhy::Random);
                return;
            }
            link.passed(packet.size, self.measuring);
            link.tick.as_mut().expect("as above").send(count, packet);
            self.tick_schedule_release(l);
            return;
        }
        if !tick.active && link.len == 0 && now > link.free_at {
            link.queue.idle(link.free_at);
        }
        // The link never transmits on its own.
        link.pending = true;
        self.enqueue(l, &packet);
        let link = &mut self.net.links[l as usize];
        let tick = link.tick.as_mut().expect("still ticking");
        if tick.active {
            return;
        }
        if link.len > 0 {
            tick.wake(count);
            self.tick_serve(l);
        } else {
            // The law dropped it: the link is idle still, as one without ticks finds out by asking for a packet.
            link.queue.idle(now);
        }
    }

    /// Serves the queue as far as the credit goes.
    pub(crate) fn tick_serve(&mut self, l: u32) {
        let now = self.now;
        let tick = self.tick(l);
        let count = tick.counter.read(now);
        tick.earn(count);
        let mut sent = false;
        while self.tick(l).credit >= 0 {
            let Some(packet) = self.tick_dequeue(l) else { break };
            self.tick(l).send(count, packet);
            sent = true;
        }
        let link = &mut self.net.links[l as usize];
        let tick = link.tick.as_mut().expect("still ticking");
        let again = tick.settle(count, sent).map(|count| tick.counter.reaches(count));
        link.free_at = again.unwrap_or(now);
        match again {
            Some(at) => self.scheduler.set(link.source, at, tick.orders[0]),
            None => self.scheduler.clear(link.source),
        }
        self.tick_schedule_release(l);
    }

    fn tick(&mut self, l: u32) -> &mut Tick {
        self.net.links[l as usize].tick.as_mut().expect("an event of a ticking link")
    }

    /// Takes a packet out of the queue. The laws see the true time, where dummynet's see that of the last tick (`AQM_UNOW`).
    fn tick_dequeue(&mut self, l: u32) -> Option<Packet> {
        let now = self.now;
        let link = &mut self.net.links[l as usize];
        link.account(now);
        let out = link.queue.dequeue(now, &mut self.drops);
        let len = link.queue.len();
        link.len = len;
        if let Some(out) = &out {
            link.last_sojourn = out.sojourn;
            if self.measuring {
                link.count.sent_bytes += out.packet.size as u64;
                link.count.queue.add(out.sojourn);
            }
            link.departed(out.packet.size, out.sojourn);
        }
        self.account_drops(l);
        let out = out?;
        self.digest.fold(now, Fact::Dequeue, l, (out.packet.flow as u64) << 32 | len as u64);
        if out.marked {
            self.marked(l, &out.packet);
        }
        if P::ON {
            self.probe.see(now, Trace::Dequeue { link: l, packet: &out.packet, sojourn: out.sojourn, len });
            self.log_queue(l, crate::diftr::Event::Dequeue, &out.packet, Some(out.sojourn));
        }
        Some(out.packet)
    }

    /// The delay line gives out what is due.
    pub(crate) fn tick_release(&mut self, l: u32) {
        let now = self.now;
        let count = self.tick(l).counter.read(now);
        while let Some(mut packet) = self.tick(l).due(count) {
            self.leave(l, &mut packet, now);
        }
        self.tick_schedule_release(l);
    }

    fn tick_schedule_release(&mut self, l: u32) {
        let now = self.now;
        let tick = self.net.links[l as usize].tick.as_ref().expect("still ticking");
        match tick.line.front() {
            Some((out, _)) => self.scheduler.set(tick.release, tick.counter.reaches(*out).max(now), tick.orders[1]),
            None => self.scheduler.clear(tick.release),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pipe(settings: &str, mbps: Option<f64>, hz_delay: i64) -> Tick {
        let spec: params::Spec = settings.parse().unwrap();
        let params = <TickParams as params::Params>::from_spec(&spec).unwrap();
        let rate = mbps.map(|m| (m * 1e6) as i64);
        Tick { delay: hz_delay, ..Tick::empty(&params, rate, 1, 0) }
    }

    fn packet(size: u32) -> Packet {
        Packet {
            segment: tcp::Segment::default(),
            born: Instant::ZERO,
            flow: 0,
            size,
            hop: 0,
            way: crate::packet::Way::Out,
            copy: false,
        }
    }

    /// The tick in which one packet that comes to an idle pipe in tick 100 leaves it, and the tick of the next service.
    fn alone(settings: &str, size: u32) -> (i64, Option<i64>) {
        let mut p = pipe(settings, Some(12.0), 20);
        p.wake(100);
        p.earn(100);
        p.send(100, packet(size));
        let again = p.settle(100, true);
        (p.line[0].0 - 120, again.map(|t| t - 100))
    }

    #[test]
    fn a_full_packet_at_12_mbit_takes_a_tick_of_1_khz_and_an_ack_one_or_none() {
        assert_eq!(alone("tick", 1500), (1, Some(1)));
        assert_eq!(alone("tick", 1501), (2, Some(2)));
        assert_eq!(alone("tick", 40), (1, Some(1)));
        assert_eq!(alone("tick(round=floor)", 40), (0, Some(1)));
        assert_eq!(alone("tick(round=floor)", 1500), (1, Some(1)));
        assert_eq!(alone("tick(adjust_last=false)", 1500), (0, Some(1)));
        // A tick's worth of credit lets a packet of just a tick go free.
        assert_eq!(alone("tick(io_fast=true)", 1500), (0, None));
        assert_eq!(alone("tick(hz=10000)", 1500), (10, Some(10)));
    }

    #[test]
    fn credit_is_kept_within_the_tick_in_which_the_pipe_fell_idle() {
        let mut p = pipe("tick", Some(12.0), 20);
        p.wake(5);
        p.earn(5);
        p.send(5, packet(40));
        assert_eq!(p.settle(5, true), Some(6));
        // The service of tick 6 finds nothing; an ACK that comes later in the same tick finds the credit.
        p.earn(6);
        assert_eq!(p.settle(6, false), None);
        p.wake(6);
        p.earn(6);
        p.send(6, packet(40));
        assert_eq!(p.settle(6, true), None);
        let out: Vec<i64> = p.line.iter().map(|(t, _)| *t).collect();
        assert_eq!(out, [26, 26], "a pair in one tick");
        p.wake(7);
        assert_eq!(p.credit, 0, "idle since an earlier tick");
    }
}
