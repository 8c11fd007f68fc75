//! CDG, CAIA Delay Gradient: back off by the growth of delay, not by its size.
//!
//! ```text
//! once per round n:     g_n  = RTT_n − RTT_(n−1)          for the smallest and the largest RTT     (2.24, 2.25)
//!                       ḡ_n  = ḡ_(n−1) + (g_n − g_(n−a)) / a,   a = 8                              (2.26)
//!                       P    = 1 − e^(−ḡ_n / G),                G = 3 ms                           (2.27)
//! with probability P:   cwnd = 0.7 cwnd, shadow = max(cwnd, shadow)                                (2.28, 2.29)
//! otherwise:            cwnd += MSS, and shadow += MSS if it is not 0
//! loss, queue full:     shadow /= 2, cwnd = max(cwnd / 2, shadow)
//! loss otherwise:       cwnd as it is
//! ```
//! Five back-offs in a row without a falling ḡ mean that others fill the queue: the next five indications are ignored.
//! The queue counts as full while ḡ_min > 0 and ḡ_max ≤ 0; when it looks empty the shadow window is forgotten.
//!
//! Sources: D. A. Hayes and G. Armitage, "Revisiting TCP congestion control using delay gradients", 2011, as told in
//! section 2.7 of R. Al-Saadi's HLDG thesis (equation numbers are the thesis'); FreeBSD's `cc_cdg.c`, by Hayes, which
//! the thesis measures; Linux's `tcp_cdg.c`. The three differ, and it shows: see [`Reference`] and the parameters that
//! say "(reference)".

mod freebsd;
mod hybrid;
mod linux;
pub mod probability;
pub mod queue_state;
mod quirks;
pub(crate) mod trend;

use crate::{
    About, Ack, Algorithm, Congestion, CongestionControl, Event, Evidence, Family, Flow, Reaction, Setup, StartRule,
    causes,
};
use freebsd::FreeBsd;
use linux::Linux;
use params::{ParamError, Switch};
use units::Bytes;

params::choice! {
    /// Whose rules.
    pub enum Reference {
        /// FreeBSD 11's, quirks included: what the thesis evaluates.
        FreeBsd = "freebsd",
        /// Linux 6.1's.
        Linux = "linux",
        /// The paper's, as the thesis' section 2.7 tells it.
        Paper = "paper",
    }
}

params::choice! {
    /// What the round after a back-off is not used for. It cannot show the effect of the back-off yet.
    pub enum Skip {
        /// What the reference leaves out.
        Auto = "auto",
        /// Its gradients, while its RTTs still are what the next gradients are taken from: the fall after the
        /// back-off is never seen, and the average stays high (thesis section 4.2.2.1).
        Gradient = "gradient",
        /// Nothing at all: the next gradients are taken from the round of the back-off (HLDG, Eq 5.1 and 5.2).
        Round = "round",
        /// The toss: gradients go on, as the thesis' section 2.7.5 can be read.
        Toss = "toss",
    }
}

params::choice! {
    /// How a full queue is told at a loss.
    pub enum Infer {
        /// By the signs of the smoothed gradients (thesis Table 2.5).
        Trend = "trend",
        /// By the last RTT: at least three quarters of the way from the smallest to the largest ever seen.
        Extremes = "extremes",
    }
}

