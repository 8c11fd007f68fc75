//! The one table of queues: every law alone and under each scheduler, and the queues that are a whole of their own.

use crate::law::{
    Never, ared::Ared, blue::Blue, cobalt::Cobalt, codel::Codel, codel_dt::CodelDt, pi::Pi, pie::Pie, red::Red,
    rem::Rem,
};
use crate::queue::fair::{self, Discipline, Fair, drr, sfq};
use crate::queue::fifo::{self, Fifo};
use crate::queue::{choke, dualpi2, sfb};
use crate::{Averaging, LawKind, LinkInfo, Packet, Place, Qdisc, QdiscKind};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::marker::PhantomData;
use params::{Field, ParamError, Params, Spec};
use units::{Rng, streams};

/// Every queue by name, in two parts. A law `x` makes the queues `x`, `fq_x`, `sfq_x` and `drr_x`; a whole queue, which
/// is more than a way to wait and a law, makes one. Nothing else lists them.
macro_rules! queues {
    (laws: $($name:ident => $law:ty,)*; whole: $($whole:ident => $kind:ty,)*) => {
        /// Every queue.
        pub static QDISCS: &[About] = &[
            $( About::of::<Fifo<(), $law>>(stringify!($name), stringify!($name)), )*
            $( About::of::<Fair<(), $law>>(concat!("fq_", stringify!($name)), stringify!($name)), )*
            $( About::of::<Sfq<$law>>(concat!("sfq_", stringify!($name)), stringify!($name)), )*
            $( About::of::<Drr<$law>>(concat!("drr_", stringify!($name)), stringify!($name)), )*
            $( About::of::<Whole<$kind>>(stringify!($whole), stringify!($whole)), )*
        ];

        /// Builds the queue a spec names. An error if there is none of that name, or it does not take a setting.
        pub fn build<P: Packet + Debug + Send + 'static>(
            spec: &Spec,
            link: &LinkInfo,
            rng: Rng,
        ) -> Result<Box<dyn Qdisc<P>>, ParamError> {
            $(
                if spec.name == stringify!($name) {
                    return Fifo::<(), $law>::build(spec, link, rng);
                }
                if spec.name == concat!("fq_", stringify!($name)) {
                    return Fair::<(), $law>::build(spec, link, rng);
                }
                if spec.name == concat!("sfq_", stringify!($name)) {
                    return Sfq::<$law>::build(spec, link, rng);
                }
                if spec.name == concat!("drr_", stringify!($name)) {
                    return Drr::<$law>::build(spec, link, rng);
                }
            )*
            $(
                if spec.name == stringify!($whole) {
                    return Whole::<$kind>::build(spec, link, rng);
                }
            )*
            Err(unknown(&spec.name))
        }
    };
}

queues! {
    laws:
        fifo => Never,
        red => Red,
        ared => Ared,
        rem => Rem,
        pi => Pi,
        blue => Blue,
        codel => Codel,
        codel_dt => CodelDt,
        cobalt => Cobalt,
        pie => Pie,
    ;
    whole:
        choke => choke::Kind,
        sfb => sfb::Kind,
        dualpi2 => dualpi2::Kind,
}

/// What a queue is, for lists and documentation.
pub struct About {
    /// The name users write.
    pub name: &'static str,
    /// The name of its law, or its own if it is a whole queue.
    pub law: &'static str,
    /// Where its law was published.
    pub paper: &'static str,
    /// What its law does.
    pub doc: &'static str,
    /// How packets wait, and where that was published.
    pub scheduler: &'static str,
    /// What users may set, the law's parameters first.
    pub fields: fn() -> Vec<Field>,
    resolve: fn(&Spec) -> Result<Values, ParamError>,
    averaging: fn(&Spec, &LinkInfo) -> Option<Averaging>,
}

