//! From the located tree to types: a serde deserializer whose errors carry path and place.

use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error as _, Expected, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};
use serde::forward_to_deserialize_any;

use super::error::Fault;
use super::nearest::advice;
use super::tree::{Entry, Node, Number, Origin, Value, quoted};

impl std::error::Error for Fault {}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl serde::de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { origin: None, path: Vec::new(), text: message.to_string() }
    }

    fn invalid_type(found: Unexpected, due: &dyn Expected) -> Self {
        Self::custom(format!("{} is given, but {} is due", shown(found), wanted(due)))
    }

    fn invalid_value(found: Unexpected, due: &dyn Expected) -> Self {
        Self::custom(format!("{} is out of range: {} is due", shown(found), wanted(due)))
    }

    fn invalid_length(length: usize, due: &dyn Expected) -> Self {
        Self::custom(format!("{length} values are given, but {} are due", wanted(due)))
    }

    fn unknown_variant(name: &str, choices: &'static [&'static str]) -> Self {
        Self::custom(format!("unknown choice {}; {}", quoted(name), advice(name, choices.iter().copied())))
    }

    fn unknown_field(name: &str, fields: &'static [&'static str]) -> Self {
        Self::custom(format!("unknown field {}; {}", quoted(name), advice(name, fields.iter().copied())))
    }

    fn missing_field(name: &'static str) -> Self {
        Self::custom(format!("the field \"{name}\" is missing: add it"))
    }

    fn duplicate_field(name: &'static str) -> Self {
        Self::custom(format!("the field \"{name}\" is given twice: keep one"))
    }
}

impl Fault {
    /// Places the fault, unless it is placed already.
    fn or_at(mut self, origin: Origin) -> Self {
        self.origin.get_or_insert(origin);
        self
    }

    /// Puts a path segment before the ones known.
    fn inside(mut self, key: &str) -> Self {
        self.path.insert(0, key.to_string());
        self
    }
}

fn shown(found: Unexpected) -> String {
    match found {
        Unexpected::Str(text) => format!("the text {}", quoted(text)),
        Unexpected::Unsigned(number) => format!("the number {number}"),
        Unexpected::Signed(number) => format!("the number {number}"),
        Unexpected::Float(number) => format!("the number {number}"),
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unit => "null".to_string(),
        Unexpected::Seq => "a list".to_string(),
        Unexpected::Map => "an object".to_string(),
        other => other.to_string(),
    }
}

/// What serde says it expects, in the words of this language.
fn wanted(due: &dyn Expected) -> String {
    let text = due.to_string();
    match text.as_str() {
        "u8" => format!("a whole number from 0 to {}", u8::MAX),
        "u16" => format!("a whole number from 0 to {}", u16::MAX),
        "u32" => format!("a whole number from 0 to {}", u32::MAX),
        "u64" => format!("a whole number from 0 to {}", u64::MAX),
        "f64" => "a number".to_string(),
        "a boolean" => "true or false".to_string(),
        "a string" => "text".to_string(),
        "a sequence" => "a list".to_string(),
        "a map" => "an object".to_string(),
        other if other.starts_with("struct ") => "an object".to_string(),
        _ => text,
    }
}

/// Reads `T` from the tree.
pub(super) fn read<'de, T: serde::Deserialize<'de>>(node: &'de Node) -> Result<T, Fault> {
    T::deserialize(node).map_err(|fault| fault.or_at(node.origin))
}

impl Node {
    fn accept<'de, V: Visitor<'de>>(&'de self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::Number(Number::Unsigned(value), _) => visitor.visit_u64(*value),
            Value::Number(Number::Signed(value), _) => visitor.visit_i64(*value),
            Value::Number(Number::Float(value), _) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_borrowed_str(text),
            Value::List(list) => visitor.visit_seq(Elements { list, next: 0 }),
            Value::Map(map) => visitor.visit_map(Fields { entries: map.iter(), value: None }),
        }
    }
}

