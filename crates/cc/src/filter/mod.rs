//! Filters that algorithms share: moving averages and windowed extremes.

mod ewma;
mod intervals;
mod minima;
mod ring;
mod spectrum;
mod tustin;
mod windowed;

pub use ewma::Ewma;
pub use intervals::Intervals;
pub use minima::Minima;
pub use ring::Ring;
pub use spectrum::magnitude;
pub use tustin::Tustin;
pub use windowed::{WindowedMax, WindowedMin};
