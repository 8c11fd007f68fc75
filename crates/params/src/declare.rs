//! [`params!`]: a parameter is written once.

use crate::{ParamError, Spec};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// One parameter as users see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// What it does, from the doc comment.
    pub doc: &'static str,
    /// The kind of value, with its units.
    pub kind: &'static str,
    /// The default as text.
    pub default: String,
    /// Least and greatest value allowed as text.
    pub range: Option<(String, String)>,
    /// The words allowed, for a choice.
    pub choices: &'static [&'static str],
}

/// A set of parameters declared by [`params!`](crate::params!).
pub trait Params: Default + Clone + 'static {
    /// The parameters, in order of declaration.
    fn fields() -> Vec<Field>;
    /// Sets one parameter from text.
    fn set(&mut self, owner: &str, name: &str, text: &str) -> Result<(), ParamError>;
    /// All values as text, in order of declaration.
    fn values(&self) -> Vec<(&'static str, String)>;
    /// Relations between parameters, such as `alpha < beta`.
    fn check(&self) -> Result<(), ParamError> {
        Ok(())
    }
    /// Refuses those of `names` that would change nothing, as `met` says that what they need is not there. What stands at
    /// its value in `default` changes nothing in any case, so that a sweep or `--set` can always take a setting back.
    fn need(&self, default: &Self, names: &[&str], met: bool, needs: &'static str) -> Result<(), ParamError> {
        let mut both = self.values().into_iter().zip(default.values());
        match both.find(|((name, given), (_, usual))| !met && names.contains(name) && given != usual) {
            Some(((name, given), (_, default))) => Err(ParamError::Vain { name, given, needs, default }),
            None => Ok(()),
        }
    }
    /// Defaults overridden by the arguments of `spec`.
    fn from_spec(spec: &Spec) -> Result<Self, ParamError> {
        let mut p = Self::default();
        if let Some(name) = spec.repeated() {
            return Err(ParamError::Repeated { name: name.into() });
        }
        for (name, text) in &spec.args {
            p.set(&spec.name, name, text)?;
        }
        p.check()?;
        Ok(p)
    }
}

