//! Changes of mode, and the two probes, carried out: what happens to the window (sections 5.2.6 and 5.3.2).

use super::loss_mode::LossMode;
use super::mode::{Mode, Turn};
use super::{Hldg, Return};
use crate::{Congestion, Flow, Phase, Reaction, Signal, causes, modes, probes};
use units::{Bytes, Duration, Instant};

impl Hldg {
    /// Carries out a change of mode.
    pub(super) fn turn(&mut self, flow: &mut Flow, turn: Turn) {
        let before = flow.windows();
        let (from, to) = match turn {
            Turn::Stay => return,
            Turn::EnterLoss => {
                // Slow start first: early slow-start exits leave HLDG with too small a share (5.3.2).
                self.abandon_base_probe(flow);
                self.forget_delay();
                self.loss_mode = LossMode::new(&self.p, flow.mss);
                self.start.searching = false;
                flow.ssthresh = Bytes::MAX;
                (modes::DELAY, modes::LOSS)
            }
            Turn::EnterDelay { probed } => {
                self.forget_delay();
                self.loss_mode.leave();
                // The thesis gives no window. Staying at the probe's would starve the flow for as many rounds as its
                // BDP has packets, so it grows as in slow start to what it had. That threshold is known, so nothing
                // ends the growth earlier: the probe's own end raises the RTT.
                if self.p.after_probe != Return::Stay {
                    // A probe's own window says nothing about the rate; loss mode left without one had the whole window.
                    let bandwidth = if probed { self.bandwidth_before_probe } else { self.bandwidth };
                    let bdp = bandwidth * self.base.rtt;
                    flow.ssthresh = bdp.mul_f64(self.p.lambda()).max(flow.floor);
                    flow.cwnd = flow.cwnd.min(flow.ssthresh);
                }
                if self.p.after_probe == Return::Search && self.own_start {
                    self.start.again();
                }
                if self.p.use_shadow {
                    self.shadow = flow.cwnd;
                }
                self.base.renew(flow.now);
                (if probed { modes::PROBE } else { modes::LOSS }, modes::DELAY)
            }
            Turn::BackToLoss => {
                if let Some(r) = self.loss_mode.restore(flow) {
                    // The threshold of two packets was the probe's: a repair that outlasts it may have CUBIC's.
                    flow.ssthresh = self.loss_mode.threshold.max(flow.floor);
                    let (target, interval) = (r.target.get() as i64, r.interval.as_nanos() as i64);
                    flow.note(causes::Restore { target, interval });
                }
                (modes::PROBE, modes::LOSS)
            }
        };
        if from == modes::PROBE {
            flow.note(causes::ProbeEnd {
                what: probes::COMPETITORS,
                base_rtt: self.base.rtt.as_nanos() as i64,
                queue: self.queue_min.as_nanos() as i64,
            });
        }
        let (queue, bandwidth) = (self.queue_min.as_nanos() as i64, self.bandwidth.as_bps() as i64);
        flow.because(causes::ModeSwitch { from, to, queue, bandwidth }, before);
    }

    /// A loss in loss mode is the occasion to look whether the competitors are still there: the queue falls anyway.
    pub(super) fn probe_for_competitors(&mut self, flow: &mut Flow, c: &Congestion) -> Reaction {
        let before = flow.windows();
        // Algorithm 5.1 overwrites cwnd before it saves it; the text restores the old one, so it is saved first.
        self.loss_mode.leave_for_probe(flow);
        self.bandwidth_before_probe = self.bandwidth;
        // A mark leaves nothing to repair.
        self.repairing = c.signal == Signal::Loss;
        self.forget_delay();
        self.modes.probe(flow.now, flow.rtt);
        flow.cwnd = flow.cwnd.min(flow.mss * 2);
        flow.ssthresh = flow.cwnd;
        let lost = causes::LossBackoff {
            lost: c.lost.get() as i64,
            in_flight: flow.in_flight.get() as i64,
            shadow: 0,
            bdp: self.bdp().get() as i64,
        };
        flow.because(lost, before);
        let (queue, bandwidth) = (self.queue_min.as_nanos() as i64, self.bandwidth.as_bps() as i64);
        flow.note(causes::ModeSwitch { from: modes::LOSS, to: modes::PROBE, queue, bandwidth });
        flow.note(causes::ProbeStart { what: probes::COMPETITORS, base_rtt: self.base.rtt.as_nanos() as i64 });
        Reaction::Own
    }

