//! Strict mode: converts a schema to the subset of JSON Schema that OpenAI, Anthropic and DeepSeek
//! enforce while the model writes.
//!
//! A schema is either converted without a change of meaning, or refused, and its tool is then
//! declared without strict mode. The conversion is never wrong: an open map is not an empty object,
//! and a meaningful null is not an absent value.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::local_refs::{self, RefError};
use super::{
    ConvertedSchema, Loss, MAX_NODES, SILENT, admits_null, common_type, keyword_text,
    move_to_description, pointer,
};

/// Dialect of strict schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Strict {
    /// All properties required, optional ones nullable; bounds, patterns and formats stay.
    OpenAi,
    /// Optional properties stay optional; bounds and patterns are moved into the description.
    Anthropic,
    /// As OpenAI's, but with few formats, no length bounds, no objects without properties, and type
    /// lists of primitive types only.
    DeepSeek,
}

/// Nesting levels of objects and arrays that OpenAI accepts; deeper tools are declared without
/// strict mode.
const MAX_LEVELS: usize = 10;
/// Enum values in one schema that OpenAI accepts.
const MAX_CHOICES: usize = 1_000;

/// Formats that all providers accept, and those that DeepSeek does not.
const FORMATS: [&str; 5] = ["email", "hostname", "ipv4", "ipv6", "uuid"];
const TIME_FORMATS: [&str; 4] = ["date-time", "time", "date", "duration"];

impl Strict {
    fn keeps(self, keyword: &str, value: &Value) -> bool {
        match keyword {
            "title" | "description" | "type" | "enum" => true,
            "format" => {
                let format = value.as_str().unwrap_or_default();
                FORMATS.contains(&format)
                    || (self != Self::DeepSeek && TIME_FORMATS.contains(&format))
                    || (self == Self::Anthropic && format == "uri")
            }
            "default" => self == Self::Anthropic,
            "pattern" | "multipleOf" | "minimum" | "maximum" | "exclusiveMinimum"
            | "exclusiveMaximum" => self != Self::Anthropic,
            "maxItems" => self == Self::OpenAi,
            "minItems" => match self {
                Self::OpenAi => true,
                Self::Anthropic => value.as_u64().is_some_and(|n| n <= 1),
                Self::DeepSeek => false,
            },
            _ => false,
        }
    }

    /// Returns whether every property must be required, so that null means "absent".
    fn requires_all(self) -> bool {
        self != Self::Anthropic
    }
}

/// Converts the schema to the strict subset.
///
/// # Errors
/// The first [`Loss`] that would change the meaning: an open map, a tuple, a recursion, an untyped
/// value, a meaningful null.
pub fn convert(schema: &Value, rules: Strict) -> Result<ConvertedSchema, Loss> {
    let mut work = Converter {
        rules,
        root: schema,
        losses: Vec::new(),
        nodes: 0,
        choices: 0,
        open: Vec::new(),
    };
    let mut root =
        schema.as_object().cloned().ok_or_else(|| Loss::new("", "it is not an object"))?;
    if ["anyOf", "oneOf", "allOf", "enum", "not", "$ref"].iter().any(|k| root.contains_key(*k)) {
        return Err(Loss::new("", "its root is a composition"));
    }
    root.entry("properties").or_insert_with(|| json!({}));
    root.insert("type".to_owned(), "object".into());
    let schema = work.node(&Value::Object(root), "", 0)?;
    Ok(ConvertedSchema { schema, about: Vec::new(), losses: work.losses, strict: true })
}

struct Converter<'s> {
    rules: Strict,
    root: &'s Value,
    losses: Vec<Loss>,
    nodes: usize,
    choices: usize,
    /// References that are being expanded.
    open: Vec<String>,
}

