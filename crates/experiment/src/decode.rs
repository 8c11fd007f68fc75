//! From the tree to structs, by serde, so that every fault carries its place and the keys that lead to it.

use crate::raw;
use crate::source::{Checked, Fault, Place, did_you_mean};
use crate::tree::{AT, Any, At, Table, get};
use serde::de::value::U32Deserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Error, Expected, IntoDeserializer, Unexpected, Visitor};
use serde::{Deserializer, de, forward_to_deserialize_any};
use std::fmt;

/// Decodes a node, refusing unknown keys.
pub(crate) fn decode<T: DeserializeOwned>(node: &At<Any>) -> Checked<T> {
    T::deserialize(Node(node))
}

impl Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Fault::new(message.to_string())
    }
    fn invalid_type(given: Unexpected<'_>, expected: &dyn Expected) -> Self {
        let given = match given {
            Unexpected::Str(text) => format!("the text {text:?}"),
            Unexpected::Signed(n) => format!("the number {n}"),
            Unexpected::Float(x) => format!("the number {x}"),
            Unexpected::Bool(x) => format!("{x}"),
            Unexpected::Seq => "a list".into(),
            Unexpected::Map => "a table".into(),
            other => other.to_string(),
        };
        let expected = match expected.to_string().as_str() {
            "a boolean" => "true or false".into(),
            "a string" => "text in quotes".into(),
            "a sequence" => "a list".into(),
            other => other.to_string(),
        };
        Fault::new(format!("expected {expected}, got {given}"))
    }
    fn invalid_length(len: usize, expected: &dyn Expected) -> Self {
        Fault::new(format!("{len} values where {expected} is expected"))
    }
    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        // Only the file itself has a path: keys of its tables are what people leave the table's name out of.
        let near = match expected.contains(&"path").then(|| raw::full_key(field)).flatten() {
            Some(full) => format!("; did you mean {full}?"),
            None => did_you_mean(field, expected.iter().copied()),
        };
        Fault::new(format!("unknown key {field:?}{near} (allowed: {})", expected.join(", ")))
    }
    fn missing_field(field: &'static str) -> Self {
        Fault::new(format!("the key {field:?} is missing"))
    }
    fn duplicate_field(field: &'static str) -> Self {
        Fault::new(format!("the key {field:?} is given twice"))
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// Titles, names and labels go to terminals, which obey control characters, and into XML, which has neither these nor what is
/// no character. Every text of a file and of an override comes by here.
fn plain(text: &str) -> Checked<()> {
    let Some(c) = text.chars().find(|c| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}')) else { return Ok(()) };
    let kind = if c.is_control() { "a control character" } else { "no character" };
    Err(Fault::new(format!("the text holds U+{:04X}, which is {kind}: write a space, or leave it out", u32::from(c))))
}

struct Node<'a>(&'a At<Any>);

impl<'a, 'de> Deserializer<'de> for Node<'a> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        let result = match &self.0.value {
            Any::Text(x) => plain(x).and_then(|()| visitor.visit_str(x)),
            Any::Integer(x) => visitor.visit_i64(*x),
            Any::Float(x) => visitor.visit_f64(*x),
            Any::Bool(x) => visitor.visit_bool(*x),
            Any::List(items) => visitor.visit_seq(Items { items, next: 0 }),
            Any::Table(table) => visitor.visit_map(Entries { table, next: 0 }),
        };
        result.map_err(|fault| fault.or_at(self.0.place))
    }
    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        visitor.visit_some(self)
    }
    // Derived structs would take a list as their keys in order.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Checked<V::Value> {
        match &self.0.value {
            Any::List(_) => Err(Fault::invalid_type(Unexpected::Seq, &visitor).or_at(self.0.place)),
            _ => self.deserialize_any(visitor),
        }
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Checked<V::Value> {
        if name == AT {
            let place = self.0.place;
            return visitor.visit_seq(Placed { place, value: self, step: 0 }).map_err(|fault| fault.or_at(place));
        }
        visitor.visit_newtype_struct(self)
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit unit_struct seq
        tuple tuple_struct map enum identifier ignored_any
    }
}

