//! No law: only the buffer's limit drops.

use crate::{Law, LawKind, LinkInfo};
use units::Rng;

params::params! {
    /// Nothing to set.
    pub struct Params {}
}

/// Says nothing to any packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Never;

impl Law for Never {
    const ACTIVE: bool = false;
}

impl LawKind for Never {
    const PAPER: &'static str = "DropTail";
    const DOC: &'static str = "Holds packets until the buffer is full.";
    type Params = Params;

    fn new(_: &Params, _: &LinkInfo, _: Rng) -> Self {
        Never
    }
}
