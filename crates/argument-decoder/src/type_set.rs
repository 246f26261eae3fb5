//! Sets of JSON types.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

/// A set of JSON types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TypeSet(u8);

impl TypeSet {
    pub(super) const NONE: Self = Self(0);
    pub(super) const NULL: Self = Self(1);
    pub(super) const BOOLEAN: Self = Self(2);
    pub(super) const INTEGER: Self = Self(4);
    /// Numbers that are not integers.
    pub(super) const FRACTION: Self = Self(8);
    pub(super) const STRING: Self = Self(16);
    pub(super) const ARRAY: Self = Self(32);
    pub(super) const OBJECT: Self = Self(64);
    pub(super) const ANY: Self = Self(127);

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the types for a type name of JSON Schema.
    pub(super) fn named(name: &str) -> Option<Self> {
        Some(match name {
            "null" => Self::NULL,
            "boolean" => Self::BOOLEAN,
            "integer" => Self::INTEGER,
            "number" => Self::INTEGER.or(Self::FRACTION),
            "string" => Self::STRING,
            "array" => Self::ARRAY,
            "object" => Self::OBJECT,
            _ => return None,
        })
    }

    /// Returns the type of a value. A whole float is an integer, as in JSON Schema.
    pub(super) fn of(value: &Value) -> Self {
        match value {
            Value::Null => Self::NULL,
            Value::Bool(_) => Self::BOOLEAN,
            Value::Number(number) if number.as_f64().is_some_and(|float| float.fract() != 0.0) => {
                Self::FRACTION
            }
            Value::Number(_) => Self::INTEGER,
            Value::String(_) => Self::STRING,
            Value::Array(_) => Self::ARRAY,
            Value::Object(_) => Self::OBJECT,
        }
    }

    /// Returns the types that a schema declares, by `type` or else by the values that it lists.
    pub(super) fn declared(schema: &Map<String, Value>) -> Self {
        let union = |values: &[Value], of: fn(&Value) -> Self| {
            values.iter().fold(Self::NONE, |all, one| all.or(of(one)))
        };
        let by_name = |name: &Value| name.as_str().and_then(Self::named).unwrap_or(Self::ANY);
        match (schema.get("type"), schema.get("enum"), schema.get("const")) {
            (Some(Value::Array(names)), ..) => union(names, by_name),
            (Some(name), ..) => by_name(name),
            (None, Some(Value::Array(values)), _) => union(values, Self::of),
            (None, _, Some(value)) => Self::of(value),
            _ => Self::ANY,
        }
    }
}
