//! The one table of queues: every law alone, and every law under the fair queue.

use crate::law::{Never, codel::Codel, pie::Pie};
use crate::queue::fair::{self, Fair};
use crate::queue::fifo::{self, Fifo};
use crate::{LawKind, Limit, LinkInfo, Packet, Place, Qdisc};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use params::{Field, ParamError, Params, Spec};
use units::{Rng, streams};

/// Every law by name. An entry `x` makes the queues `x` and `fq_x`; nothing else lists them.
macro_rules! laws {
    ($($name:ident => $law:ty),* $(,)?) => {
        /// Every queue.
        pub static QDISCS: &[About] = &[
            $( About::of::<Fifo<(), $law>>(stringify!($name)), )*
            $( About::of::<Fair<(), $law>>(concat!("fq_", stringify!($name))), )*
        ];

        /// Builds the queue a spec names.
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
            )*
            Err(unknown(&spec.name))
        }
    };
}

laws! {
    fifo => Never,
    codel => Codel,
    pie => Pie,
}

/// What a queue is, for lists and documentation.
pub struct About {
    /// The name users write.
    pub name: &'static str,
    /// Where its law was published.
    pub paper: &'static str,
    /// What its law does.
    pub doc: &'static str,
    /// How packets wait, and where that was published.
    pub scheduler: &'static str,
    /// What users may set, the law's parameters first.
    pub fields: fn() -> Vec<Field>,
    resolve: fn(&Spec) -> Result<Values, ParamError>,
}

/// Parameters by name, with their values as text.
type Values = Vec<(&'static str, String)>;

impl About {
    const fn of<C: Composition>(name: &'static str) -> Self {
        About {
            name,
            paper: C::Law::PAPER,
            doc: C::Law::DOC,
            scheduler: C::SCHEDULER,
            fields: fields::<C>,
            resolve: |spec| Ok(settle::<C>(spec)?.values()),
        }
    }
}

/// A queue over a law. (The packet type plays no part before `build`.)
trait Composition: Sized {
    type Law: LawKind;
    type Queue: Params;
    const SCHEDULER: &'static str;
    const PLACE: Place;
    /// The queue's defaults that go with what was asked of the law.
    fn queue_defaults(asked: &<Self::Law as LawKind>::Params) -> Self::Queue;
    fn make<P: Packet + Debug + Send + 'static>(both: &Both<Self>, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>>;

    fn build<P: Packet + Debug + Send + 'static>(
        spec: &Spec,
        link: &LinkInfo,
        rng: Rng,
    ) -> Result<Box<dyn Qdisc<P>>, ParamError> {
        Ok(Self::make(&settle::<Self>(spec)?, link, rng))
    }
}

impl<L: LawKind> Composition for Fifo<(), L> {
    type Law = L;
    type Queue = fifo::Params;
    const SCHEDULER: &'static str = "first in, first out";
    const PLACE: Place = Place::Alone;

    fn queue_defaults(_: &L::Params) -> fifo::Params {
        fifo::Params::default()
    }

    fn make<P: Packet + Debug + Send + 'static>(both: &Both<Self>, link: &LinkInfo, rng: Rng) -> Box<dyn Qdisc<P>> {
        let limit = link.limit.unwrap_or(Limit::Packets(both.queue.limit));
        let link = LinkInfo { limit: Some(limit), ..*link };
        Box::new(Fifo::new(L::new(&both.law, &link, rng), &link, limit).dropping(both.queue.drop))
    }
}

impl<L: LawKind> Composition for Fair<(), L> {
    type Law = L;
    type Queue = fair::Params;
    const SCHEDULER: &'static str = "DRR++ over hashed flows (RFC 8290)";
    const PLACE: Place = Place::Fair;

    fn queue_defaults(asked: &L::Params) -> fair::Params {
        L::under_fair(asked)
    }

    fn make<P: Packet + Debug + Send + 'static>(both: &Both<Self>, link: &LinkInfo, mut rng: Rng) -> Box<dyn Qdisc<P>> {
        let limit = link.limit.unwrap_or(Limit::Packets(both.queue.limit));
        let link = LinkInfo { limit: Some(limit), ..*link };
        // Each flow's dice are its own: one flow more does not re-roll another's.
        let seed = rng.bits();
        Box::new(Fair::<P, L>::new(&both.queue, &link, &mut rng, |flow, _| {
            L::new(&both.law, &link, Rng::new(seed, flow, streams::AQM))
        }))
    }
}

/// A law's parameters and its queue's as one set.
struct Both<C: Composition> {
    law: <C::Law as LawKind>::Params,
    queue: C::Queue,
}

