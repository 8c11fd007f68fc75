//! The sending half: its state, and the order in which an acknowledgement is worked through.

use crate::config::{Config, LossDetection, RoundKind, Stack};
use crate::ring::Ring;
use crate::scoreboard::{Delivery, Scoreboard};
use crate::{Heard, Segment, Stats, ecn, prr::Prr, prr::Step, rack::Rack, timers::Probe, undo::Undo};
use alloc::boxed::Box;
use cc::host::{EnhancedRtt, ErttHeard, RateTag, RateTracker, RoundTracker, RttEstimator, RttRule};
use cc::{Ack, CongestionControl, Event, Flow, Phase};
use units::{Bytes, Duration, Instant};

/// Delivery rate: the flow's side and one tag per record of the scoreboard.
#[derive(Clone, Debug)]
pub(crate) struct Rates {
    pub tracker: RateTracker,
    pub tags: Ring<RateTag>,
}

/// Our FIN.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fin {
    /// More may be written.
    Open,
    /// To follow the last byte.
    Queued,
    /// Sent.
    Sent,
}

/// Timestamps as the endpoint read them: (echoed, the peer's own, ours now), in ticks.
pub(crate) type Echo = Option<(u32, u32, u32)>;

#[derive(Debug)]
pub(crate) struct Sender {
    pub flow: Flow,
    pub cc: Box<dyn CongestionControl>,
    pub board: Scoreboard,
    /// Lowest position not acknowledged, next to send, end of what was written, right edge of the peer's window.
    pub una: u64,
    pub nxt: u64,
    pub written: u64,
    pub edge: u64,
    pub mss: u64,

    /// Retransmission (or persist, or SYN) timer, and the shorter one of RACK-TLP.
    pub rto_at: Instant,
    pub probe_at: Instant,
    /// When pacing lets the next segment go, and the same if something waits for it.
    pub pace_next: Instant,
    pub pace_at: Instant,
    /// The algorithm's own timer.
    pub wake_at: Instant,
    pub last_sent: Instant,
    /// Probe timeout, worked out with every RTT sample.
    pub pto: Duration,
    pub rtt: RttEstimator,
    pub rounds: RoundTracker,

    /// Episode in progress ends when this is acknowledged.
    pub recover: u64,
    pub prr: Prr,
    pub rack: Rack,
    pub undo: Undo,
    pub probe: Probe,
    pub ecn: ecn::Sender,
    pub duplicates: u32,
    /// Without SACK: what duplicate ACKs say has left the network.
    pub credit: u64,
    /// FreeBSD: what may leave during recovery.
    pub quota: u64,
    /// One segment may leave whatever the window says (the fast retransmission).
    pub force_one: bool,
    pub partial_seen: bool,
    pub rescued: bool,
    /// The algorithm answered [`Reaction::Own`](cc::Reaction::Own) last time.
    pub owns_window: bool,
    pub fin: Fin,
    /// Window probe to be sent.
    pub window_probe: bool,

    /// Linux's test of whether the window was the limit.
    pub limited: bool,
    pub most_out: u64,
    pub usage_until: u64,
    pub sent_since_check: bool,

    pub burst_left: u32,
    pub ertt: Option<Box<EnhancedRtt>>,
    pub rates: Option<Box<Rates>>,
    /// SACK blocks of the last ACK that had some.
    pub seen_blocks: [(u64, u64); 3],
    pub stats: Stats,
    pub config: Config,
}

