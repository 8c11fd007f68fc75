//! CHD's parameters, and what the references differ in.

use crate::algo::hd::{Backoff, Reference};
use params::{Auto, AutoTime, ParamError, Switch};
use units::Duration;

params::params! {
    /// Delays are the paper's and FreeBSD's (there in ticks of 1 ms); where a default is `auto`, the reference decides.
    pub struct Params {
        /// Whose rules: paper or freebsd.
        reference: Reference = Reference::Paper;
        /// No back-off at or below this queueing delay (sysctl queue_min).
        q_min: Duration = Duration::from_millis(5), Duration::ZERO => Duration::from_secs(10);
        /// Where region B begins (sysctl queue_threshold). auto: 30 ms in the paper, 20 ms in freebsd.
        q_th: AutoTime = AutoTime::AUTO, AutoTime::millis(1) => AutoTime::millis(10_000);
        /// Probability of a back-off per round at q_th (sysctl pmax, in percent). auto: 0.25 in the paper, 0.5 in freebsd.
        p_max: Auto = Auto::AUTO, Auto::of(0.0) => Auto::of(1.0);
        /// The round's delay is its largest, not its last (sysctl use_max).
        use_max: bool = true;
        /// Keep a shadow window (sysctl loss_fair).
        loss_fair: bool = true;
        /// Tolerate losses in region A.
        tolerate: bool = true;
        /// What a delay back-off leaves of the window; the paper's section VI wonders about more than half.
        beta_delay: f64 = 0.5, 0.1 => 0.99;
        /// Grow while a tolerated loss is repaired (section VI; the paper and FreeBSD do not).
        grow_in_recovery: bool = false;
        /// How much too long the base RTT is that this flow believes in: section VI asks what differences between flows do.
        base_error: Duration = Duration::ZERO, Duration::ZERO => Duration::from_secs(10);
        /// q_th as this share of the base RTT, twice q_min at least; 0 for q_th as it is set. Ours, for section VI, which
        /// asks for q_th and p_max to be found automatically.
        auto_q_th: f64 = 0.0, 0.0 => 10.0;
        /// p_max such that a flow climbs from q_min to q_th without a back-off with this probability; 0 for p_max as set.
        auto_p_max: f64 = 0.0, 0.0 => 0.9;
        /// No toss while data sent before the last back-off is under way: one back-off per RTT. auto: freebsd only.
        once_per_rtt: Switch = Switch::Auto;
    }
    check |p| { p.check() }
}

impl Params {
    /// HD's curve with the reference's numbers.
    pub(super) fn backoff(&self) -> Backoff {
        let (q_th, p_max) = match self.reference {
            Reference::Paper => (30, 0.25),
            Reference::FreeBsd => (20, 0.5),
        };
        let (q_th, p_max) = (self.q_th.or(Duration::from_millis(q_th)), self.p_max.or(p_max));
        Backoff { q_min: self.q_min, q_th, p_max, p_end: 0.0 }
    }

    fn check(&self) -> Result<(), ParamError> {
        for (name, on, given) in [
            ("q_th", self.auto_q_th > 0.0, self.q_th != AutoTime::AUTO),
            ("p_max", self.auto_p_max > 0.0, self.p_max != Auto::AUTO),
        ] {
            if on && given {
                return Err(ParamError::Conflict(alloc::format!(
                    "auto_{name} finds {name}, so {name} cannot be set too"
                )));
            }
        }
        self.backoff().check()
    }
}
