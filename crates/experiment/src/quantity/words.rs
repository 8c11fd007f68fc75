//! Values that are words: choices, names, and specs of algorithms.

use super::Quantity;
use crate::source::did_you_mean;
use crate::tree::Any;
use params::{Spec, Value};
use std::marker::PhantomData;

/// One of the words of a [`params::choice!`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word<T>(pub T);

impl<T: Value> Quantity for Word<T> {
    fn what() -> String {
        format!("one of {}", Self::choices().iter().map(|c| format!("{c:?}")).collect::<Vec<_>>().join(", "))
    }
    fn read(text: &str) -> Result<Self, String> {
        T::parse(text).map(Word).ok_or_else(|| {
            let near = did_you_mean(text.trim(), T::choices().iter().copied());
            format!("{text:?} is not {}{near}", Self::what())
        })
    }
    fn write(&self) -> Any {
        Any::Text(self.0.show())
    }
    fn choices() -> Vec<String> {
        T::choices().iter().map(|c| c.to_string()).collect()
    }
}

/// The name of a flow or link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(pub String);

impl Quantity for Name {
    fn what() -> String {
        "a name of letters, digits, \"-\" and \"_\"".into()
    }
    fn read(text: &str) -> Result<Self, String> {
        let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() || !text.chars().all(fits) {
            return Err(format!("{text:?} is not {}", Self::what()));
        }
        if text.len() > crate::limits::NAME_MAX {
            return Err(format!("the name has {} characters; allowed are {}", text.len(), crate::limits::NAME_MAX));
        }
        Ok(Name(text.into()))
    }
    fn number(x: f64) -> Result<Self, String> {
        Err(format!("{x} is a number, and a name is text: write \"{x}\", with the quotes"))
    }
    fn write(&self) -> Any {
        Any::Text(self.0.clone())
    }
}

/// What a [`Spec`] is a spec of.
pub(crate) trait Of {
    const WHAT: &'static str;
}

macro_rules! specs {
    ($($(#[$meta:meta])* $name:ident = $what:literal;)*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) struct $name;
        impl Of for $name {
            const WHAT: &'static str = $what;
        }
    )*};
}
specs! {
    /// A congestion control.
    Cc = "a congestion control such as \"cubic\" or \"cubic(beta=0.7)\"";
    /// A queue.
    Queue = "a queue such as \"fifo\" or \"pie(target=20ms)\"";
    /// A kind of traffic.
    Kind = "a kind of traffic such as \"bulk\" or \"bytes(size=100kB)\"";
    /// A clock.
    ClockKind = "\"exact\" or \"tick(hz=1000)\"";
}

/// `name(key=value, …)`, its syntax checked; whether it exists is asked later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SpecOf<K>(pub Spec, PhantomData<K>);

impl<K: Of> Quantity for SpecOf<K> {
    fn what() -> String {
        K::WHAT.into()
    }
    fn read(text: &str) -> Result<Self, String> {
        text.parse::<Spec>().map(|spec| SpecOf(spec, PhantomData)).map_err(|e| e.to_string())
    }
    fn write(&self) -> Any {
        Any::Text(self.0.to_string())
    }
}
