//! Values as users write them: times, rates, buffers, probabilities, words.

mod measures;
mod numbers;
mod words;

pub(crate) use self::measures::{AccessText, Buffer, RateText, Volume, read_rate};
pub(crate) use self::numbers::{Burst, Parts, Probability, Version, Whole};
pub(crate) use self::words::{Cc, ClockKind, Kind, Name, Queue, SpecOf, Word};

use crate::tree::Any;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

/// A kind of value that a key takes.
pub(crate) trait Quantity: Sized {
    /// What it is, with an example, for errors and the reference.
    fn what() -> String;
    /// Reads text; the error says what is wrong with it and what is allowed.
    fn read(text: &str) -> Result<Self, String>;
    /// Reads a bare number.
    fn number(x: f64) -> Result<Self, String> {
        Err(format!("{x} is not {}", Self::what()))
    }
    /// Reads a bare whole number.
    fn integer(n: i64) -> Result<Self, String> {
        Self::number(n as f64)
    }
    /// The canonical spelling.
    fn write(&self) -> Any;
    /// The words allowed, if it is a choice.
    fn choices() -> Vec<String> {
        Vec::new()
    }
    /// May be written as a bare number.
    const NUMERIC: bool = false;
    /// May be written as text.
    const TEXT: bool = true;
}

/// A [`Quantity`] in a file.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Q<T>(pub T);

impl<T> Deref for Q<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: Quantity> Deserialize<'de> for Q<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<T: Quantity> Visitor<'_> for Reader<T> {
            type Value = Q<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&T::what())
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Q<T>, E> {
                T::read(text).map(Q).map_err(E::custom)
            }
            fn visit_i64<E: serde::de::Error>(self, x: i64) -> Result<Q<T>, E> {
                T::integer(x).map(Q).map_err(E::custom)
            }
            fn visit_f64<E: serde::de::Error>(self, x: f64) -> Result<Q<T>, E> {
                T::number(x).map(Q).map_err(E::custom)
            }
        }
        d.deserialize_any(Reader(PhantomData))
    }
}

impl<T: Quantity> Serialize for Q<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.0.write().serialize(s)
    }
}

impl<T: Quantity> JsonSchema for Q<T> {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        std::any::type_name::<T>().into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let choices = T::choices();
        if !choices.is_empty() {
            return json_schema!({ "type": "string", "enum": choices });
        }
        if !T::TEXT {
            return json_schema!({ "type": "integer", "x-kind": T::what() });
        }
        let types = if T::NUMERIC { serde_json::json!(["string", "number"]) } else { serde_json::json!("string") };
        json_schema!({ "type": types, "x-kind": T::what() })
    }
}