/// Parameters by name, with their values as text.
type Values = Vec<(&'static str, String)>;

impl About {
    const fn of<E: Entry>(name: &'static str, law: &'static str) -> Self {
        About {
            name,
            law,
            paper: E::PAPER,
            doc: E::DOC,
            scheduler: E::SCHEDULER,
            fields: fields::<E>,
            resolve: |spec| Ok(settle::<E>(spec)?.values()),
            averaging: |spec, link| E::averaging(&settle::<E>(spec).ok()?, link),
        }
    }
}

/// A line of the table: what users set, and the queue it makes. (The packet type plays no part before `build`.)
trait Entry: Sized {
    type Law: Params;
    type Queue: Params;
    const PAPER: &'static str;
    const DOC: &'static str;
    const SCHEDULER: &'static str;
    /// The defaults that go with what was asked of the law.
    fn defaults(asked: &Self::Law) -> Both<Self>;
    fn make<P: Packet + Debug + Send + 'static>(both: &Both<Self>, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>>;
    /// What the two sets do not tell by themselves.
    fn check(_: &Both<Self>) -> Result<(), ParamError> {
        Ok(())
    }
    /// Sub-queues share a limit, so that theirs is not told.
    fn averaging(_: &Both<Self>, _: &LinkInfo) -> Option<Averaging> {
        None
    }

    fn build<P: Packet + Debug + Send + 'static>(
        spec: &Spec,
        link: &LinkInfo,
        rng: Rng,
    ) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Self::make(&settle::<Self>(spec)?, link, rng))
    }
}

impl<L: LawKind> Entry for Fifo<(), L> {
    type Law = L::Params;
    type Queue = fifo::Params;
    const PAPER: &'static str = L::PAPER;
    const DOC: &'static str = L::DOC;
    const SCHEDULER: &'static str = "first in, first out";

    fn defaults(asked: &L::Params) -> Both<Self> {
        Both { law: L::defaults(asked, Place::Alone), queue: fifo::Params::default() }
    }

    fn check(both: &Both<Self>) -> Result<(), ParamError> {
        L::check_alone(&both.law)
    }

    fn make<P: Packet + Debug + Send + 'static>(both: &Both<Self>, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>> {
        let limit = link.limit_or(both.queue.limit);
        let link = link.limited(both.queue.limit);
        Box::new(Fifo::new(L::new(&both.law, &link, rng), &link, limit).dropping(both.queue.drop))
    }

    fn averaging(both: &Both<Self>, link: &LinkInfo) -> Option<Averaging> {
        L::averaging(&both.law, &link.limited(both.queue.limit))
    }
}

/// Sub-queues of flows that take turns by `discipline`, each under a law of its own.
fn sub_queues<P: Packet + Debug + Send + 'static, L: LawKind>(
    law: &L::Params,
    queue: &fair::Params,
    discipline: Discipline,
    link: &LinkInfo,
    mut rng: Rng,
) -> Box<dyn Qdisc<P>> {
    let link = link.limited(queue.limit);
    // Each flow's dice are its own: one flow more does not re-roll another's.
    let seed = rng.bits();
    let fair = Fair::<P, L>::new(queue, &link, &mut rng, |flow, _| {
        L::new(law, &link, Rng::new(seed, flow, streams::AQM)).among(queue.limit, queue.flows)
    });
    Box::new(fair.taking_turns(discipline))
}

impl<L: LawKind> Entry for Fair<(), L> {
    type Law = L::Params;
    type Queue = fair::Params;
    const PAPER: &'static str = L::PAPER;
    const DOC: &'static str = L::DOC;
    const SCHEDULER: &'static str = "DRR++ over hashed flows (RFC 8290)";

    fn defaults(asked: &L::Params) -> Both<Self> {
        Both { law: L::defaults(asked, Place::Fair), queue: L::under_fair(asked) }
    }

    fn make<P: Packet + Debug + Send + 'static>(both: &Both<Self>, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>> {
        sub_queues::<P, L>(&both.law, &both.queue, Discipline::NewFirst, link, rng)
    }
}

/// A law under stochastic fairness queueing.
struct Sfq<L>(PhantomData<L>);

impl<L: LawKind> Entry for Sfq<L> {
    type Law = L::Params;
    type Queue = sfq::Params;
    const PAPER: &'static str = L::PAPER;
    const DOC: &'static str = L::DOC;
    const SCHEDULER: &'static str = "round robin by packets over hashed flows (McKenney, INFOCOM 1990)";

    fn defaults(asked: &L::Params) -> Both<Self> {
        Both { law: L::defaults(asked, Place::Alone), queue: sfq::Params::default() }
    }

    fn make<P: Packet + Debug + Send + 'static>(both: &Both<Self>, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>> {
        sub_queues::<P, L>(&both.law, &both.queue.fair(), Discipline::Packets, link, rng)
    }
}

/// A law under deficit round robin.
struct Drr<L>(PhantomData<L>);

impl<L: LawKind> Entry for Drr<L> {
    type Law = L::Params;
    type Queue = drr::Params;
    const PAPER: &'static str = L::PAPER;
    const DOC: &'static str = L::DOC;
    const SCHEDULER: &'static str = "deficit round robin over hashed flows (Shreedhar and Varghese, SIGCOMM 1995)";

