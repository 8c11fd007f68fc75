//! Proof of the interface: a QUIC stack that knows less than our hosts can drive any algorithm. The methods have the
//! shapes of quinn 0.11's `congestion::Controller`; what they do not tell (delivery rate, rounds, what is in flight),
//! the adapter keeps by the time a packet was sent.

use crate::host::{Host, MSS, Path};
use cc::{
    Ack, Congestion, CongestionControl, Event, Flow, Lost, Phase, RateSample, Reaction, Round, Sent, Signal, build,
};
use std::collections::VecDeque;
use units::{Bytes, Duration, Instant, Rng};

/// What quinn's `RttEstimator` shows.
struct RttEstimator {
    smoothed: Duration,
    min: Duration,
}

/// quinn's trait, in our types.
trait Controller {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64);
    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator);
    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest_acked: Option<u64>);
    /// `lost_bytes` of zero means an ECN mark.
    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64);
    fn window(&self) -> u64;
}

#[derive(Debug)]
struct Packet {
    sent: Instant,
    bytes: Bytes,
    delivered_then: Bytes,
    delivered_at_then: Instant,
    tx_in_flight: Bytes,
}

/// Any of our algorithms behind that trait.
#[derive(Debug)]
struct Adapter {
    flow: Flow,
    cc: Box<dyn CongestionControl>,
    packets: VecDeque<Packet>,
    delivered_at: Instant,
    lost: Bytes,
    /// Losses found since the last ACK.
    newly_lost: Bytes,
    /// Sent before this: the same congestion.
    recovery_start: Option<Instant>,
    round: Round,
    round_delivered: Bytes,
}

impl Adapter {
    fn new(spec: &str) -> Self {
        let mut flow = Flow::new(MSS, MSS * 10);
        let cc = build(&spec.parse().unwrap(), &mut flow, Rng::new(1, 0, 0)).unwrap();
        Adapter {
            flow,
            cc,
            packets: VecDeque::new(),
            delivered_at: Instant::ZERO,
            lost: Bytes::ZERO,
            newly_lost: Bytes::ZERO,
            recovery_start: None,
            round: Round::default(),
            round_delivered: Bytes::ZERO,
        }
    }

    fn take(&mut self, sent: Instant) -> Option<Packet> {
        let at = self.packets.iter().position(|p| p.sent == sent)?;
        self.packets.remove(at)
    }

    fn settle(&mut self) {
        if let Some(to) = self.flow.take_reduction() {
            self.flow.cwnd = to;
        }
        self.flow.cwnd = self.flow.cwnd.max(self.flow.floor);
        self.flow.drain_events().for_each(drop);
    }

    fn round(&mut self, packet: &Packet, rtt: Duration) -> Option<Round> {
        let r = &mut self.round;
        r.min_rtt = if r.samples == 0 { rtt } else { r.min_rtt.min(rtt) };
        r.max_rtt = r.max_rtt.max(rtt);
        r.samples += 1;
        r.delivered += packet.bytes;
        if packet.delivered_then < self.round_delivered {
            return None;
        }
        let now = self.flow.now;
        let closed = Round {
            number: r.number + 1,
            end: now,
            min_rtt_reused: r.min_rtt,
            max_rtt_reused: r.max_rtt,
            sent: r.delivered,
            marked_rtt: rtt,
            ..*r
        };
        self.round = Round { number: closed.number, start: now, cwnd: self.flow.cwnd, ..Round::default() };
        self.round_delivered = self.flow.delivered;
        Some(closed)
    }
}

