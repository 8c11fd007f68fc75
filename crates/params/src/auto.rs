//! Values that another parameter, such as `reference`, decides about until they are set.

use crate::Value;
use crate::value::show_number;
use alloc::borrow::ToOwned;
use alloc::string::String;
use units::Duration;

/// A number whose default depends on another parameter, such as `reference`: `auto` until it is set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Auto(pub Option<f64>);

impl Auto {
    /// Not set.
    pub const AUTO: Auto = Auto(None);
    /// Set to this.
    pub const fn of(x: f64) -> Self {
        Auto(Some(x))
    }
    /// The number set, or what it is by default.
    pub fn or(self, default: f64) -> f64 {
        self.0.unwrap_or(default)
    }
}

impl Value for Auto {
    const KIND: &'static str = "a number, or auto";
    fn parse(text: &str) -> Option<Self> {
        if text.trim() == "auto" { Some(Auto::AUTO) } else { f64::parse(text).map(Auto::of) }
    }
    fn show(&self) -> String {
        self.0.map_or("auto".to_owned(), show_number)
    }
    fn position(&self) -> f64 {
        self.0.unwrap_or(f64::NAN)
    }
}

/// As [`Auto`], for a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AutoTime(pub Option<Duration>);

impl AutoTime {
    /// Not set.
    pub const AUTO: AutoTime = AutoTime(None);
    /// Set to so many milliseconds.
    pub const fn millis(ms: u64) -> Self {
        AutoTime(Some(Duration::from_millis(ms)))
    }
    /// The time set, or what it is by default.
    pub fn or(self, default: Duration) -> Duration {
        self.0.unwrap_or(default)
    }
}

impl Value for AutoTime {
    const KIND: &'static str = "a time such as 15ms, or auto";
    fn parse(text: &str) -> Option<Self> {
        if text.trim() == "auto" { Some(AutoTime::AUTO) } else { Duration::parse(text).map(|d| AutoTime(Some(d))) }
    }
    fn show(&self) -> String {
        self.0.map_or("auto".to_owned(), |d| d.show())
    }
    fn position(&self) -> f64 {
        self.0.map_or(f64::NAN, |d| d.position())
    }
}

crate::choice! {
    /// As [`Auto`], for yes or no.
    pub enum Switch {
        /// Not set.
        Auto = "auto",
        /// Yes.
        On = "true",
        /// No.
        Off = "false",
    }
}

impl From<bool> for Switch {
    fn from(on: bool) -> Switch {
        if on { Switch::On } else { Switch::Off }
    }
}

impl Switch {
    /// The answer set, or what it is by default.
    pub fn or(self, default: bool) -> bool {
        match self {
            Switch::Auto => default,
            Switch::On => true,
            Switch::Off => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_automatic_number_is_a_word_or_a_number() {
        assert_eq!((Auto::parse("auto"), Auto::parse(" 2.5 ")), (Some(Auto::AUTO), Some(Auto::of(2.5))));
        assert_eq!(
            (Auto::parse("autumn"), Auto::AUTO.show(), Auto::of(2.5).show()),
            (None, "auto".into(), "2.5".into())
        );
        assert_eq!((Auto::AUTO.or(1.0), Auto::of(2.5).or(1.0)), (1.0, 2.5));
        let checked = |text| crate::checked("x", text, &Auto::AUTO, Some((Auto::of(0.0), Auto::of(3.0)))).is_ok();
        assert_eq!((checked("auto"), checked("3"), checked("4")), (true, true, false));
    }

    #[test]
    fn a_switch_is_a_word_and_the_default_answers_until_it_is_set() {
        for (text, switch, answers) in [
            ("auto", Switch::Auto, [false, true]),
            ("true", Switch::On, [true, true]),
            (" false ", Switch::Off, [false, false]),
        ] {
            assert_eq!((Switch::parse(text), switch.show()), (Some(switch), text.trim().into()));
            assert_eq!([false, true].map(|default| switch.or(default)), answers, "{text}");
        }
        assert_eq!([true, false].map(Switch::from), [Switch::On, Switch::Off]);
        assert_eq!(Switch::parse("yes"), None);
    }
}