impl<C: Composition> Both<C> {
    /// The defaults that go with what was asked of the law.
    fn defaults(asked: &<C::Law as LawKind>::Params) -> Self {
        Both { law: C::Law::defaults(asked, C::PLACE), queue: C::queue_defaults(asked) }
    }

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
fn settle<C: Composition>(spec: &Spec) -> Result<Both<C>, ParamError> {
    let mut asked = Both::<C> { law: Default::default(), queue: Default::default() };
    asked.set(spec)?;
    let mut both = Both::<C>::defaults(&asked.law);
    both.set(spec)?;
    both.law.check()?;
    both.queue.check()?;
    Ok(both)
}

fn fields<C: Composition>() -> Vec<Field> {
    let mut fields = <C::Law as LawKind>::Params::fields();
    fields.extend(C::Queue::fields());
    let defaults = Both::<C>::defaults(&Default::default()).values();
    for (field, (_, default)) in fields.iter_mut().zip(defaults) {
        field.default = default;
    }
    fields
}

fn unknown(name: &str) -> ParamError {
    ParamError::NoSuch { kind: "queue", name: name.into(), allowed: QDISCS.iter().map(|a| a.name).collect() }
}

/// The line of that name.
pub fn find(name: &str) -> Result<&'static About, ParamError> {
    QDISCS.iter().find(|a| a.name == name).ok_or_else(|| unknown(name))
}

/// Checks a spec and returns every parameter with its value.
pub fn resolve(spec: &Spec) -> Result<Vec<(&'static str, String)>, ParamError> {
    (find(&spec.name)?.resolve)(spec)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    fn value(spec: &str, name: &str) -> String {
        let values = resolve(&spec.parse().unwrap()).unwrap_or_else(|e| panic!("{spec}: {e}"));
        values.iter().find(|(n, _)| *n == name).unwrap_or_else(|| panic!("{spec} has no {name}")).1.clone()
    }

    #[test]
    fn every_law_is_there_alone_and_under_the_fair_queue() {
        // No list of names: adding a law changes no test.
        let (fair, alone): (Vec<&About>, Vec<&About>) = QDISCS.iter().partition(|a| a.name.starts_with("fq_"));
        assert_eq!(fair.len(), alone.len());
        for law in alone {
            assert_eq!(find(&alloc::format!("fq_{}", law.name)).unwrap().scheduler, Fair::<(), Never>::SCHEDULER);
        }
    }

    #[test]
    fn no_parameter_of_a_law_has_the_name_of_one_of_its_queue() {
        for about in QDISCS {
            let mut names: Vec<_> = (about.fields)().iter().map(|f| f.name).collect();
            names.sort_unstable();
            assert!(names.windows(2).all(|w| w[0] != w[1]), "{}: {names:?}", about.name);
        }
    }

    #[test]
    fn fields_show_the_defaults_in_force() {
        for about in QDISCS {
            let resolved = resolve(&Spec::named(about.name)).unwrap();
            let fields: Vec<_> = (about.fields)().into_iter().map(|f| (f.name, f.default)).collect();
            assert_eq!(resolved, fields, "{}", about.name);
        }
    }

    #[test]
    fn a_reference_brings_its_defaults_and_what_is_set_wins() {
        assert_eq!(value("codel", "ecn"), "false");
        assert_eq!(value("fq_codel", "ecn"), "true");
        assert_eq!(value("fq_codel(reference=freebsd)", "ecn"), "false");
        assert_eq!(value("fq_codel(reference=freebsd)", "overflow"), "one");
        assert_eq!(value("fq_codel(reference=linux)", "quantum"), "0B");
        assert_eq!(value("fq_codel(reference=linux, quantum=300B)", "quantum"), "300B");
        assert_eq!(value("fq_pie(reference=linux)", "overflow"), "refuse");
        assert_eq!(value("pie(reference=freebsd)", "rate_estimator"), "true");
        assert_eq!(value("fq_pie(reference=freebsd)", "rate_estimator"), "false");
        assert_eq!(value("pie(reference=draft)", "tupdate"), "30ms");
        assert_eq!(value("pie(tupdate=7ms, reference=draft)", "tupdate"), "7ms");
        assert_eq!(value("pie(reference=docsis)", "target"), "10ms");
        assert_eq!(value("codel(reference=linux)", "reference"), "linux");
    }

    #[test]
    fn refusals_name_the_parameters_of_both_parts() {
        let refused = |spec: &str| resolve(&spec.parse().unwrap()).unwrap_err().to_string();
        let text = refused("fq_codel(quantm=300B)");
        assert!(
            text.contains("did you mean \"quantum\"") && text.contains("target") && text.contains("flows"),
            "{text}"
        );
        assert!(refused("codel(flows=3)").starts_with("codel has no parameter \"flows\""));
        assert!(refused("fq_codel(quantum=10B)").contains("too small"));
        assert!(refused("pie(alpha=9)").contains("allowed is 0 to 7"));
        assert!(refused("pie(target=1ms, target=2ms)").contains("twice"));
        assert!(refused("fqcodel").contains("did you mean \"fq_codel\""));
    }
}
