//! The one table of algorithms, and how a spec becomes an algorithm at work.

use crate::start::{Composed, SlowStart};
use crate::{CongestionControl, Flow, algo, start};
use alloc::boxed::Box;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use params::{Field, ParamError, Params, Spec};
use units::{Bytes, Rng};

/// What an algorithm is, for lists, documentation and hosts.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name users write.
    pub name: &'static str,
    /// The name people say.
    pub title: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// Its place in the taxonomy of the HLDG thesis (Figure 2.11).
    pub family: Family,
    /// What it reacts to, in words.
    pub signal: &'static str,
    /// How good the evidence is that this is the published algorithm.
    pub evidence: Evidence,
    /// Where it departs from the publication, and why.
    pub departures: &'static [&'static str],
    /// The least window in packets, if no parameter sets another; 0 keeps none.
    pub floor: f64,
    /// The loss recovery it was published with, if it needs one; else the stack's.
    pub recovery: Option<Recovery>,
    /// How it uses ECN when the experiment turns it on.
    pub ecn: Ecn,
    /// Which slow start it takes.
    pub start: StartRule,
    /// Those of its parameters that say how its own slow start goes: refused where another is taken.
    pub of_start: &'static [&'static str],
    /// Sets `flow.pacing`, with any slow start.
    pub paces: bool,
    /// Reads `ack.rate`.
    pub needs_rate: bool,
    /// Reads `ack.one_way` or `ack.received_at`.
    pub needs_one_way: bool,
    /// What it needs to hear from the receiver.
    pub feedback: Feedback,
    /// Its [`modes`](crate::modes), that of a new flow first; empty if it has none.
    pub modes: &'static [i64],
}

impl About {
    /// The usual answers, to be overridden with `..About::DEFAULT`.
    pub const DEFAULT: About = About {
        name: "",
        title: "",
        paper: "",
        family: Family::Loss,
        signal: "",
        evidence: Evidence::Equations,
        departures: &[],
        floor: 2.0,
        recovery: None,
        ecn: Ecn::Classic,
        start: StartRule::Any,
        of_start: &[],
        paces: false,
        needs_rate: false,
        needs_one_way: false,
        feedback: Feedback::Usual,
        modes: &[],
    };
}

/// Families of the thesis' taxonomy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Family {
    Loss,
    Delay,
    DualMode,
    DualSignal,
    DelaySensitive,
    Model,
    Ecn,
}

impl Family {
    /// The word used in tables.
    pub fn name(self) -> &'static str {
        match self {
            Family::Loss => "loss",
            Family::Delay => "delay",
            Family::DualMode => "dual mode",
            Family::DualSignal => "dual signal",
            Family::DelaySensitive => "delay sensitive",
            Family::Model => "model",
            Family::Ecn => "ecn",
        }
    }
}

/// How good the evidence is, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// Equal to a reference implementation on a trace.
    Trace,
    /// Matches published numbers.
    Published,
    /// Matches the equations.
    Equations,
    /// Partly from memory; left out of rankings.
    Memory,
}

impl Evidence {
    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Evidence::Trace => "equal to a reference implementation on a trace",
            Evidence::Published => "matches published numbers",
            Evidence::Equations => "matches the equations",
            Evidence::Memory => "partly from memory",
        }
    }
}

/// Loss recovery an algorithm may insist on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Restart from one segment on any loss.
    Tahoe,
    /// Leave fast recovery on the first new ACK.
    Reno,
    /// RFC 6582, without SACK.
    NewReno,
    /// RFC 6675: SACK, losses found by count.
    Sack,
}

/// How ECN is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Never negotiated.
    Off,
    /// RFC 3168: one reaction per round, ECT(0).
    Classic,
    /// Byte-accurate feedback, ECT(0) (DCTCP).
    Accurate,
    /// Byte-accurate feedback, ECT(1) (L4S).
    L4s,
}

/// Which slow start an algorithm takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartRule {
    /// Any; standard unless set.
    Any,
    /// Its own (`setup.own_start`), unless another is set; `slow_start=standard` switches the own one off. With
    /// settings, as in `slow_start=vegas(gamma=2)`, the separate slow start of that name is taken, if there is one.
    Own(&'static str),
    /// Its own only: the key is refused.
    Fixed,
}

/// What the receiver tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// As its stack does.
    Usual,
    /// An ACK for every packet, with time stamps in microseconds (algorithms that probe with trains).
    EveryPacket,
}