/// Declares a parameter struct: `name: type = default, low => high;` with a doc comment each (it is the help text).
///
/// A trailing `check |p| { … }` holds relations between parameters; it returns `Result<(), ParamError>`.
#[macro_export]
macro_rules! params {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ $field:ident : $ty:ty = $default:expr $(, $low:expr => $high:expr)? ; )*
        }
        $( check |$p:ident| $check:block )?
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name { $( $(#[doc = $doc])+ pub $field: $ty, )* }
        impl ::core::default::Default for $name {
            fn default() -> Self { Self { $( $field: $default, )* } }
        }
        #[allow(unused_variables, unused_mut, unused_assignments)]
        impl $crate::Params for $name {
            fn fields() -> $crate::macros::Vec<$crate::Field> {
                let mut fields = $crate::macros::Vec::new();
                $( {
                    let mut range = None;
                    $( range = Some(($crate::Value::show(&($low as $ty)), $crate::Value::show(&($high as $ty)))); )?
                    fields.push($crate::Field {
                        name: stringify!($field),
                        doc: concat!($($doc),+).trim_ascii(),
                        kind: <$ty as $crate::Value>::KIND,
                        default: $crate::Value::show(&($default as $ty)),
                        range,
                        choices: <$ty as $crate::Value>::choices(),
                    });
                } )*
                fields
            }
            fn set(&mut self, owner: &str, name: &str, text: &str) -> Result<(), $crate::ParamError> {
                $( if name == stringify!($field) {
                    let mut range = None;
                    $( range = Some(($low as $ty, $high as $ty)); )?
                    self.$field = $crate::checked(stringify!($field), text, &($default as $ty), range)?;
                    return Ok(());
                } )*
                Err($crate::ParamError::Unknown {
                    owner: owner.into(),
                    name: name.into(),
                    allowed: Self::fields().into_iter().map(|f| f.name).collect(),
                })
            }
            fn values(&self) -> $crate::macros::Vec<(&'static str, $crate::macros::String)> {
                $crate::macros::Vec::from([ $( (stringify!($field), $crate::Value::show(&self.$field)), )* ])
            }
            $( fn check(&self) -> Result<(), $crate::ParamError> {
                #[allow(unused_imports)]
                use $crate::Params as _;
                let $p = self;
                $check
            } )?
        }
    };
}

/// Reads one value and holds it to its range. Called by [`params!`](crate::params!).
#[doc(hidden)]
pub fn checked<T: crate::Value>(
    name: &'static str,
    text: &str,
    default: &T,
    range: Option<(T, T)>,
) -> Result<T, ParamError> {
    let Some(value) = T::parse(text) else {
        let words: Vec<String> = T::choices().iter().map(|word| format!("\"{word}\"")).collect();
        let expected = if words.is_empty() { T::KIND.into() } else { format!("one of {}", words.join(", ")) };
        return Err(ParamError::Malformed { name, given: text.into(), expected });
    };
    if let Some((low, high)) = range {
        let x = value.position();
        // Not a number stands for "not set" and is on neither side.
        if x < low.position() || high.position() < x {
            let allowed = crate::error::range_text(Some(&low.show()), Some(&high.show()), &default.show());
            return Err(ParamError::OutOfRange { name, given: value.show(), allowed });
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Value;
    use std::string::ToString;
    use units::Duration;

    crate::choice! {
        /// Whose rules.
        pub enum Reference {
            /// The RFC's.
            Rfc = "rfc",
            /// Linux's.
            Linux = "linux",
        }
    }

    crate::params! {
        /// An example.
        pub struct Example {
            /// The goal.
            target: Duration = Duration::from_millis(5), Duration::from_micros(1) => Duration::from_secs(5);
            /// Low mark.
            low: f64 = 0.1, 0.0 => 1.0;
            /// High mark.
            high: f64 = 0.9, 0.0 => 1.0;
            /// Whose rules.
            reference: Reference = Reference::Rfc;
            /// linux: steps of the table.
            steps: u32 = 4, 1 => 64;
        }
        check |p| {
            p.need(&Example::default(), &["steps"], p.reference == Reference::Linux, "reference=linux")?;
            if p.low < p.high { Ok(()) } else { Err(ParamError::Conflict("low must be below high".into())) }
        }
    }

    fn from(text: &str) -> Result<Example, String> {
        Example::from_spec(&text.parse().map_err(|e: crate::SpecError| e.to_string())?).map_err(|e| e.to_string())
    }

    #[test]
    fn a_spec_sets_what_it_names_and_leaves_the_rest() {
        let p = from("x(target=20ms, reference=linux)").unwrap();
        assert_eq!((p.target, p.reference, p.low), (Duration::from_millis(20), Reference::Linux, 0.1));
        assert_eq!([from("x(steps=4)").unwrap().steps, from("x(steps=8, reference=linux)").unwrap().steps], [4, 8]);
    }

    #[test]
    fn refusals_say_what_is_allowed() {
        for (text, want) in [
            ("x(target=9s)", "target = 9s is out of range: allowed is 1us to 5s (default 5ms)"),
            ("x(target=9)", "target = \"9\" is not a time such as 15ms (ns, us, ms, s, min, h)"),
            (
                "x(tagret=9s)",
                "x has no parameter \"tagret\"; did you mean \"target\"? (it takes target, low, high, reference, steps)",
            ),
            ("x(low=0.95)", "low must be below high"),
            ("x(low=0.1, low=0.2)", "low is given twice"),
            ("x(steps=8)", "steps = 8 changes nothing without reference=linux: add that, or leave steps at 4"),
            ("x(reference=bsd)", "reference = \"bsd\" is not one of \"rfc\", \"linux\""),
        ] {
            assert_eq!(from(text).unwrap_err(), want);
        }
    }

    #[test]
    fn fields_tell_all_a_form_needs() {
        let f = &Example::fields()[0];
        assert_eq!((f.name, f.doc, f.default.as_str()), ("target", "The goal.", "5ms"));
        assert_eq!(f.range, Some(("1us".to_string(), "5s".to_string())));
        assert_eq!(Example::fields()[3].choices, ["rfc", "linux"]);
        assert_eq!(Reference::choices(), ["rfc", "linux"]);
    }
}
