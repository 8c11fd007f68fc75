//! The file as a tree of values that know where they were written.
//!
//! Overrides and sweeps edit the tree; [`decode`](crate::decode) turns it into the structs of [`raw`](crate::raw).

use crate::source::{Checked, Fault, Place};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value and where it was written.
#[derive(Clone, Debug, PartialEq)]
pub struct At<T> {
    pub(crate) value: T,
    pub(crate) place: Place,
}

impl<T> Deref for At<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

/// Any value of a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Any {
    Text(String),
    Integer(i64),
    Float(f64),
    Bool(bool),
    List(Vec<At<Any>>),
    Table(Table),
}

/// Keys and values in the order written.
pub type Table = Vec<(At<String>, At<Any>)>;

pub(crate) fn get<'a>(table: &'a Table, key: &str) -> Option<&'a At<Any>> {
    table.iter().find(|(k, _)| k.value == key).map(|(_, v)| v)
}

pub(crate) fn get_mut<'a>(table: &'a mut Table, key: &str) -> Option<&'a mut At<Any>> {
    table.iter_mut().find(|(k, _)| k.value == key).map(|(_, v)| v)
}

impl Any {
    /// As a TOML value on one line; text without its quotes.
    pub(crate) fn show(&self) -> String {
        match self {
            Any::Text(text) => text.clone(),
            other => other.to_toml().to_string(),
        }
    }

    fn to_toml(&self) -> toml::Value {
        match self {
            Any::Text(x) => toml::Value::String(x.clone()),
            Any::Integer(x) => toml::Value::Integer(*x),
            Any::Float(x) => toml::Value::Float(*x),
            Any::Bool(x) => toml::Value::Boolean(*x),
            Any::List(x) => toml::Value::Array(x.iter().map(|v| v.to_toml()).collect()),
            Any::Table(x) => {
                toml::Value::Table(x.iter().map(|(k, v)| (k.value.clone(), v.to_toml())).collect::<toml::Table>())
            }
        }
    }

    pub(crate) fn as_text(&self) -> Option<&str> {
        if let Any::Text(text) = self { Some(text) } else { None }
    }

    pub(crate) fn as_table_mut(&mut self) -> Option<&mut Table> {
        if let Any::Table(table) = self { Some(table) } else { None }
    }

    /// What it is, for "expected …, got …".
    pub(crate) fn kind(&self) -> String {
        match self {
            Any::Text(x) => format!("the text {x:?}"),
            Any::Integer(x) => format!("the number {x}"),
            Any::Float(x) => format!("the number {x}"),
            Any::Bool(x) => format!("{x}"),
            Any::List(_) => "a list".into(),
            Any::Table(_) => "a table".into(),
        }
    }
}

/// Equal, however they are spelled: `"12 Mbit/s"` is `"12000kbit/s"`.
pub(crate) fn same_text(a: &str, b: &str) -> bool {
    params::one_spelling(a) == params::one_spelling(b)
}

/// Reads a whole TOML document.
pub(crate) fn parse_document(text: &str, source: u32) -> Checked<At<Any>> {
    let table = DeTable::parse(text).map_err(|e| syntax_fault(&e, text, source))?;
    let mut node = from_table(table.get_ref(), Place::new(source, 0..0), source)?;
    node.place = Place::new(source, 0..0);
    Ok(node)
}

/// Reads one TOML value, such as the right side of `--set run.repeat=3`; `None` if it is none.
pub(crate) fn parse_value(text: &str, source: u32, offset: usize) -> Option<At<Any>> {
    let value = DeValue::parse(text).ok()?;
    let mut node = from_value(&value, source).ok()?;
    shift(&mut node, offset as u32);
    Some(node)
}

fn shift(node: &mut At<Any>, by: u32) {
    node.place.start += by;
    node.place.end += by;
    match &mut node.value {
        Any::List(items) => items.iter_mut().for_each(|v| shift(v, by)),
        Any::Table(table) => table.iter_mut().for_each(|(k, v)| {
            k.place.start += by;
            k.place.end += by;
            shift(v, by);
        }),
        _ => {}
    }
}

/// The TOML parser's words, with the cure for the mistake most people make: a unit without quotes.
fn syntax_fault(error: &toml::de::Error, text: &str, source: u32) -> Fault {
    let span = error.span().unwrap_or(0..0);
    let mut message = format!("not valid TOML: {}", error.message());
    let start = span.start.min(text.len());
    let line_start = text.get(..start).and_then(|t| t.rfind('\n')).map_or(0, |i| i + 1);
    let line = text.get(line_start..).and_then(|t| t.lines().next()).unwrap_or("");
    if let Some((key, value)) = line.split_once('=') {
        let value = value.split('#').next().unwrap_or("").trim();
        let bare = !value.is_empty() && !value.starts_with(['"', '\'', '[', '{']) && !value.contains('"');
        if bare && value.chars().any(char::is_alphabetic) {
            message.push_str(&format!("; text and values with units go in quotes: {} = \"{value}\"", key.trim()));
        }
    }
    Fault::at(Place::new(source, span), message)
}