    /// Does a probe for competitors go by the clock? It stays "for an m × RTT interval", an RTT of which is over by h_ertt's flag
    /// (5.3.2, footnote 5). A round by sequence is over once all that was out before it is acknowledged, which two packets
    /// per RTT take many RTTs to repair.
    pub(super) fn probes_by_clock(&self, flow: &Flow) -> bool {
        self.modes.mode == Mode::Probe && !flow.freebsd
    }

    /// An RTT measured in a probe that goes by the clock.
    pub(super) fn probe_measures(&mut self, flow: &mut Flow, rtt: Duration) {
        if let Some(smallest) = self.modes.elapsed(flow.now, rtt) {
            self.judge_queue(flow, flow.now, smallest);
        }
    }

    /// The smallest RTT of what began then, a round or an RTT of a probe, decides about the mode.
    pub(super) fn judge_queue(&mut self, flow: &mut Flow, began: Instant, smallest: Duration) {
        self.queue_min = smallest.saturating_sub(self.base.rtt);
        let turn = self.modes.round(flow.now, began, self.queue_min > self.p.queue_threshold);
        self.turn(flow, turn);
    }

    /// The window of Eq 5.9 is over: give up a fifth of the window, so that a standing queue shows what lies beneath it.
    ///
    /// It begins at W_rtt, as the text says, unless the flow backs off often: one whose last back-off is less than a second
    /// ago waits for the next, until that second is over. Where few packets fit, a queue is a large part of the window, and a
    /// fifth less of it does not let it drain: the base RTT then rises from probe to probe (`base_wait=0s` gives 7.6 ms for
    /// 4.2 in Table 5.1). After a back-off the window is near the BDP already.
    ///
    /// The text has a probing phase and a restoration phase and gives neither a length. The effect of a cut is seen a round
    /// later (2.7.5, 4.2.2.1), so the smaller window is kept for one round; then it grows back as in slow start. Beneath a
    /// queue that may be competitors' there is nothing to see, and what is seen would hide them: it waits until they are
    /// judged.
    pub(super) fn probe_base_rtt(&mut self, flow: &mut Flow) {
        let busy = flow.phase != Phase::Open || flow.cwnd < flow.ssthresh || flow.in_flight.is_zero();
        if busy || self.modes.suspects() {
            self.base.postpone(flow.now + flow.srtt);
            return;
        }
        let before = flow.windows();
        // Footnote 4: a window that is small already is not made smaller.
        if flow.cwnd > flow.mss.max(flow.floor) {
            flow.ssthresh = flow.cwnd;
            flow.cwnd = flow.cwnd.mul_f64(self.p.base_probe).max(flow.floor);
        }
        // The window before the cut is known to fit: no search on the way back to it.
        self.start.searching = false;
        self.base.probe(flow.now);
        flow.because(causes::ProbeStart { what: probes::BASE_RTT, base_rtt: self.base.rtt.as_nanos() as i64 }, before);
    }

    /// The base RTT has been seen: the window may grow back.
    pub(super) fn end_base_probe(&mut self, flow: &mut Flow) {
        self.base.conclude(flow.now);
        self.regrowing = flow.cwnd < flow.ssthresh;
        self.after_base_probe(flow);
    }

    /// A loss or competitors came in between, and decide about the window.
    pub(super) fn abandon_base_probe(&mut self, flow: &mut Flow) {
        self.regrowing = false;
        if self.base.probing() {
            self.base.abandon(flow.now);
            self.after_base_probe(flow);
        }
    }

    fn after_base_probe(&mut self, flow: &mut Flow) {
        // As after an effectual back-off (5.2.4.3), gradients from before a cut say nothing about the time after it.
        self.gradients.clear();
        self.decision.reset();
        flow.note(causes::ProbeEnd {
            what: probes::BASE_RTT,
            base_rtt: self.base.rtt.as_nanos() as i64,
            queue: self.queueing(flow).as_nanos() as i64,
        });
    }
}