params::params! {
    /// What may be set. Where a default is `auto`, the reference decides.
    pub struct Params {
        /// Whose rules: freebsd, linux or paper.
        reference: Reference = Reference::FreeBsd;
        /// Scale G of the back-off probability in ms (sysctl exp_backoff_scale, whole numbers there).
        g: f64 = 3.0, 0.1 => 10000.0;
        /// Gradients averaged (sysctl smoothing_factor; 0 does not smooth; Linux takes a power of two up to 256).
        window: u32 = 8, 0 => 256;
        /// What a delay back-off leaves of the window (Linux: see backoff_beta).
        beta_delay: f64 = 0.7, 0.01 => 1.0;
        /// What a loss leaves of the window.
        beta_loss: f64 = 0.5, 0.01 => 1.0;
        /// Grow by one packet more per round after every so many rounds without a back-off; 0 always grows by one.
        alpha_inc: u32 = 0, 0 => 1000;
        /// Ignore delay after too many back-offs that did not make it fall.
        use_ineffectual: bool = true;
        /// Back-offs in a row that count as too many.
        consec_cong: u32 = 5, 0 => 1000;
        /// Indications then ignored (freebsd, paper; Linux ignores until delay falls).
        hold_backoff: u32 = 5, 0 => 1000;
        /// Keep the shadow window: what a loss-based flow would have.
        use_shadow: bool = true;
        /// Keep the window on a loss while the queue is not full. auto: freebsd and paper do, linux does not.
        use_tolerance: Switch = Switch::Auto;
        /// How a loss is judged: by the queue state that the gradients tell, or by where the last RTT lies between the
        /// extremes. Gradients are smoothed over eight rounds and still rise when a buffer overflows, so that they call
        /// most losses random (thesis section 4.3.3.2).
        infer: Infer = Infer::Trend;
        /// A queue of unknown state counts as full (freebsd's UNKNOWN compares greater than FULL). auto: not in paper.
        unknown_full: Switch = Switch::Auto;
        /// A loss within the round after a delay back-off cuts nothing, and cancels the shadow ramp (thesis section
        /// 4.3.3.2, footnote 6). auto: freebsd only.
        recovery_bug: Switch = Switch::Auto;
        /// What is ignored in the round after a back-off: its gradients, the whole round, or only the toss. auto:
        /// gradient in freebsd, toss in paper.
        skip: Skip = Skip::Auto;
        /// Toss on gradients as they are, not only on smoothed ones, in slow start. auto: freebsd only.
        raw_slow_start: Switch = Switch::Auto;
        /// In slow start toss only on the unsmoothed gradient of the smallest RTT, skip the first one, and leave with
        /// the window uncut: what the thesis tries first against early exits (section 5.4.1). Its Table 5.4 shows
        /// windows of 33, 49, 110 and 247 packets, which are 10 times powers of 1.5: nothing is cut, and growth is by
        /// ACKs.
        slow_start_min: bool = false;
        /// Slow start grows by one packet per ACK, so 1.5 times a round with delayed ACKs. auto: freebsd only.
        ack_counting: Switch = Switch::Auto;
        /// The window keeps two packets, whatever a back-off or a loss asks. auto: not in freebsd, where three back-offs in a
        /// row leave less than a packet, which its host holds back for seconds.
        keep_two: Switch = Switch::Auto;
        /// cwnd equal to ssthresh is slow start: one packet more on the first ACK after a back-off. auto: freebsd only.
        slow_start_at_ssthresh: Switch = Switch::Auto;
        /// Count the last RTT again on every ACK without a sample, as h_ertt's users do. auto: freebsd only.
        stale_rtt: Switch = Switch::Auto;
        /// Probability by FreeBSD's table: gradients in 1/128 ms, certainty above 5 G. auto: freebsd only.
        table: Switch = Switch::Auto;
        /// The shadow window takes the window after the cut, not before. auto: freebsd only.
        shadow_after_cut: Switch = Switch::Auto;
        /// The shadow window grows in a round with a back-off too (thesis section 2.7.7). auto: paper only.
        shadow_always_grows: Switch = Switch::Auto;
        /// Grow though the application, not the window, holds the flow back. auto: freebsd only.
        grow_when_limited: Switch = Switch::Auto;
        /// A recovery whose loss cut nothing ends with what is in flight and one packet, and slow start from there (FreeBSD
        /// repairs from a window of one packet). auto: freebsd only.
        restarts: Switch = Switch::Auto;
        /// Linux: what a delay back-off leaves of the window, of 1024 (724 is the square root of one half).
        backoff_beta: u32 = 724, 1 => 1024;
        /// Linux: 1000/(G window); it weighs the sum of gradients in µs.
        backoff_factor: u32 = 42, 1 => 65536;
        /// Linux: hybrid slow start, 0 none, 1 ACK train, 2 delay, 3 both.
        hystart: u32 = 3, 0 => 3;
    }
    check |p| {
        if p.reference == Reference::Linux && !p.window.is_power_of_two() {
            return Err(ParamError::Conflict(alloc::format!(
                "window = {} with reference = linux must be a power of two, such as 8", p.window)));
        }
        p.check_used()
    }
}

/// CDG by one of its references.
#[derive(Debug)]
pub enum Cdg {
    /// FreeBSD's and, with other switches, the paper's.
    FreeBsd(FreeBsd),
    /// Linux's.
    Linux(Linux),
}

impl Algorithm for Cdg {
    const ABOUT: About = About {
        name: "cdg",
        title: "CDG (CAIA Delay Gradient)",
        paper: "Hayes and Armitage, IFIP Networking 2011",
        family: Family::DualMode,
        signal: "growth of the smallest and the largest RTT of a round; loss",
        evidence: Evidence::Published,
        departures: &[
            "freebsd: cwnd in fast recovery is the host's, where FreeBSD restarts from one packet and grows",
            "freebsd: the table of probabilities is computed, not stored (equal to the last digit)",
            "linux: e^-x is exact, where the kernel multiplies 16-bit table entries",
            "linux: a recovery taken back at its very end begins no round, which the kernel does (CA_EVENT_COMPLETE_CWR)",
            "paper: read from the thesis' summary; the round after a back-off is measured but tosses no coin",
            "paper: a shadow window above cwnd becomes ssthresh, as FreeBSD and section 4.3.3.2 have it; Eq 2.29 sets cwnd at once",
        ],
        floor: 0.0,
        start: StartRule::Own("cdg"),
        modes: &[crate::modes::DELAY, crate::modes::LOSS],
        ..About::DEFAULT
    };
    type Params = Params;

