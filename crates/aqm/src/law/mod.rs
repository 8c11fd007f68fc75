//! Laws: they decide, they own no packets. Adding one: its file, its `mod` line here, its entry in `registry.rs`.

pub mod ared;
pub mod blue;
pub mod cobalt;
pub mod codel;
pub mod codel_dt;
pub mod never;
pub mod pi;
pub mod pie;
pub mod red;
pub mod rem;

mod integrator;
#[cfg(test)]
pub(crate) mod testing;
mod ticker;

pub use integrator::Integrator;
pub use never::Never;
pub use ticker::Ticker;
