//! `clock`: the clock of the emulator that a link imitates.

use crate::limits::TICK_HZ_MAX;
use crate::quantity::{ClockKind, SpecOf};
use crate::raw::Opt;
use crate::scenario::{Clock, RateSpec};
use crate::source::{Checked, Fault, did_you_mean};
use params::{ParamError, Params};

params::choice! {
    /// How dummynet rounds what a packet sent too early owes to the link.
    pub enum Rounding {
        /// Up to whole ticks, one at least: as it is.
        Ceil = "ceil",
        /// Down, so that a packet shorter than a tick owes nothing: the thesis' first fix (Appendix B.1).
        Floor = "floor",
    }
}

params::choice! {
    /// What dummynet counts its ticks with.
    pub enum Counter {
        /// The kernel's counter of ticks: the thesis' second fix (Appendix B.3), and the same as `coarse` at 1 kHz.
        Exact = "exact",
        /// FreeBSD's `getmicrouptime`, which moves once a millisecond.
        Coarse = "coarse",
    }
}

/// Period of the coarse clock, measured in Appendix B.3, in Hz.
const COARSE_HZ: u64 = 1000;

params::params! {
    /// The clock of dummynet.
    pub struct TickParams {
        /// Ticks per second: 1000 is FreeBSD's default, 10000 what the thesis ran its router at.
        hz: u64 = 1000, 1 => TICK_HZ_MAX;
        /// How the time that a packet owes to the link is rounded to ticks.
        round: Rounding = Rounding::Ceil;
        /// What counts the ticks.
        clock: Counter = Counter::Exact;
        /// An idle link has a tick's worth of credit (`net.inet.ip.dummynet.io_fast`) instead of none.
        io_fast: bool = false;
        /// The packet that overdraws the credit is held back for what it owes, as dummynet does.
        adjust_last: bool = true;
        /// Share of the coarse clock's readings that come a few microseconds early: the tick at that reading is then
        /// counted one tick later. One half, since two readings of one jittering clock differ either way as often.
        early: f64 = 0.5, 0.0 => 1.0;
    }
    check |p| {
        if p.clock == Counter::Coarse && !p.hz.is_multiple_of(COARSE_HZ) {
            return Err(ParamError::Conflict(format!(
                "the coarse clock moves once a millisecond: hz = {} must be a multiple of {COARSE_HZ}, or clock=exact",
                p.hz
            )));
        }
        p.need(&TickParams::default(), &["early"], p.clock == Counter::Coarse, "clock=coarse")?;
        p.need(&TickParams::default(), &["round"], p.adjust_last, "adjust_last=true")
    }
}

impl TickParams {
    /// Ticks between two readings of the clock that differ.
    pub fn ticks_per_reading(&self) -> u64 {
        match self.clock {
            Counter::Exact => 1,
            Counter::Coarse => (self.hz / COARSE_HZ).max(1),
        }
    }
}

/// A link's clock, as written under `key`.
pub(crate) fn clock(at: &Opt<SpecOf<ClockKind>>, key: &str, rate: Option<&RateSpec>) -> Checked<Clock> {
    let Some(at) = at else { return Ok(Clock::Exact) };
    let spec = &at.value.0.0;
    let fail = |message: String| Err(Fault::at(at.place, message).under(format!("{key}.clock")));
    match spec.name.as_str() {
        "exact" if spec.args.is_empty() => Ok(Clock::Exact),
        "tick" if matches!(rate, Some(RateSpec::Trace { .. })) => fail(
            "a link that follows a trace has that trace's clock: leave the clock out, or give a constant rate".into(),
        ),
        "tick" => match TickParams::from_spec(spec) {
            Ok(p) => Ok(Clock::Tick(p)),
            Err(e) => fail(e.to_string()),
        },
        _ => {
            let near = if spec.name == "exact" { String::new() } else { did_you_mean(&spec.name, ["exact", "tick"]) };
            fail(format!("\"{spec}\" is not \"exact\" or \"tick(hz=1000)\"{near}"))
        }
    }
}
