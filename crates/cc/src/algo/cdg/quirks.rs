//! The switches of FreeBSD's and the paper's rules, with what each reference answers.

use super::probability::Dice;
use super::{Infer, Params, Reference, Skip};

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