impl Sender {
    pub fn new(config: Config, build: &mut dyn FnMut(&mut Flow) -> Box<dyn CongestionControl>) -> Self {
        let mss = config.mss.get();
        let window = mss * config.initial_window.max(1) as u64;
        let mut flow = Flow::new(config.mss, Bytes::new(window), Bytes::new(2 * mss));
        flow.slow_start_at_ssthresh = config.stack == Stack::FreeBsd11;
        let cc = build(&mut flow);
        let rule = match config.stack {
            Stack::Linux => RttRule::Linux,
            Stack::FreeBsd11 | Stack::Ns2 => RttRule::Rfc { tick: config.rtt_tick },
        };
        Sender {
            board: Scoreboard::new(),
            una: 0,
            nxt: 0,
            written: 1,
            edge: 0,
            mss,
            rto_at: Instant::MAX,
            probe_at: Instant::MAX,
            pace_next: Instant::ZERO,
            pace_at: Instant::MAX,
            wake_at: cc.wake().unwrap_or(Instant::MAX),
            last_sent: Instant::ZERO,
            pto: Duration::from_secs(1),
            rtt: RttEstimator::new(rule, config.min_rto, config.max_rto),
            rounds: RoundTracker::new(Instant::ZERO, flow.cwnd, 0),
            recover: 0,
            prr: Prr::default(),
            rack: Rack::default(),
            undo: Undo::default(),
            probe: Probe::default(),
            ecn: ecn::Sender::default(),
            duplicates: 0,
            credit: 0,
            quota: 0,
            force_one: false,
            partial_seen: false,
            rescued: false,
            owns_window: false,
            fin: Fin::Open,
            window_probe: false,
            limited: false,
            most_out: 0,
            usage_until: 0,
            sent_since_check: false,
            burst_left: 0,
            ertt: (config.round == RoundKind::Marked).then(Box::default),
            rates: config.rate_samples.then(|| Box::new(Rates { tracker: RateTracker::default(), tags: Ring::new() })),
            seen_blocks: [(0, 0); 3],
            stats: Stats::default(),
            config,
            flow,
            cc,
        }
    }

    /// The connection is up: data may flow, from position 1.
    pub fn establish(&mut self, now: Instant, edge: u64) {
        self.una = 1;
        self.nxt = 1;
        self.edge = edge;
        self.rto_at = Instant::MAX;
        self.rtt.reset_back_off();
        self.flow.receive_window = Bytes::new(edge - 1);
        self.flow.sent_to = 1;
        self.rounds = RoundTracker::new(now, self.flow.cwnd, 1);
    }

    /// Repairs with selective acknowledgements?
    #[inline]
    pub fn uses_sack(&self) -> bool {
        matches!(self.config.loss, LossDetection::RackTlp | LossDetection::Sack)
    }

    /// In flight as the window sees it.
    #[inline]
    pub fn pipe(&self) -> u64 {
        self.board.in_flight.saturating_sub(self.credit)
    }

    #[inline]
    pub fn is_outstanding(&self) -> bool {
        self.una < self.nxt
    }