impl<'de> Deserializer<'de> for &'de Node {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.accept(visitor).map_err(|fault| fault.or_at(self.origin))
    }

    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        // `--set name=7` and `--set run.until=0` mean the text where text is due.
        if self.origin.is_set()
            && let Value::Number(_, text) = &self.value
        {
            return visitor.visit_borrowed_str(text).map_err(|fault: Fault| fault.or_at(self.origin));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        choices: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        let choice = match &self.value {
            Value::Text(name) => Choice { name, at: self.origin, content: None, whole: self },
            Value::Map(map) => {
                let (name, entry) = chosen(map, choices).map_err(|text| Fault::new(self.origin, text))?;
                Choice { name, at: entry.key, content: Some(&entry.node), whole: self }
            }
            Value::Null | Value::Bool(_) | Value::Number(..) | Value::List(_) => {
                let text = format!("{} is given, but one of {} is due", self.describe(), choices.join(", "));
                return Err(Fault::new(self.origin, text));
            }
        };
        visitor.visit_enum(choice).map_err(|fault| fault.or_at(self.origin))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// The one choice of an object: an override replaces what the file chose; the last override wins.
fn chosen<'a>(
    map: &'a indexmap::IndexMap<String, Entry>,
    choices: &[&str],
) -> Result<(&'a String, &'a Entry), String> {
    if map.is_empty() {
        return Err(format!("an empty object is given, but one of {} is due", choices.join(", ")));
    }
    let written: Vec<&str> = map.iter().filter(|(_, e)| !e.key.is_set()).map(|(k, _)| k.as_str()).collect();
    if written.len() > 1 {
        return Err(format!(
            "an object with the fields {} is given, but a single one of {} is due",
            written.join(", "),
            choices.join(", ")
        ));
    }
    map.iter().max_by_key(|(_, entry)| entry.touched).ok_or_else(String::new)
}

struct Elements<'de> {
    list: &'de [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for Elements<'de> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.list.get(self.next) else { return Ok(None) };
        let index = self.next;
        self.next += 1;
        seed.deserialize(node).map(Some).map_err(|fault| fault.or_at(node.origin).inside(&index.to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.list.len() - self.next)
    }
}

struct Fields<'de> {
    entries: indexmap::map::Iter<'de, String, Entry>,
    value: Option<(&'de str, &'de Node)>,
}

impl<'de> MapAccess<'de> for Fields<'de> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Fault> {
        let Some((key, entry)) = self.entries.next() else { return Ok(None) };
        self.value = Some((key, &entry.node));
        let key = serde::de::value::BorrowedStrDeserializer::<Fault>::new(key);
        seed.deserialize(key).map(Some).map_err(|fault| fault.or_at(entry.key))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, Fault> {
        let (key, node) = self.value.take().ok_or_else(|| Fault::custom("a value without its field"))?;
        seed.deserialize(node).map_err(|fault| fault.or_at(node.origin).inside(key))
    }
}

struct Choice<'de> {
    name: &'de str,
    at: Origin,
    content: Option<&'de Node>,
    /// The node the choice stands in.
    whole: &'de Node,
}

impl<'de> EnumAccess<'de> for Choice<'de> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let name: serde::de::value::StrDeserializer<'_, Fault> = self.name.into_deserializer();
        let value = seed.deserialize(name).map_err(|fault| fault.or_at(self.at))?;
        Ok((value, self))
    }
}

impl Choice<'_> {
    fn inside(&self, fault: Fault) -> Fault {
        fault.or_at(self.content.map_or(self.whole.origin, |node| node.origin)).inside(self.name)
    }
}

impl<'de> VariantAccess<'de> for Choice<'de> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        match self.content {
            None | Some(Node { value: Value::Null, .. }) => Ok(()),
            Some(node) => {
                let text =
                    format!("{} is given, but this choice has no fields: write it as text", node.describe());
                Err(self.inside(Fault::new(node.origin, text)))
            }
        }
    }

    /// A choice written as text alone, `"dcqcn"`, has all defaults; what has none says what is missing.
    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        match self.content {
            Some(node) => seed.deserialize(node).map_err(|fault| self.inside(fault)),
            None => {
                let none =
                    serde::de::value::MapDeserializer::<_, Fault>::new(std::iter::empty::<(&str, bool)>());
                seed.deserialize(none).map_err(|fault| self.inside(without_content(fault)))
            }
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, Fault> {
        match self.content {
            Some(node) => node.deserialize_any(visitor).map_err(|fault| self.inside(fault)),
            None => Err(self.inside(Fault::custom("this choice needs values: write it as {\"name\": [..]}"))),
        }
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.content {
            Some(node) => node.deserialize_any(visitor).map_err(|fault| self.inside(fault)),
            None => {
                let none =
                    serde::de::value::MapDeserializer::<_, Fault>::new(std::iter::empty::<(&str, bool)>());
                visitor.visit_map(none).map_err(|fault| self.inside(fault))
            }
        }
    }
}

/// The fault of a choice without its value, when the value is not an object.
fn without_content(mut fault: Fault) -> Fault {
    if let Some(due) = fault.text.strip_prefix("an object is given, but ") {
        fault.text = format!("the choice stands without its value: {due}");
    }
    fault
}
