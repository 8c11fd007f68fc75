//! The one table of queues.

use crate::law::Never;
use crate::queue::fifo::Fifo;
use crate::{Limit, LinkInfo, Packet, Qdisc};
use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;
use params::{Field, ParamError, Params, Spec};
use units::Rng;

/// What a queue is, for lists and documentation.
pub struct About {
    /// The name users write.
    pub name: &'static str,
    /// Where it was published.
    pub paper: &'static str,
    /// What users may set.
    pub fields: fn() -> Vec<Field>,
}

params::params! {
    /// DropTail.
    pub struct FifoParams {
        /// Packets held where the experiment gives no buffer (FreeBSD's dummynet takes 50, TEACUP 1000).
        limit: usize = 1000, 1 => 1_000_000_000;
    }
}

/// Every queue.
pub static QDISCS: &[About] = &[About { name: "fifo", paper: "DropTail", fields: FifoParams::fields }];

/// The line of that name.
pub fn find(name: &str) -> Result<&'static About, ParamError> {
    QDISCS.iter().find(|a| a.name == name).ok_or_else(|| ParamError::Unknown {
        owner: "the list of queues".into(),
        name: name.into(),
        allowed: QDISCS.iter().map(|a| a.name).collect(),
    })
}

/// Checks a spec and returns every parameter with its value.
pub fn resolve(spec: &Spec) -> Result<Vec<(&'static str, String)>, ParamError> {
    find(&spec.name)?;
    Ok(FifoParams::from_spec(spec)?.values())
}

/// Builds the queue a spec names.
pub fn build<P: Packet + Debug + Send + 'static>(
    spec: &Spec,
    link: &LinkInfo,
    _rng: Rng,
) -> Result<Box<dyn Qdisc<P>>, ParamError> {
    find(&spec.name)?;
    let p = FifoParams::from_spec(spec)?;
    Ok(Box::new(Fifo::new(Never, link, Limit::Packets(p.limit))))
}
