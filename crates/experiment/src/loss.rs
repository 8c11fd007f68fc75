//! Loss that is not a queue's, as it is written: by dice, by a chain of two states, or at equal distances.

use crate::quantity::{Probability, Quantity};
use crate::scenario::LossModel;
use crate::source::did_you_mean;
use crate::tree::Any;
use params::{Auto, ParamError, Params, Spec, SpecError};

/// Loss as written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum LossText {
    Random(f64),
    Gilbert(Gilbert),
    Periodic(Periodic),
}

params::params! {
    /// Gilbert–Elliott loss by the mean lengths of its periods.
    pub struct Gilbert {
        /// Mean length of a good period in packets.
        good: f64 = 990.0, 1.0 => 1e12;
        /// Mean length of a bad period in packets.
        bad: f64 = 10.0, 1.0 => 1e12;
        /// Loss in good periods.
        loss_good: f64 = 0.0, 0.0 => 1.0;
        /// Loss in bad periods.
        loss_bad: f64 = 1.0, 0.0 => 1.0;
    }
}

params::params! {
    /// Loss without dice, as the analysis of a sawtooth has it, or of chosen packets once.
    pub struct Periodic {
        /// Packets from one loss to the next.
        every: u64 = 1000, 2 => 1_000_000_000_000;
        /// Packets lost in a row.
        burst: u64 = 1, 1 => 1_000_000_000_000;
        /// Number of the first packet lost, counted from 1; `auto` is `every`.
        first: Auto = Auto::AUTO, Auto::of(1.0) => Auto::of(1e12);
    }
    check |p| {
        let most = p.every - 1;
        if p.burst > most {
            let burst = p.burst;
            return Err(ParamError::Conflict(format!("burst = {burst} of every {} is every packet: at most {most}", p.every)));
        }
        if let Some(first) = p.first.0 && first.fract() != 0.0 {
            return Err(ParamError::Conflict(format!("first = {first} is no number of a packet: a whole one from 1 on")));
        }
        Ok(())
    }
}

impl LossText {
    /// What a link does.
    pub fn model(&self) -> LossModel {
        match self {
            LossText::Random(0.0) => LossModel::None,
            LossText::Random(p) => LossModel::Random(*p),
            // A period that lasts n packets on average ends with probability 1/n after each.
            LossText::Gilbert(g) => LossModel::Gilbert {
                to_bad: 1.0 / g.good,
                to_good: 1.0 / g.bad,
                loss_good: g.loss_good,
                loss_bad: g.loss_bad,
            },
            LossText::Periodic(p) => {
                LossModel::Periodic { first: p.first.or(p.every as f64) as u64, every: p.every, burst: p.burst }
            }
        }
    }
}

fn written<P: Params>(name: &str, settings: &P) -> Any {
    let args = settings.values().into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    Any::Text(Spec { name: name.into(), args }.to_string())
}

impl Quantity for LossText {
    const NUMERIC: bool = true;
    fn what() -> String {
        "a probability such as \"0.1 %\", \"gilbert(good=990, bad=10)\" or \"periodic(every=1000)\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        if text.trim_start().starts_with(|c: char| c.is_alphabetic()) {
            let name = text.split('(').next().unwrap_or(text).trim();
            let no_model = || {
                let near = did_you_mean(name, ["gilbert", "periodic"]);
                format!("{text:?} is not {}{near}", Self::what())
            };
            let spec: Spec = text.parse().map_err(|e: SpecError| match name {
                "gilbert" | "periodic" => e.to_string(),
                _ => no_model(),
            })?;
            return match spec.name.as_str() {
                "gilbert" => Params::from_spec(&spec).map(LossText::Gilbert).map_err(|e| e.to_string()),
                "periodic" => Params::from_spec(&spec).map(LossText::Periodic).map_err(|e| e.to_string()),
                _ => Err(no_model()),
            };
        }
        match Probability::read(text) {
            Ok(p) => Ok(LossText::Random(p.0)),
            Err(e) if e.contains("is not") => Err(format!("{text:?} is not {}", Self::what())),
            Err(e) => Err(e),
        }
    }
    fn number(x: f64) -> Result<Self, String> {
        Probability::number(x).map(|p| LossText::Random(p.0))
    }
    fn write(&self) -> Any {
        match self {
            LossText::Random(p) => Any::Float(*p),
            LossText::Gilbert(g) => written("gilbert", g),
            LossText::Periodic(p) => written("periodic", p),
        }
    }
}
