//! Laws: they decide, they own no packets.

/// No law: only the buffer's limit drops.
#[derive(Clone, Copy, Debug, Default)]
pub struct Never;

impl crate::Law for Never {}
