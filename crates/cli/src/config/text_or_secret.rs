//! A secret value in a file: either the value itself, or the name of a secret in the vault.
#![deny(clippy::indexing_slicing)]

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use toolcrib_store::vault::SecretName;

use crate::config::deserialize::MaskedText;

/// A value of a tool's configuration, or the key of a provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TextOrSecret {
    /// The value itself: text; a number or a boolean counts as text.
    Literal(MaskedText),
    /// `{ secret = "NAME" }`.
    Secret(SecretName),
}

impl<'de> Deserialize<'de> for TextOrSecret {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_any(TextOrSecretVisitor)
    }
}

struct TextOrSecretVisitor;

impl<'de> Visitor<'de> for TextOrSecretVisitor {
    type Value = TextOrSecret;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, a number, true or false, or { secret = \"NAME\" }")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<TextOrSecret, E> {
        Ok(TextOrSecret::Literal(MaskedText(text.to_owned())))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<TextOrSecret, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<TextOrSecret, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_bool<E: Error>(self, on: bool) -> Result<TextOrSecret, E> {
        self.visit_str(if on { "true" } else { "false" })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TextOrSecret, A::Error> {
        let mut name: Option<String> = None;
        while let Some(key) = map.next_key::<String>()? {
            if key != "secret" {
                return Err(A::Error::unknown_field(&key, &["secret"]));
            }
            name = Some(map.next_value()?);
        }
        let name = name.ok_or_else(|| A::Error::missing_field("secret"))?;
        name.parse().map(TextOrSecret::Secret).map_err(A::Error::custom)
    }
}
