//! The switches of FreeBSD's and the paper's rules, with what each reference answers.

use super::probability::Dice;
use super::{Infer, Params, Reference, Skip};
use params::ParamError;

/// The parameters with the reference's answers filled in.
#[derive(Debug)]
pub(super) struct Rules {
    pub g: f64,
    pub beta_delay: f64,
    pub beta_loss: f64,
    pub alpha_inc: u32,
    pub consec_cong: u32,
    pub hold_backoff: u32,
    pub use_ineffectual: bool,
    pub use_shadow: bool,
    pub use_tolerance: bool,
    pub unknown_full: bool,
    pub recovery_bug: bool,
    pub skip: Skip,
    pub raw_slow_start: bool,
    pub slow_start_min: bool,
    pub ack_counting: bool,
    pub infer: Infer,
    pub stale_rtt: bool,
    pub dice: Dice,
    pub shadow_after_cut: bool,
    pub shadow_always_grows: bool,
    pub grow_when_limited: bool,
    pub restarts: bool,
    /// The slow start is CDG's: gradients can end it.
    pub own_start: bool,
}

impl Rules {
    pub fn new(p: &Params, own_start: bool) -> Self {
        let kernel = p.reference == Reference::FreeBsd;
        Rules {
            g: p.g,
            beta_delay: p.beta_delay,
            beta_loss: p.beta_loss,
            alpha_inc: p.alpha_inc,
            consec_cong: p.consec_cong,
            hold_backoff: p.hold_backoff,
            use_ineffectual: p.use_ineffectual,
            use_shadow: p.use_shadow,
            use_tolerance: p.use_tolerance.or(true),
            unknown_full: p.unknown_full.or(kernel),
            recovery_bug: p.recovery_bug.or(kernel),
            skip: match p.skip {
                Skip::Auto if kernel => Skip::Gradient,
                Skip::Auto => Skip::Toss,
                given => given,
            },
            raw_slow_start: p.raw_slow_start.or(kernel),
            slow_start_min: p.slow_start_min,
            infer: p.infer,
            ack_counting: p.ack_counting.or(kernel),
            stale_rtt: p.stale_rtt.or(kernel),
            dice: if p.table.or(kernel) { Dice::Table } else { Dice::Exact },
            shadow_after_cut: p.shadow_after_cut.or(kernel),
            shadow_always_grows: p.shadow_always_grows.or(!kernel),
            grow_when_limited: p.grow_when_limited.or(kernel),
            restarts: p.restarts.or(kernel),
            own_start,
        }
    }
}

impl Params {
    /// What the reference does not know cannot be set: it would change nothing, silently.
    pub(super) fn check_used(&self) -> Result<(), ParamError> {
        const NOT_LINUX: [&str; 19] = [
            "g",
            "beta_delay",
            "alpha_inc",
            "hold_backoff",
            "infer",
            "unknown_full",
            "recovery_bug",
            "skip",
            "raw_slow_start",
            "slow_start_min",
            "ack_counting",
            "keep_two",
            "slow_start_at_ssthresh",
            "stale_rtt",
            "table",
            "shadow_after_cut",
            "shadow_always_grows",
            "grow_when_limited",
            "restarts",
        ];
        const ONLY_LINUX: [&str; 3] = ["backoff_beta", "backoff_factor", "hystart"];
        let linux = self.reference == Reference::Linux;
        let unused: &[&str] = if linux { &NOT_LINUX } else { &ONLY_LINUX };
        let given = params::Params::values(self).into_iter().zip(params::Params::values(&Params::default()));
        let Some(((name, value), _)) = given.into_iter().find(|(a, b)| a.1 != b.1 && unused.contains(&a.0)) else {
            return Ok(());
        };
        let instead = match name {
            "g" => "; backoff_factor scales the probability there (1000/(G window))",
            "beta_delay" => "; backoff_beta is what a delay back-off leaves there (of 1024)",
            _ => "",
        };
        let reference = if linux { "linux" } else { "freebsd or paper" };
        Err(ParamError::Conflict(alloc::format!(
            "{name} = {value} is not used with reference = {reference}{instead}; leave it out"
        )))
    }
}

#[cfg(test)]
mod tests;