    /// Works through the acknowledgement in `s`. The order is Linux's: scoreboard, RTT, losses and phases, then the
    /// algorithm, then what the host does to the window, then timers.
    pub fn on_ack(&mut self, now: Instant, s: &Segment, echo: Echo, heard: &mut Heard) {
        if s.ack > self.nxt {
            return;
        }
        let stale = s.ack < self.una;
        if stale && s.sack.count == 0 {
            return;
        }
        let edge = s.ack + s.window as u64;
        let window_moved = edge > self.edge;
        if window_moved {
            self.edge = edge;
            self.stop_persisting();
        }
        let before = self.una;
        let ack = s.ack.max(before);
        let mut delivery = Delivery { known_to: self.board.sacked_to, ..Delivery::default() };
        let mut dsack = false;
        if s.sack.count > 0 && self.uses_sack() {
            dsack = self.on_blocks(now, s, &mut delivery);
        }
        let cumulative = ack - before;
        if cumulative > 0 {
            let Sender { board, rates, .. } = self;
            board.acknowledge(ack, &mut delivery, |id, r| {
                if let Some(rates) = rates {
                    rates.tracker.on_delivered(rates.tags.get(id), r.sent_at);
                }
            });
            if let Some(rates) = rates {
                while rates.tags.first() < board.ring.first() {
                    rates.tags.pop();
                }
            }
            self.una = ack;
            heard.acked = cumulative - u64::from(self.fin == Fin::Sent && ack == self.nxt);
        }
        let duplicate = cumulative == 0 && s.span() == 0 && !window_moved && before < self.nxt && !stale;
        let delivered = Bytes::new(delivery.bytes);
        self.flow.delivered += delivered;
        self.flow.receive_window = Bytes::new(self.edge - ack);

        let (fresh, closed) = self.measure(now, s, ack, cumulative, &delivery, echo, heard);
        if self.config.loss == LossDetection::RackTlp {
            self.rack.on_delivery(now, &delivery, self.flow.min_rtt);
        }
        let marked = self.ecn.on_feedback(s, &self.config, delivery.bytes);

        let lost_before = self.stats.lost;
        if self.flow.phase != Phase::Open
            || duplicate
            || dsack
            || self.board.sacked > 0
            || self.board.lost > 0
            || self.probe.is_out()
        {
            self.repair(now, cumulative, &delivery, duplicate, dsack, echo);
        }
        if marked.congested {
            self.on_mark(now, marked.bytes);
        }
        let newly_lost = self.stats.lost - lost_before;
        self.flow.in_flight = Bytes::new(self.pipe());

        if delivery.bytes > 0 || duplicate || newly_lost > 0 {
            self.flow.cwnd_limited = self.is_window_limited();
            self.rounds.see(fresh, self.flow.rtt, delivered);
            let round = self.close_round(now, ack, fresh, closed);
            let rate = match &mut self.rates {
                Some(rates) => {
                    let sample = rates.tracker.sample(now, self.flow.delivered, self.flow.min_rtt);
                    self.flow.app_limited = rates.tracker.is_app_limited();
                    sample
                }
                None => None,
            };
            let (one_way, received_at) = match echo {
                Some((echoed, theirs, _)) => self.one_way(echoed, theirs),
                None => (None, None),
            };
            let message = Ack {
                cumulative: Bytes::new(cumulative),
                delivered,
                newly_lost: Bytes::new(newly_lost),
                duplicate: cumulative == 0,
                ce: Bytes::new(marked.bytes),
                rtt: fresh,
                one_way,
                sent_at: delivery.newest.map_or(Instant::ZERO, |n| n.0),
                received_at,
                rate,
                round,
            };
            self.cc.on_ack(&mut self.flow, &message);
            self.after_algorithm();
            if self.prr.on {
                self.flow.cwnd = Bytes::new(
                    self.pipe()
                        + self.prr.allowance(Step {
                            delivered: delivery.bytes,
                            in_flight: self.pipe(),
                            ssthresh: self.flow.ssthresh.get(),
                            safe: cumulative > 0 && newly_lost == 0,
                            mss: self.mss,
                        }),
                );
            }
        }
        if cumulative > 0 {
            self.restart_timers(now);
        }
    }

    /// What every call of the algorithm may have left behind: a reduction to carry out, a window under the floor,
    /// another wake-up time.
    #[inline]
    pub fn after_algorithm(&mut self) {
        if let Some(to) = self.flow.take_reduction() {
            self.reduce_smoothly(to);
        }
        if self.flow.phase == Phase::Open && self.flow.cwnd < self.flow.floor {
            self.flow.cwnd = self.flow.floor;
        }
        self.wake_at = self.cc.wake().unwrap_or(Instant::MAX);
    }