impl Controller for Adapter {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        let size = Bytes::new(bytes);
        self.flow.now = now;
        if self.flow.in_flight.is_zero() {
            self.delivered_at = now;
        }
        self.flow.in_flight += size;
        self.packets.push_back(Packet {
            sent: now,
            bytes: size,
            delivered_then: self.flow.delivered,
            delivered_at_then: self.delivered_at,
            tx_in_flight: self.flow.in_flight,
        });
        let sent = Sent { size, in_flight: self.flow.in_flight, retransmission: false };
        self.cc.on_sent(&mut self.flow, &sent);
        self.settle();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        let Some(packet) = self.take(sent) else { return };
        let (size, sample) = (Bytes::new(bytes), now.since(sent));
        let flow = &mut self.flow;
        flow.now = now;
        flow.in_flight = flow.in_flight.saturating_sub(size);
        flow.delivered += size;
        (flow.srtt, flow.min_rtt, flow.rtt) = (rtt.smoothed, rtt.min, sample);
        flow.max_rtt = flow.max_rtt.max(sample);
        (flow.app_limited, flow.cwnd_limited) = (app_limited, !app_limited);
        if self.recovery_start.is_some_and(|start| sent > start) {
            (self.recovery_start, self.flow.phase) = (None, Phase::Open);
            self.cc.on_event(&mut self.flow, Event::RecoveryEnd);
        }
        let rate = RateSample {
            delivered: self.flow.delivered.saturating_sub(packet.delivered_then),
            prior_delivered: packet.delivered_then,
            interval: now.since(packet.delivered_at_then),
            tx_in_flight: packet.tx_in_flight,
            lost: Bytes::ZERO,
            app_limited,
        };
        let ack = Ack {
            cumulative: size,
            delivered: size,
            newly_lost: std::mem::take(&mut self.newly_lost),
            rtt: Some(sample),
            sent_at: sent,
            rate: Some(rate),
            round: self.round(&packet, sample),
            ..Ack::default()
        };
        self.delivered_at = now;
        self.cc.on_ack(&mut self.flow, &ack);
        self.settle();
    }

    fn on_end_acks(&mut self, _: Instant, in_flight: u64, _: bool, _: Option<u64>) {
        self.flow.in_flight = Bytes::new(in_flight);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent: bool, lost_bytes: u64) {
        self.flow.now = now;
        let lost = Bytes::new(lost_bytes);
        self.newly_lost += lost;
        self.lost += lost;
        if let Some(p) = self.take(sent) {
            let l =
                Lost { size: lost, sent_at: sent, tx_in_flight: p.tx_in_flight, lost: self.lost, app_limited: false };
            self.cc.on_lost(&mut self.flow, &l);
        }
        if self.recovery_start.is_some_and(|start| sent <= start) && !is_persistent {
            return;
        }
        let signal = match (is_persistent, lost_bytes) {
            (true, _) => Signal::Timeout,
            (false, 0) => Signal::Ecn,
            (false, _) => Signal::Loss,
        };
        let c =
            Congestion { signal, during: self.flow.phase, lost, cwnd_before: self.flow.cwnd, restart: self.flow.mss };
        if let Reaction::Reduce(to) | Reaction::ResendAll(to) = self.cc.on_congestion(&mut self.flow, &c) {
            self.flow.ssthresh = to.max(self.flow.floor);
            self.flow.cwnd = if is_persistent { self.flow.floor } else { self.flow.ssthresh };
        }
        self.recovery_start = Some(now);
        self.flow.phase = if is_persistent { Phase::Loss } else { Phase::Recovery };
        self.settle();
    }

    fn window(&self) -> u64 {
        self.flow.cwnd.get()
    }
}

/// Lets the small host play quinn: it calls the adapter with no more than quinn would say and takes its window.
#[derive(Debug)]
struct AsQuinn {
    adapter: Adapter,
    number: u64,
}

impl CongestionControl for AsQuinn {
    fn on_sent(&mut self, flow: &mut Flow, sent: &Sent) {
        self.adapter.on_sent(flow.now, sent.size.get(), self.number);
        self.number += 1;
        // quinn paces by window and RTT.
        flow.pacing = (!flow.srtt.is_zero()).then(|| (flow.cwnd / flow.srtt).mul_f64(1.25));
    }
    fn on_lost(&mut self, flow: &mut Flow, lost: &Lost) {
        self.adapter.on_congestion_event(flow.now, lost.sent_at, false, lost.size.get());
        flow.cwnd = Bytes::new(self.adapter.window());
    }
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        let rtt = RttEstimator { smoothed: flow.srtt, min: flow.min_rtt };
        self.adapter.on_ack(flow.now, ack.sent_at, ack.delivered.get(), false, &rtt);
        self.adapter.on_end_acks(flow.now, flow.in_flight.get(), false, None);
        flow.cwnd = Bytes::new(self.adapter.window());
    }
    fn on_congestion(&mut self, _: &mut Flow, _: &Congestion) -> Reaction {
        Reaction::Own
    }
}

#[test]
fn every_algorithm_fills_the_path_behind_quinn_s_methods() {
    for entry in cc::ALGORITHMS {
        let name = entry.about.name;
        let adapter = Adapter::new(name);
        let mut host = Host::new(Path::new(50, 50, 100), |_| Box::new(AsQuinn { adapter, number: 0 }));
        host.run(Instant::from_millis(10_000));
        let before = host.flow.delivered;
        host.run_for(Duration::from_secs(20));
        let carried = (host.flow.delivered - before).packets(MSS) / 20_000.0;
        assert!(carried > 0.7, "{name} carries {carried}");
        assert!(carried <= 1.001, "{name} carries {carried}");
    }
}

#[test]
fn an_event_without_lost_bytes_is_an_ecn_mark_and_comes_once_a_round() {
    let mut adapter = Adapter::new("cubic");
    for n in 0..10 {
        adapter.on_sent(Instant::from_millis(n), 1000, n);
    }
    adapter.on_congestion_event(Instant::from_millis(50), Instant::from_millis(0), false, 0);
    assert_eq!(adapter.window(), 7_000);
    adapter.on_congestion_event(Instant::from_millis(51), Instant::from_millis(1), false, 0);
    assert_eq!(adapter.window(), 7_000, "sent before the first reaction");
    adapter.on_congestion_event(Instant::from_millis(52), Instant::from_millis(2), true, 1000);
    assert_eq!(adapter.window(), 2_000, "persistent congestion");
}