fn from_table(table: &DeTable<'_>, place: Place, source: u32) -> Checked<At<Any>> {
    let mut entries = Table::new();
    for (key, value) in table.iter() {
        let at = At { value: key.get_ref().to_string(), place: Place::new(source, key.span()) };
        let value = from_value(value, source).map_err(|fault| fault.under(&at.value))?;
        entries.push((at, value));
    }
    // The parser sorts by name; a sweep's axes and a table's columns want the order of the file.
    entries.sort_by_key(|(key, _)| key.place.start);
    Ok(At { value: Any::Table(entries), place })
}

fn from_value(value: &Spanned<DeValue<'_>>, source: u32) -> Checked<At<Any>> {
    let place = Place::new(source, value.span());
    let value = match value.get_ref() {
        DeValue::String(text) => Any::Text(text.to_string()),
        DeValue::Integer(digits) => match i64::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(n) => Any::Integer(n),
            Err(_) => return Err(Fault::at(place, format!("{digits} is too large a number"))),
        },
        DeValue::Float(digits) => match digits.as_str().parse::<f64>() {
            Ok(x) if x.is_finite() => Any::Float(x),
            _ => return Err(Fault::at(place, format!("{digits} is not a finite number"))),
        },
        DeValue::Boolean(x) => Any::Bool(*x),
        DeValue::Datetime(x) => return Err(Fault::at(place, format!("{x} is a date; no key takes one"))),
        DeValue::Array(items) => Any::List(items.iter().map(|v| from_value(v, source)).collect::<Checked<_>>()?),
        DeValue::Table(table) => return from_table(table, place, source),
    };
    Ok(At { value, place })
}

/// The name by which a value asks [`decode`](crate::decode) for its place.
pub(crate) const AT: &str = "$sojourn::At";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for At<T> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Placed<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Placed<T> {
            type Value = At<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<At<T>, A::Error> {
                let mut number = || seq.next_element::<u32>().map(Option::unwrap_or_default);
                let place = Place { source: number()?, start: number()?, end: number()? };
                match seq.next_element::<T>()? {
                    Some(value) => Ok(At { value, place }),
                    None => Err(serde::de::Error::custom("no value")),
                }
            }
        }
        d.deserialize_newtype_struct(AT, Placed(PhantomData))
    }
}

impl<T: Serialize> Serialize for At<T> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(s)
    }
}

impl<T: schemars::JsonSchema> schemars::JsonSchema for At<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        T::schema_name()
    }
    fn schema_id() -> std::borrow::Cow<'static, str> {
        T::schema_id()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

impl<'de> Deserialize<'de> for Any {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Anything;
        impl<'de> Visitor<'de> for Anything {
            type Value = Any;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value")
            }
            fn visit_str<E>(self, x: &str) -> Result<Any, E> {
                Ok(Any::Text(x.into()))
            }
            fn visit_i64<E>(self, x: i64) -> Result<Any, E> {
                Ok(Any::Integer(x))
            }
            fn visit_f64<E>(self, x: f64) -> Result<Any, E> {
                Ok(Any::Float(x))
            }
            fn visit_bool<E>(self, x: bool) -> Result<Any, E> {
                Ok(Any::Bool(x))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Any, A::Error> {
                let mut items = Vec::new();
                while let Some(item) = seq.next_element()? {
                    items.push(item);
                }
                Ok(Any::List(items))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Any, A::Error> {
                let mut table = Table::new();
                while let Some(entry) = map.next_entry()? {
                    table.push(entry);
                }
                Ok(Any::Table(table))
            }
        }
        d.deserialize_any(Anything)
    }
}

impl Serialize for Any {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Any::Text(x) => s.serialize_str(x),
            Any::Integer(x) => s.serialize_i64(*x),
            Any::Float(x) => s.serialize_f64(*x),
            Any::Bool(x) => s.serialize_bool(*x),
            Any::List(items) => {
                let mut seq = s.serialize_seq(Some(items.len()))?;
                for item in items {
                    seq.serialize_element(item)?;
                }
                seq.end()
            }
            Any::Table(table) => {
                let mut map = s.serialize_map(Some(table.len()))?;
                for (key, value) in table {
                    map.serialize_entry(&key.value, value)?;
                }
                map.end()
            }
        }
    }
}

impl schemars::JsonSchema for Any {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Any".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        true.into()
    }
}
