//! Laws: they decide, they own no packets. Adding one: its file, its `mod` line here, its entry in `registry.rs`.

pub mod codel;
pub mod never;
pub mod pie;

mod integrator;
mod ticker;

pub use integrator::Integrator;
pub use never::Never;
pub use ticker::Ticker;
