//! Parameters declared once, and specs such as `cubic(beta=0.8, slow_start=hystart)`.
//!
//! [`params!`] turns one declaration into a struct, its defaults and its [`Field`]s: the command line, Python, the
//! documentation and the checks all read those. A [`Spec`] is the one spelling of "this thing with these settings":
//! experiment files hold it, results store it, legends show it.
//!
//! ```
//! params::params! {
//!     /// How many packets Vegas keeps in the queue.
//!     pub struct Params {
//!         /// Grow while fewer than this many are queued.
//!         alpha: f64 = 2.0, 0.0 => 64.0;
//!         /// Look at every round, or at every other.
//!         every_round: bool = true;
//!     }
//! }
//! use params::{Params as _, Spec};
//! let spec: Spec = "vegas(alpha=3)".parse().unwrap();
//! let p = Params::from_spec(&spec).unwrap();
//! assert_eq!((p.alpha, p.every_round), (3.0, true));
//! let error = Params::from_spec(&"vegas(alhpa=3)".parse().unwrap()).unwrap_err();
//! assert!(error.to_string().contains("did you mean \"alpha\""));
//! ```
#![no_std]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod auto;
mod declare;
mod error;
mod spec;
mod spelling;
pub mod unit;
mod value;

pub use auto::{Auto, AutoTime, Switch};
#[doc(hidden)]
pub use declare::checked;
pub use declare::{Field, Params};
pub use error::{ParamError, nearest};
pub use spec::{Spec, SpecError};
pub use spelling::one_spelling;
pub use value::{Measure, Value, bytes_a_second, measure, parse_number};

#[doc(hidden)]
pub mod macros {
    pub use alloc::string::String;
    pub use alloc::vec::Vec;
}