impl Converter<'_> {
    fn node(&mut self, schema: &Value, path: &str, level: usize) -> Result<Value, Loss> {
        let refuse = |what: &str| Err(Loss::new(path, what));
        let Some(map) = schema.as_object() else { return refuse("a value of any type") };
        self.nodes += 1;
        if level > MAX_LEVELS || self.nodes > MAX_NODES {
            return refuse("too deep or too large");
        }
        if let Some(Value::String(reference)) = map.get("$ref") {
            return self.reference(reference, map, path, level);
        }
        if let Some(Value::Array(all)) = map.get("allOf") {
            let [only] = all.as_slice() else { return refuse("allOf") };
            let mut beside = map.clone();
            beside.shift_remove("allOf");
            return self.node(&Value::Object(local_refs::merged(only, &beside)), path, level);
        }
        let mut out = Map::new();
        if map.contains_key("anyOf") || map.contains_key("oneOf") {
            self.union(map, path, level, &mut out)?;
        } else {
            self.typed(map, path, level, &mut out)?;
        }
        for (key, value) in map {
            self.keyword(key, value, path, &mut out)?;
        }
        Ok(Value::Object(out))
    }

    fn reference(
        &mut self,
        reference: &str,
        map: &Map<String, Value>,
        path: &str,
        level: usize,
    ) -> Result<Value, Loss> {
        let target = match local_refs::resolve(self.root, reference, &self.open) {
            Ok(target) => local_refs::merged(target, map),
            Err(RefError::Recursive) => return Err(Loss::new(path, "a recursion")),
            Err(RefError::Unknown) => {
                return Err(Loss::new(path, format!("an unknown reference {reference:?}")));
            }
        };
        self.open.push(reference.to_owned());
        let written = self.node(&Value::Object(target), path, level);
        self.open.pop();
        written
    }

    fn union(
        &mut self,
        map: &Map<String, Value>,
        path: &str,
        level: usize,
        out: &mut Map<String, Value>,
    ) -> Result<(), Loss> {
        let key = if map.contains_key("anyOf") { "anyOf" } else { "oneOf" };
        let beside = ["type", "properties", "items", "enum", "const"];
        let both = map.contains_key("anyOf") && map.contains_key("oneOf");
        if both || beside.iter().any(|k| map.contains_key(*k)) {
            return Err(Loss::new(path, format!("`{key}` beside other keywords")));
        }
        if key == "oneOf" {
            self.losses.push(Loss::new(path, "`oneOf` was declared as `anyOf`"));
        }
        let branches =
            map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut ported = Vec::new();
        for (i, branch) in branches.iter().enumerate() {
            ported.push(self.node(branch, &format!("{path}/{key}/{i}"), level)?);
        }
        if ported.is_empty() {
            return Err(Loss::new(path, "an empty union"));
        }
        out.insert("anyOf".to_owned(), ported.into());
        Ok(())
    }

    fn typed(
        &mut self,
        map: &Map<String, Value>,
        path: &str,
        level: usize,
        out: &mut Map<String, Value>,
    ) -> Result<(), Loss> {
        let choices = match (map.get("enum"), map.get("const")) {
            (Some(Value::Array(choices)), None) => Some(choices.clone()),
            (None, Some(only)) => Some(vec![only.clone()]),
            (None, None) => None,
            _ => return Err(Loss::new(path, "both `enum` and `const`")),
        };
        let given = map.get("type").cloned();
        let kind = given.or_else(|| common_type(choices.as_deref()?).map(Into::into));
        let Some(kind) = kind else { return Err(Loss::new(path, "a value of any type")) };
        let kinds: Vec<&str> = match &kind {
            Value::String(kind) => vec![kind.as_str()],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        out.insert("type".to_owned(), kind.clone());
        if let Some(choices) = choices {
            self.choices += choices.len();
            let plain = choices.iter().all(|c| !c.is_object() && !c.is_array());
            if !plain || self.choices > MAX_CHOICES {
                return Err(Loss::new(path, "its enum"));
            }
            out.insert("enum".to_owned(), choices.into());
        }
        let nested = kinds.iter().any(|k| is_nested(k));
        let others = kinds.iter().filter(|k| **k != "null").count();
        let only_primitive = self.rules == Strict::DeepSeek && kind.is_array();
        match kinds.as_slice() {
            _ if nested && (others > 1 || only_primitive) => {
                Err(Loss::new(path, "a choice of types with objects"))
            }
            kinds if kinds.contains(&"object") => self.object(map, path, level, out),
            kinds if kinds.contains(&"array") => self.array(map, path, level, out),
            [] => Err(Loss::new(path, "a value of any type")),
            _ => Ok(()),
        }
    }

    fn object(
        &mut self,
        map: &Map<String, Value>,
        path: &str,
        level: usize,
        out: &mut Map<String, Value>,
    ) -> Result<(), Loss> {
        let closed = match map.get("additionalProperties") {
            Some(Value::Bool(false)) => true,
            None => false,
            Some(_) => return Err(Loss::new(path, "an open map (additionalProperties)")),
        };
        let empty = Map::new();
        let properties = map.get("properties").and_then(Value::as_object);
        if properties.is_none() && !closed || map.contains_key("patternProperties") {
            return Err(Loss::new(path, "an open map"));
        }
        let properties = properties.unwrap_or(&empty);
        let required: Vec<&str> = map
            .get("required")
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).collect())
            .unwrap_or_default();
        if required.iter().any(|name| !properties.contains_key(*name)) {
            return Err(Loss::new(path, "a required property without a schema"));
        }
        let mut ported = Map::new();
        for (name, schema) in properties {
            let at = pointer(&pointer(path, "properties"), name);
            let mut node = self.node(schema, &at, level + 1)?;
            if self.rules.requires_all() {
                if admits_null(&node) {
                    let what = "a null that means something: strict mode writes null for absent";
                    return Err(Loss::new(&at, what));
                }
                if !required.contains(&name.as_str()) {
                    make_nullable(&mut node, self.rules);
                }
            }
            ported.insert(name.clone(), node);
        }
        if self.rules == Strict::DeepSeek && ported.is_empty() && level > 0 {
            return Err(Loss::new(path, "an object without properties"));
        }
        let names: Vec<&str> = if self.rules.requires_all() {
            ported.keys().map(String::as_str).collect()
        } else {
            required
        };
        let names = json!(names);
        out.insert("properties".to_owned(), ported.into());
        out.insert("required".to_owned(), names);
        out.insert("additionalProperties".to_owned(), false.into());
        Ok(())
    }

    fn array(
        &mut self,
        map: &Map<String, Value>,
        path: &str,
        level: usize,
        out: &mut Map<String, Value>,
    ) -> Result<(), Loss> {
        if map.contains_key("prefixItems") {
            return Err(Loss::new(path, "a tuple"));
        }
        let Some(items) = map.get("items") else {
            return Err(Loss::new(path, "an array of anything"));
        };
        let items = self.node(items, &pointer(path, "items"), level + 1)?;
        out.insert("items".to_owned(), items);
        Ok(())
    }

    /// Handles a keyword that the structured conversion has not read.
    fn keyword(
        &mut self,
        key: &str,
        value: &Value,
        path: &str,
        out: &mut Map<String, Value>,
    ) -> Result<(), Loss> {
        let structural = [
            "type",
            "enum",
            "const",
            "anyOf",
            "oneOf",
            "properties",
            "required",
            "items",
            "additionalProperties",
        ];
        match key {
            _ if structural.contains(&key) || SILENT.contains(&key) => {}
            "default" if value.is_null() => {}
            "description" => {
                // Text from other keywords comes after the author's own description.
                let own = value.as_str().unwrap_or_default();
                let words = out.get("description").and_then(Value::as_str).unwrap_or_default();
                let text = if words.is_empty() { own.to_owned() } else { format!("{own} {words}") };
                out.insert("description".to_owned(), text.into());
            }
            "$dynamicRef" => return Err(Loss::new(path, keyword_text(key, value))),
            _ if self.rules.keeps(key, value) => {
                out.insert(key.to_owned(), value.clone());
            }
            _ => move_to_description(out, key, value, path, &mut self.losses),
        }
        Ok(())
    }
}

fn is_nested(kind: &str) -> bool {
    matches!(kind, "object" | "array")
}

/// Accepts null, which means "absent" in strict mode.
fn make_nullable(node: &mut Value, rules: Strict) {
    let Some(map) = node.as_object_mut() else { return };
    let nested = map.get("type").and_then(Value::as_str).is_some_and(is_nested);
    if rules == Strict::DeepSeek && nested {
        *node = json!({"anyOf": [node.take(), {"type": "null"}]});
        return;
    }
    match map.get_mut("type") {
        Some(Value::String(kind)) => {
            let kinds = json!([kind, "null"]);
            map.insert("type".to_owned(), kinds);
        }
        Some(Value::Array(kinds)) if !kinds.iter().any(|k| k == "null") => {
            kinds.push("null".into());
        }
        _ => {}
    }
    if let Some(Value::Array(choices)) = map.get_mut("enum")
        && !choices.contains(&Value::Null)
    {
        choices.push(Value::Null);
    }
    if let Some(Value::Array(branches)) = map.get_mut("anyOf") {
        branches.push(json!({"type": "null"}));
    }
}