    /// RTT: the estimator is fed with the oldest segment the ACK delivered (so its timeout allows for delayed ACKs),
    /// the algorithm with the newest. Segments ever retransmitted give none (Karn).
    #[allow(clippy::too_many_arguments)]
    #[inline]
    fn measure(
        &mut self,
        now: Instant,
        s: &Segment,
        ack: u64,
        cumulative: u64,
        delivery: &Delivery,
        echo: Echo,
        heard: &mut Heard,
    ) -> (Option<Duration>, Option<cc::host::MarkedRound>) {
        let exact = delivery.clean.map(|(oldest, newest)| (now.since(oldest), now.since(newest)));
        heard.rtt = exact.map(|e| e.1);
        if let Some(ertt) = &mut self.ertt {
            let tick_now = echo.map_or(0, |e| e.2);
            let sacked_to =
                if delivery.bytes > 0 { self.seen_blocks.iter().map(|b| b.1).find(|e| *e > 0) } else { None };
            let (ticks, round) = ertt.on_ack(
                &ErttHeard {
                    acked: cumulative,
                    ack,
                    sacked_to: if s.sack.count > 0 { sacked_to.unwrap_or(0) } else { 0 },
                    tick: tick_now,
                    echo: self.config.timestamps.then_some(()).and(echo.map(|e| (e.0, e.1))),
                },
                self.mss,
            );
            let tick = self.config.rtt_tick;
            // The stack's own estimator reads the same coarse clock, through the echoed timestamp if there is one.
            if cumulative > 0 {
                let sample = match echo {
                    Some((echoed, _, ours)) if self.config.timestamps => {
                        Some(tick * ours.wrapping_sub(echoed).max(1) as u64)
                    }
                    _ => exact.map(|e| tick * (e.0.as_nanos() / tick.as_nanos().max(1)).max(1)),
                };
                if let Some(sample) = sample {
                    self.take_rtt(sample, ack);
                }
            }
            let fresh = ticks.map(|n| tick * n as u64);
            if let Some(rtt) = fresh {
                self.note_rtt(rtt);
            }
            return (fresh, round);
        }
        let fresh = exact.map(|e| e.1);
        if let Some((oldest, newest)) = exact {
            self.take_rtt(oldest, ack);
            self.note_rtt(newest);
        } else if cumulative > 0
            && let Some((echoed, _, ours)) = echo
        {
            // Only retransmissions were acknowledged: timestamps still tell which transmission it was.
            let sample = self.config.timestamp_tick * ours.wrapping_sub(echoed) as u64;
            if !sample.is_zero() {
                self.take_rtt(sample, ack);
            }
        }
        (fresh, None)
    }

    #[inline]
    pub fn note_rtt(&mut self, rtt: Duration) {
        let flow = &mut self.flow;
        flow.rtt = rtt;
        if rtt < flow.min_rtt || flow.min_rtt.is_zero() {
            flow.min_rtt = rtt;
        }
        if rtt > flow.max_rtt {
            flow.max_rtt = rtt;
        }
    }

    #[inline]
    pub fn take_rtt(&mut self, sample: Duration, acked: u64) {
        self.rtt.sample(sample, acked, self.nxt);
        let srtt = self.rtt.srtt();
        self.flow.srtt = srtt;
        self.pto = srtt * 2;
    }

    fn close_round(
        &mut self,
        now: Instant,
        ack: u64,
        fresh: Option<Duration>,
        marked: Option<cc::host::MarkedRound>,
    ) -> Option<cc::Round> {
        let (sent, rtt) = match (self.config.round, marked) {
            (RoundKind::Sequence, _) if self.rounds.is_passed(ack) => (None, fresh.unwrap_or(self.flow.rtt)),
            (RoundKind::Marked, Some(m)) => (Some(m.sent), self.config.rtt_tick * m.ticks as u64),
            _ => return None,
        };
        Some(self.rounds.close(now, self.flow.cwnd, self.nxt, sent, rtt))
    }

    /// One-way delay with an unknown constant: the offset keeps it positive while clocks drift apart for hours.
    #[inline]
    fn one_way(&self, echoed: u32, theirs: u32) -> (Option<Duration>, Option<Instant>) {
        const OFFSET: i64 = 1 << 24;
        let tick = self.config.timestamp_tick;
        let ticks = OFFSET + theirs.wrapping_sub(echoed) as i32 as i64;
        (Some(tick * ticks.max(0) as u64), Some(Instant::ZERO + tick * theirs as u64))
    }

    /// Tells the algorithm that the host's episode is over.
    pub fn end_episode(&mut self) {
        self.prr.on = false;
        self.flow.phase = Phase::Open;
        self.flow.reset_credit();
        self.flow.in_flight = Bytes::new(self.pipe());
        self.cc.on_event(&mut self.flow, Event::RecoveryEnd);
        self.after_algorithm();
    }
}
