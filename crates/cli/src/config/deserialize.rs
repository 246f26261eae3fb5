//! Deserializers for values that the file may write in several ways, and for values that must not
//! be printed.
#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde_json::{Map, Value};
use toolcrib_net::AddressPolicy;
use toolcrib_providers::quirks::Quirks;

use crate::config::duration_and_money;

/// A value that is never shown: a key, a header, a setting of a tool.
#[derive(Clone, PartialEq, Eq, serde::Deserialize)]
#[serde(transparent)]
pub(crate) struct MaskedText(pub(crate) String);

impl fmt::Debug for MaskedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[hidden]")
    }
}

/// Deserializes a duration: text, or plain seconds.
pub(super) fn duration<'de, D: Deserializer<'de>>(d: D) -> Result<Option<Duration>, D::Error> {
    let what = "a duration such as \"90s\", or seconds";
    d.deserialize_any(TextVisitor { what, read: duration_and_money::parse_duration }).map(Some)
}

/// Deserializes an amount of USD, text or a number, in millionths of a dollar.
pub(super) fn micro_usd<'de, D: Deserializer<'de>>(d: D) -> Result<Option<u64>, D::Error> {
    let what = "an amount such as \"$0.50\" or 0.5 (USD)";
    d.deserialize_any(TextVisitor { what, read: duration_and_money::parse_micro_usd }).map(Some)
}

/// Deserializes targets of HTTP tools that are not public, as `--allow-net` accepts them.
pub(super) fn net_targets<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<String>, D::Error> {
    let targets = Vec::<String>::deserialize(d)?;
    AddressPolicy::with_allowed(&targets).map(|_| targets).map_err(Error::custom)
}

/// Deserializes quirks by name, and checks their names and values.
pub(super) fn quirks<'de, D: Deserializer<'de>>(d: D) -> Result<Map<String, Value>, D::Error> {
    let fields = Map::<String, Value>::deserialize(d)?;
    Quirks::default().override_fields(fields.clone()).map(|_| fields).map_err(Error::custom)
}

/// Accepts a text, or a number as if it were written as text.
struct TextVisitor<T> {
    what: &'static str,
    read: fn(&str) -> Result<T, String>,
}

impl<T> Visitor<'_> for TextVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<T, E> {
        (self.read)(text).map_err(E::custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<T, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<T, E> {
        self.visit_str(if on { "true" } else { "false" })
    }
}