/// What an algorithm is born with.
pub struct Setup<'a> {
    /// The flow as it stands.
    pub flow: &'a mut Flow,
    /// Its dice.
    pub rng: Rng,
    /// Use the algorithm's own slow start (always true unless [`StartRule::Own`] and another was set).
    pub own_start: bool,
}

/// An algorithm that can be built from parameters.
pub trait Algorithm: CongestionControl + Sized + 'static {
    /// Who it is.
    const ABOUT: About;
    /// What users may set.
    type Params: Params;
    /// Starts it on a flow.
    fn new(params: &Self::Params, setup: Setup<'_>) -> Self;
}

/// Every parameter with its value, in order of declaration.
type Values = Vec<(&'static str, String)>;
type Check = fn(&Spec) -> Result<Values, ParamError>;
type Build = fn(&Spec, Setup<'_>) -> Result<Box<dyn CongestionControl>, ParamError>;

/// One line of [`ALGORITHMS`].
pub struct Entry {
    /// Who it is.
    pub about: About,
    /// Its parameters, `slow_start` not included.
    pub fields: fn() -> Vec<Field>,
    check: Check,
    build: Build,
}

impl Entry {
    /// The entry of an algorithm.
    pub const fn of<A: Algorithm>() -> Entry {
        Entry {
            about: A::ABOUT,
            fields: A::Params::fields,
            check: |spec| Ok(A::Params::from_spec(spec)?.values()),
            build: |spec, setup| Ok(Box::new(A::new(&A::Params::from_spec(spec)?, setup))),
        }
    }

    /// Checks a spec and returns every parameter with its value, `slow_start` last where it applies.
    pub fn resolve(&self, spec: &Spec) -> Result<Values, ParamError> {
        let (rest, start) = self.split(spec)?;
        let mut values = (self.check)(&rest)?;
        if self.about.start != StartRule::Fixed {
            values.push(("slow_start", start.to_string()));
        }
        Ok(values)
    }

    /// Separates the `slow_start` key from the algorithm's own parameters.
    fn split(&self, spec: &Spec) -> Result<(Spec, Spec), ParamError> {
        let mut rest = spec.clone();
        let given = if self.about.start == StartRule::Fixed { None } else { rest.take("slow_start") };
        if rest.get("slow_start").is_some() {
            return Err(if self.about.start == StartRule::Fixed {
                let name = &spec.name;
                ParamError::Conflict(alloc::format!("{name} has a slow start of its own and takes no slow_start"))
            } else {
                ParamError::Repeated { name: "slow_start".into() }
            });
        }
        let start = match (given, self.about.start) {
            (Some(text), _) => text.parse::<Spec>().map_err(|e| ParamError::Conflict(e.to_string()))?,
            (None, StartRule::Own(name)) => Spec::named(name),
            (None, _) => Spec::named("standard"),
        };
        if !self.is_own(&start) {
            start::check(&start)?;
            self.refuse_of_start(&rest)?;
        }
        Ok((rest, start))
    }

    /// With another slow start, what would say how its own goes changes nothing.
    #[cold]
    fn refuse_of_start(&self, spec: &Spec) -> Result<(), ParamError> {
        if self.about.of_start.is_empty() {
            return Ok(());
        }
        let usual = (self.check)(&Spec::named(self.about.name))?;
        let mut both = (self.check)(spec)?.into_iter().zip(usual);
        match both.find(|((name, given), (_, usual))| self.about.of_start.contains(name) && given != usual) {
            Some(((name, given), (_, default))) => {
                Err(ParamError::Vain { name, given, needs: "the algorithm's own slow start", default })
            }
            None => Ok(()),
        }
    }

    /// Does it, or its slow start, set a rate to send at?
    pub fn paces(&self, spec: &Spec) -> bool {
        let start = self.split(spec).map(|(_, start)| start);
        self.about.paces || start.is_ok_and(|start| !self.is_own(&start) && start::paces(&start))
    }

    fn is_own(&self, start: &Spec) -> bool {
        let own = matches!(self.about.start, StartRule::Own(name) if start.name == name && start.args.is_empty());
        own || self.about.start == StartRule::Fixed
    }

    /// Builds the algorithm, composed with its slow start. An error if either does not take a setting.
    pub fn build(&self, spec: &Spec, flow: &mut Flow, rng: Rng) -> Result<Box<dyn CongestionControl>, ParamError> {
        let (rest, start) = self.split(spec)?;
        flow.floor = flow.mss.mul_f64(self.about.floor).max(Bytes::new(1));
        let own_start = self.is_own(&start);
        let part: Option<Box<dyn SlowStart>> = if own_start { None } else { start::build(&start, flow, &rng)? };
        let cc = (self.build)(&rest, Setup { flow, rng, own_start })?;
        Ok(match part {
            Some(start) => Box::new(Composed::new(start, cc)),
            None => cc,
        })
    }
}

/// Every algorithm. Adding one: its file, its `mod` line in `algo`, its entry here.
pub static ALGORITHMS: &[Entry] = &[
    Entry::of::<algo::newreno::NewReno>(),
    Entry::of::<algo::cubic::Cubic>(),
    Entry::of::<algo::vegas::Vegas>(),
    Entry::of::<algo::bbr::Bbr>(),
    Entry::of::<algo::cdg::Cdg>(),
    Entry::of::<algo::hldg::Hldg>(),
    Entry::of::<algo::hd::Hd>(),
    Entry::of::<algo::chd::Chd>(),
    Entry::of::<algo::scalable::Scalable>(),
    Entry::of::<algo::dctcp::Dctcp>(),
    Entry::of::<algo::ledbat::Ledbat>(),
    Entry::of::<algo::compound::Compound>(),
    Entry::of::<algo::highspeed::HighSpeed>(),
    Entry::of::<algo::westwood::Westwood>(),
    Entry::of::<algo::illinois::Illinois>(),
    Entry::of::<algo::yeah::Yeah>(),
    Entry::of::<algo::reno::Reno>(),
    Entry::of::<algo::tahoe::Tahoe>(),
    Entry::of::<algo::card::Card>(),
    Entry::of::<algo::dual::Dual>(),
    Entry::of::<algo::pert::Pert>(),
    Entry::of::<algo::vegas_plus::VegasPlus>(),
    Entry::of::<algo::timely::Timely>(),
    Entry::of::<algo::copa::Copa>(),
    Entry::of::<algo::lola::Lola>(),
    Entry::of::<algo::westwood_be::WestwoodBe>(),
    Entry::of::<algo::crb::Crb>(),
    Entry::of::<algo::abse::Abse>(),
    Entry::of::<algo::br::BulkRepeat>(),
    Entry::of::<algo::bbe::Bbe>(),
    Entry::of::<algo::agile::Agile>(),
    Entry::of::<algo::tcp_ap::TcpAp>(),
    Entry::of::<algo::d2tcp::D2tcp>(),
    Entry::of::<algo::l2dct::L2dct>(),
    Entry::of::<algo::prague::Prague>(),
    Entry::of::<algo::bic::Bic>(),
    Entry::of::<algo::sack_reno::SackReno>(),
    Entry::of::<algo::africa::Africa>(),
    Entry::of::<algo::libra::Libra>(),
    Entry::of::<algo::cx_tcp::CxTcp>(),
    Entry::of::<algo::vegas_a::VegasA>(),
    Entry::of::<algo::fast::Fast>(),
    Entry::of::<algo::nice::Nice>(),
    Entry::of::<algo::tcp_lp::TcpLp>(),
    Entry::of::<algo::ledbat_pp::LedbatPp>(),
    Entry::of::<algo::nimbus::Nimbus>(),
    Entry::of::<algo::tfrc::Tfrc>(),
    Entry::of::<algo::rapid::Rapid>(),
    Entry::of::<algo::bbr3::Bbr3>(),
    Entry::of::<algo::htcp::Htcp>(),
    Entry::of::<algo::hybla::Hybla>(),
    Entry::of::<algo::veno::Veno>(),
    Entry::of::<algo::nv::Nv>(),
];

pub use crate::start::SLOW_STARTS;

/// The entry of that name; an error with the names there are.
pub fn find(name: &str) -> Result<&'static Entry, ParamError> {
    ALGORITHMS.iter().find(|e| e.about.name == name).ok_or_else(|| ParamError::NoSuch {
        kind: "congestion control",
        name: name.into(),
        allowed: ALGORITHMS.iter().map(|e| e.about.name).collect(),
    })
}

/// Builds the algorithm a spec names. An error if there is none of that name, or it does not take a setting.
pub fn build(spec: &Spec, flow: &mut Flow, rng: Rng) -> Result<Box<dyn CongestionControl>, ParamError> {
    find(&spec.name)?.build(spec, flow, rng)
}