    fn new(p: &Params, setup: Setup<'_>) -> Self {
        match p.reference {
            Reference::Linux => Cdg::Linux(Linux::new(p, setup)),
            _ => Cdg::FreeBsd(FreeBsd::new(p, setup)),
        }
    }
}

macro_rules! forward {
    ($self:ident, $x:ident => $call:expr) => {
        match $self {
            Cdg::FreeBsd($x) => $call,
            Cdg::Linux($x) => $call,
        }
    };
}

impl CongestionControl for Cdg {
    #[inline]
    fn on_ack(&mut self, flow: &mut Flow, ack: &Ack) {
        forward!(self, x => x.on_ack(flow, ack));
    }
    fn on_congestion(&mut self, flow: &mut Flow, congestion: &Congestion) -> Reaction {
        forward!(self, x => x.on_congestion(flow, congestion))
    }
    fn on_undo(&mut self, flow: &mut Flow) {
        forward!(self, x => x.on_undo(flow));
    }
    fn on_event(&mut self, flow: &mut Flow, event: Event) {
        forward!(self, x => x.on_event(flow, event));
    }
    fn weighed(&self, flow: &Flow) -> [Bytes; 2] {
        forward!(self, x => x.weighed(flow))
    }
    fn vars(&self, see: &mut dyn FnMut(&'static str, f64)) {
        forward!(self, x => x.vars(see));
    }
}

/// FreeBSD repairs from a window of one packet and leaves with what is in flight then and one more, or `ssthresh` if what is in
/// flight is no less (NewReno's `post_recovery`, which CDG and CHD borrow); a window not cut is reached again by slow start.
pub(super) fn restart(flow: &mut Flow) {
    let before = flow.windows();
    let one_more = flow.in_flight + flow.mss;
    let to = if flow.ends_beyond { one_more } else { flow.ssthresh.min(one_more) }.max(flow.floor);
    if to < flow.cwnd || (to > flow.cwnd && flow.freebsd) {
        flow.cwnd = to;
        flow.because(causes::RecoveryExit { in_flight: flow.in_flight.get() as i64 }, before);
    }
}

/// Queueing delay as far as the flow's smallest RTT tells it, for events.
fn queue(flow: &Flow) -> i64 {
    flow.rtt.saturating_sub(flow.min_rtt).as_nanos() as i64
}

/// Tells that delay indications will be ignored from here on, what the thesis calls loss mode, or heard again.
fn switch_mode(flow: &mut Flow, from: i64, to: i64) {
    if from != to {
        flow.note(causes::ModeSwitch { from, to, queue: queue(flow), ..Default::default() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Signal;
    use crate::testing::{congestion, flow, packets};
    use params::Params as _;
    use units::Rng;

    fn of(spec: &str) -> (Cdg, Flow) {
        let mut flow = flow(100, 100);
        let p = Params::from_spec(&spec.parse().unwrap()).unwrap();
        let cc = Cdg::new(&p, Setup { flow: &mut flow, rng: Rng::new(1, 0, 0), own_start: true });
        (cc, flow)
    }

    #[test]
    fn events_reach_the_reference_in_use() {
        // FreeBSD's restarts from what is in flight where a loss cut nothing.
        let (mut cc, mut flow) = of("cdg(unknown_full=false)");
        let c = congestion(Signal::Loss, &flow);
        assert_eq!(cc.on_congestion(&mut flow, &c), Reaction::Own);
        flow.in_flight = packets(60);
        cc.on_event(&mut flow, Event::RecoveryEnd);
        assert_eq!(flow.cwnd, packets(61));
        // Linux' shadow is the window after idleness.
        let (mut cc, mut flow) = of("cdg(reference=linux)");
        flow.cwnd = packets(40);
        cc.on_event(&mut flow, Event::Restart);
        let mut shadow = None;
        cc.vars(&mut |name, value| shadow = if name == "shadow" { Some(value) } else { shadow });
        assert_eq!(shadow, Some(40_000.0));
        // A timeout that is taken back has no repair, whose end Linux would not tell of.
        for (undone, begins) in [(true, true), (false, false)] {
            let (mut cc, mut flow) = of("cdg(reference=linux)");
            let c = congestion(Signal::Timeout, &flow);
            cc.on_congestion(&mut flow, &c);
            if undone {
                cc.on_undo(&mut flow);
            }
            flow.sent_to = 7;
            cc.on_event(&mut flow, Event::RecoveryEnd);
            let Cdg::Linux(linux) = cc else { panic!() };
            assert_eq!(linux.round_ends == 7, begins, "{undone}");
        }
    }
}
