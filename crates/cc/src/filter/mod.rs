//! Filters that algorithms share: moving averages and windowed extremes.

mod ewma;
mod minima;
mod ring;
mod tustin;
mod windowed;

pub use ewma::Ewma;
pub use minima::Minima;
pub use ring::Ring;
pub use tustin::Tustin;
pub use windowed::{WindowedMax, WindowedMin};
