//! Laws: they decide, they own no packets. Adding one: its file, its `mod` line here, its entry in `registry.rs`.

pub mod codel;
pub mod never;
pub mod pie;

mod ticker;

pub use never::Never;
pub use ticker::Ticker;