    fn defaults(asked: &L::Params) -> Both<Self> {
        Both { law: L::defaults(asked, Place::Alone), queue: drr::Params::default() }
    }

    fn make<P: Packet + Debug + Send + 'static>(both: &Both<Self>, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>> {
        sub_queues::<P, L>(&both.law, &both.queue.fair(), Discipline::Deficit, link, rng)
    }
}

/// A queue that is law and scheduler in one.
struct Whole<K>(PhantomData<K>);

params::params! {
    /// The second set of parameters of a whole queue, which has only one: nothing.
    pub struct NoMore {}
}

impl<K: QdiscKind> Entry for Whole<K> {
    type Law = K::Params;
    type Queue = NoMore;
    const PAPER: &'static str = K::PAPER;
    const DOC: &'static str = K::DOC;
    const SCHEDULER: &'static str = K::SCHEDULER;

    fn defaults(asked: &K::Params) -> Both<Self> {
        Both { law: K::defaults(asked), queue: NoMore {} }
    }

    fn make<P: Packet + Debug + Send + 'static>(both: &Both<Self>, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>> {
        K::make(&both.law, link, rng)
    }

    fn averaging(both: &Both<Self>, link: &LinkInfo) -> Option<Averaging> {
        K::averaging(&both.law, link)
    }
}

/// A law's parameters and its queue's as one set.
struct Both<E: Entry> {
    law: E::Law,
    queue: E::Queue,
}

impl<E: Entry> Both<E> {
    fn set(&mut self, spec: &Spec) -> Result<(), ParamError> {
        for (i, (name, text)) in spec.args.iter().enumerate() {
            if spec.args[..i].iter().any(|(n, _)| n == name) {
                return Err(ParamError::Repeated { name: name.clone() });
            }
            match self.law.set(&spec.name, name, text) {
                Err(ParamError::Unknown { .. }) => self.queue.set(&spec.name, name, text).map_err(|e| match e {
                    ParamError::Unknown { owner, name, .. } => {
                        ParamError::Unknown { owner, name, allowed: self.values().iter().map(|(n, _)| *n).collect() }
                    }
                    e => e,
                })?,
                other => other?,
            }
        }
        Ok(())
    }

    fn values(&self) -> Values {
        let mut values = self.law.values();
        values.extend(self.queue.values());
        values
    }
}

/// Defaults, those of the reference asked for, and then what was asked for.
fn settle<E: Entry>(spec: &Spec) -> Result<Both<E>, ParamError> {
    let mut asked = Both::<E> { law: Default::default(), queue: Default::default() };
    asked.set(spec)?;
    let mut both = E::defaults(&asked.law);
    both.set(spec)?;
    both.law.check()?;
    both.queue.check()?;
    E::check(&both)?;
    Ok(both)
}

fn fields<E: Entry>() -> Vec<Field> {
    let mut fields = E::Law::fields();
    fields.extend(E::Queue::fields());
    let defaults = E::defaults(&Default::default()).values();
    for (field, (_, default)) in fields.iter_mut().zip(defaults) {
        field.default = default;
    }
    fields
}

/// Names under which people look for a queue, and the one that is nearest to what they mean: no slip of the finger leads
/// from one to the other.
pub const SOUGHT: &[(&str, &str)] = &[("cake", "fq_cobalt"), ("droptail", "fifo")];

fn unknown(name: &str) -> ParamError {
    if let Some((_, near)) = SOUGHT.iter().find(|(sought, _)| sought.eq_ignore_ascii_case(name)) {
        return ParamError::Conflict(format!("there is no queue \"{name}\"; what comes nearest is \"{near}\""));
    }
    ParamError::NoSuch { kind: "queue", name: name.into(), allowed: QDISCS.iter().map(|a| a.name).collect() }
}

/// The line of that name; an error with the names there are.
pub fn find(name: &str) -> Result<&'static About, ParamError> {
    QDISCS.iter().find(|a| a.name == name).ok_or_else(|| unknown(name))
}

/// Checks a spec and returns every parameter with its value, or what is wrong with the spec.
pub fn resolve(spec: &Spec) -> Result<Vec<(&'static str, String)>, ParamError> {
    (find(&spec.name)?.resolve)(spec)
}

/// The average that a queue of one line goes by on a link. `None` where it has none, or the spec is refused.
pub fn averaging(spec: &Spec, link: &LinkInfo) -> Option<Averaging> {
    (find(&spec.name).ok()?.averaging)(spec, link)
}

#[cfg(test)]
mod tests;