/// Three numbers of the place, then the value: what [`At`] asks for.
struct Placed<D> {
    place: Place,
    value: D,
    step: u8,
}

impl<'de, D: Deserializer<'de, Error = Fault> + Copy> de::SeqAccess<'de> for Placed<D> {
    type Error = Fault;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Checked<Option<T::Value>> {
        let number = |n: u32| -> U32Deserializer<Fault> { n.into_deserializer() };
        self.step += 1;
        match self.step {
            1 => seed.deserialize(number(self.place.source)).map(Some),
            2 => seed.deserialize(number(self.place.start)).map(Some),
            3 => seed.deserialize(number(self.place.end)).map(Some),
            4 => seed.deserialize(self.value).map(Some),
            _ => Ok(None),
        }
    }
}

impl Clone for Node<'_> {
    fn clone(&self) -> Self {
        *self
    }
}
impl Copy for Node<'_> {}

struct Items<'a> {
    items: &'a [At<Any>],
    next: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'_> {
    type Error = Fault;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Checked<Option<T::Value>> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(Node(item)).map(Some).map_err(|fault| fault.under(label(item, self.next)))
    }
}

/// What errors call an element of a list: its name if it has one, else its number.
fn label(item: &At<Any>, number: usize) -> String {
    let name = if let Any::Table(table) = &item.value {
        get(table, "name").and_then(|n| n.as_text()).filter(|name| !name.is_empty() && plain(name).is_ok())
    } else {
        None
    };
    name.map_or_else(|| format!("[{number}]"), str::to_string)
}

struct Entries<'a> {
    table: &'a Table,
    next: usize,
}

impl<'de> de::MapAccess<'de> for Entries<'_> {
    type Error = Fault;
    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Checked<Option<K::Value>> {
        let Some((key, _)) = self.table.get(self.next) else { return Ok(None) };
        self.next += 1;
        seed.deserialize(Key(key)).map(Some).map_err(|fault| fault.or_at(key.place))
    }
    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Checked<T::Value> {
        let (key, value) = &self.table[self.next - 1];
        seed.deserialize(Node(value)).map_err(|fault| {
            let fault = if fault.is_innermost() { brackets(fault, &key.value) } else { fault };
            fault.under(key.value.clone())
        })
    }
}

/// The cure where a table stands for a list of them, or a list for a table.
fn brackets(fault: Fault, key: &str) -> Fault {
    let message = fault.message.as_str();
    let cure = match key {
        "path" | "run" if message.ends_with("got a list") => format!(": write [{key}], with one bracket"),
        _ if !message.starts_with("expected a list, got ") => return fault,
        "flow" | "link" | "expect" => format!(": write [[{key}]], with two brackets, and its keys below"),
        "changes" | "row" => format!(": write {key} = [{{…}}], with brackets around it"),
        "route" | "back" | "pool" | "order" | "figure" => {
            format!(": write {key} = [\"…\"], with each of them in quotes")
        }
        _ => return fault,
    };
    fault.and(&cure)
}

#[derive(Clone, Copy)]
struct Key<'a>(&'a At<String>);

impl<'de> Deserializer<'de> for Key<'_> {
    type Error = Fault;
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Checked<V::Value> {
        plain(&self.0.value).map_err(|fault| fault.or_at(self.0.place))?;
        visitor.visit_str(&self.0.value)
    }
    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Checked<V::Value> {
        if name == AT {
            return visitor.visit_seq(Placed { place: self.0.place, value: self, step: 0 });
        }
        visitor.visit_newtype_struct(self)
    }
    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        seq tuple tuple_struct map struct enum identifier ignored_any
    }
}
