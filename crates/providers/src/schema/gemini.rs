//! Gemini's schema dialect, a subset of OpenAPI: types in upper case, one type per value, enums of
//! strings only.
//!
//! Uses `parameters` rather than `parametersJsonSchema`, because every model since 1.5 accepts it.
//! Constraints that it cannot express are moved into the description.

use serde_json::{Map, Value, json};

use super::local_refs::{self, RefError};
use super::{
    ConvertedSchema, Loss, MAX_DEPTH, MAX_NODES, SILENT, common_type, describe,
    move_to_description, object_admits_null, pointer,
};

/// Keywords that are passed through.
const SUPPORTED_KEYWORDS: [&str; 13] = [
    "title",
    "default",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "pattern",
    "minItems",
    "maxItems",
    "minProperties",
    "maxProperties",
    "example",
    "description",
];
/// Accepted formats: date-time for strings, sizes for numbers.
const FORMATS: [&str; 5] = ["date-time", "float", "double", "int32", "int64"];
/// Keywords that the structured conversion reads.
const READ: [&str; 11] = [
    "type",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "properties",
    "required",
    "items",
    "$ref",
    "nullable",
];

/// Converts a schema to Gemini's subset; null for a function without parameters.
#[must_use]
pub fn convert(schema: &Value) -> ConvertedSchema {
    let mut work = Converter { root: schema, losses: Vec::new(), nodes: 0, open: Vec::new() };
    let mut root = schema.as_object().cloned().unwrap_or_default();
    let mut about = Vec::new();
    for keyword in ["anyOf", "oneOf", "allOf"] {
        // The root must be one object: the plain conversion knows how to flatten a composition.
        if root.contains_key(keyword) {
            let plain = super::plain(schema, super::NonStrict::Anthropic);
            root = plain.schema.as_object().cloned().unwrap_or_default();
            about = plain.about;
            work.losses = plain.losses;
            break;
        }
    }
    root.insert("type".to_owned(), "object".into());
    let mut node = work.node(&Value::Object(root), "", 0);
    if let Some(words) = node.get("description").and_then(Value::as_str)
        && schema.get("description").and_then(Value::as_str) != Some(words)
    {
        about.push(words.to_owned());
    }
    if node.get("properties").and_then(Value::as_object).is_none_or(Map::is_empty) {
        node.clear();
    }
    let schema = if node.is_empty() { Value::Null } else { Value::Object(node) };
    ConvertedSchema { schema, about, losses: work.losses, strict: false }
}

struct Converter<'s> {
    root: &'s Value,
    losses: Vec<Loss>,
    nodes: usize,
    /// References that are being expanded.
    open: Vec<String>,
}

impl Converter<'_> {
    fn lose(&mut self, path: &str, message: &str) {
        self.losses.push(Loss::new(path, message));
    }

    fn node(&mut self, schema: &Value, path: &str, depth: usize) -> Map<String, Value> {
        self.nodes += 1;
        let Some(map) =
            schema.as_object().filter(|_| depth <= MAX_DEPTH && self.nodes <= MAX_NODES)
        else {
            self.lose(path, "a value of any type was declared as STRING");
            return any_value();
        };
        if let Some(Value::String(reference)) = map.get("$ref") {
            return self.reference(reference, map, path, depth);
        }
        if let Some(Value::Array(all)) = map.get("allOf") {
            return self.all_of(all, map, path, depth);
        }
        let mut out = Map::new();
        self.shape(map, path, depth, &mut out);
        for (key, value) in map {
            self.keyword(key, value, path, &mut out);
        }
        out
    }

    fn reference(
        &mut self,
        reference: &str,
        map: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Map<String, Value> {
        let target = match local_refs::resolve(self.root, reference, &self.open) {
            Ok(target) => local_refs::merged(target, map),
            Err(problem) => {
                let what = match problem {
                    RefError::Recursive => "a recursion",
                    RefError::Unknown => "a reference that leads nowhere",
                };
                self.lose(path, &format!("{what} was moved into the description"));
                let mut out = any_value();
                // The target of a recursive reference is nearly always an object.
                let kind =
                    local_refs::resolve(self.root, reference, &[]).ok().and_then(|t| t.get("type"));
                if kind.is_some_and(|kind| kind == "object") {
                    out.insert("type".to_owned(), "OBJECT".into());
                }
                let words = reference.rsplit('/').next().unwrap_or(reference);
                describe(&mut out, &format!("as {words} above"));
                return out;
            }
        };
        self.open.push(reference.to_owned());
        let written = self.node(&Value::Object(target), path, depth + 1);
        self.open.pop();
        written
    }

    /// Merges the members of an `allOf`, as long as they do not conflict in a keyword.
    fn all_of(
        &mut self,
        all: &[Value],
        map: &Map<String, Value>,
        path: &str,
        depth: usize,
    ) -> Map<String, Value> {
        let mut merged = map.clone();
        merged.shift_remove("allOf");
        for (i, member) in all.iter().enumerate() {
            let member = match member.get("$ref").and_then(Value::as_str) {
                Some(reference) => match local_refs::resolve(self.root, reference, &self.open) {
                    Ok(target) => target.clone(),
                    Err(_) => member.clone(),
                },
                None => member.clone(),
            };
            for (key, value) in member.as_object().into_iter().flatten() {
                match (merged.get_mut(key), value) {
                    (Some(Value::Object(old)), Value::Object(new)) if key == "properties" => {
                        new.iter().for_each(|(k, v)| {
                            old.entry(k.clone()).or_insert_with(|| v.clone());
                        });
                    }
                    (Some(Value::Array(old)), Value::Array(new)) if key == "required" => {
                        old.extend(new.iter().cloned());
                    }
                    (Some(old), new) if old == new => {}
                    (Some(_), _) => {
                        let at = format!("{path}/allOf/{i}");
                        move_to_description(&mut merged, key, value, &at, &mut self.losses);
                    }
                    (None, value) => {
                        merged.insert(key.clone(), value.clone());
                    }
                }
            }
        }
        self.node(&Value::Object(merged), path, depth + 1)
    }

    fn shape(
        &mut self,
        map: &Map<String, Value>,
        path: &str,
        depth: usize,
        out: &mut Map<String, Value>,
    ) {
        let nullable = map.get("nullable").is_some_and(|n| *n == Value::Bool(true));
        let says_null =
            ["type", "enum", "const", "anyOf", "oneOf"].iter().any(|k| map.contains_key(*k));
        let nullable = nullable || (says_null && object_admits_null(map));
        let union = ["anyOf", "oneOf"].into_iter().find(|key| map.contains_key(*key));
        if let Some(key) = union {
            self.union(key, map, path, depth, out);
        } else {
            let kinds = self.kinds(map, path);
            match kinds.as_slice() {
                [kind] => self.single(kind, map, path, depth, out),
                several => {
                    let branches: Vec<Value> = several
                        .iter()
                        .map(|kind| {
                            let mut branch = Map::new();
                            self.single(kind, map, path, depth, &mut branch);
                            Value::Object(branch)
                        })
                        .collect();
                    out.insert("anyOf".to_owned(), branches.into());
                }
            }
        }
        if nullable {
            out.insert("nullable".to_owned(), true.into());
        }
    }

    fn union(
        &mut self,
        key: &str,
        map: &Map<String, Value>,
        path: &str,
        depth: usize,
        out: &mut Map<String, Value>,
    ) {
        if key == "oneOf" {
            self.lose(path, "`oneOf` was declared as `anyOf`");
        }
        let beside = ["type", "properties", "items", "enum", "const", "required", "oneOf"];
        for other in beside.into_iter().filter(|other| *other != key) {
            if let Some(value) = map.get(other) {
                move_to_description(out, other, value, path, &mut self.losses);
            }
        }
        let branches =
            map.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut ported = Vec::new();
        for (i, branch) in branches.iter().enumerate() {
            if branch.get("type").is_none_or(|kind| kind != "null") {
                ported.push(self.node(branch, &format!("{path}/{key}/{i}"), depth + 1));
            }
        }
        match ported.len() {
            0 => {
                self.lose(path, "an empty choice was declared as STRING");
                out.extend(any_value());
            }
            // Null was the only alternative.
            1 => out.extend(ported.into_iter().flatten()),
            _ => {
                let list: Vec<Value> = ported.into_iter().map(Value::Object).collect();
                out.insert("anyOf".to_owned(), list.into());
            }
        }
    }

    /// Returns the types of a value, without null; inferred from other keywords if there is none.
    fn kinds(&mut self, map: &Map<String, Value>, path: &str) -> Vec<String> {
        let named: Vec<String> = match map.get("type") {
            Some(Value::String(kind)) => vec![kind.to_lowercase()],
            Some(Value::Array(kinds)) => {
                kinds.iter().filter_map(Value::as_str).map(str::to_lowercase).collect()
            }
            _ => Vec::new(),
        };
        let kinds: Vec<String> = named.into_iter().filter(|kind| kind != "null").collect();
        if !kinds.is_empty() {
            return kinds;
        }
        let choices = map.get("enum").and_then(Value::as_array).map(Vec::as_slice);
        let choices = choices.or_else(|| map.get("const").map(std::slice::from_ref));
        let guess = match () {
            () if map.contains_key("properties") => Some("object"),
            () if map.contains_key("items") => Some("array"),
            () => choices.and_then(common_type),
        };
        if guess.is_none() {
            self.lose(path, "a value without a single type was declared as STRING");
        }
        vec![guess.unwrap_or("string").to_owned()]
    }

    fn single(
        &mut self,
        kind: &str,
        map: &Map<String, Value>,
        path: &str,
        depth: usize,
        out: &mut Map<String, Value>,
    ) {
        out.insert("type".to_owned(), kind.to_uppercase().into());
        self.choices(kind, map, path, out);
        match kind {
            "array" => {
                let items = match map.get("items") {
                    Some(items @ Value::Object(inner)) if !inner.is_empty() => {
                        self.node(items, &pointer(path, "items"), depth + 1)
                    }
                    _ => {
                        self.lose(path, "an array of anything was declared as an array of STRING");
                        any_value()
                    }
                };
                out.insert("items".to_owned(), items.into());
            }
            "object" => self.object(map, path, depth, out),
            _ => {}
        }
    }

    /// Converts an enum, which can only contain non-empty strings.
    fn choices(
        &mut self,
        kind: &str,
        map: &Map<String, Value>,
        path: &str,
        out: &mut Map<String, Value>,
    ) {
        let (key, choices) = match (map.get("enum"), map.get("const")) {
            (Some(Value::Array(choices)), _) => ("enum", choices.clone()),
            (_, Some(only)) => ("const", vec![only.clone()]),
            _ => return,
        };
        let texts: Vec<Value> = choices.iter().filter(|c| !c.is_null()).cloned().collect();
        let fit = kind == "string"
            && !texts.is_empty()
            && texts.iter().all(|c| c.as_str().is_some_and(|text| !text.is_empty()));
        if fit {
            out.insert("enum".to_owned(), texts.into());
        } else {
            let value = map.get(key).cloned().unwrap_or_default();
            move_to_description(out, key, &value, path, &mut self.losses);
        }
    }

    fn object(
        &mut self,
        map: &Map<String, Value>,
        path: &str,
        depth: usize,
        out: &mut Map<String, Value>,
    ) {
        let Some(properties) = map.get("properties").and_then(Value::as_object) else { return };
        let mut ported = Map::new();
        for (name, schema) in properties {
            let at = pointer(&pointer(path, "properties"), name);
            ported.insert(name.clone(), self.node(schema, &at, depth + 1).into());
        }
        let names =
            map.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut required: Vec<Value> = Vec::new();
        for name in names {
            match name.as_str() {
                Some(text) if ported.contains_key(text) && !required.contains(name) => {
                    required.push(name.clone());
                }
                Some(text) if !ported.contains_key(text) => {
                    self.lose(path, &format!("the required property {text:?} has no schema"));
                }
                _ => {}
            }
        }
        if !ported.is_empty() {
            out.insert("properties".to_owned(), ported.into());
        }
        if !required.is_empty() {
            out.insert("required".to_owned(), required.into());
        }
    }

    /// Handles a keyword that the structured conversion has not read.
    fn keyword(&mut self, key: &str, value: &Value, path: &str, out: &mut Map<String, Value>) {
        match key {
            _ if READ.contains(&key) || SILENT.contains(&key) => {}
            "additionalProperties" if *value == Value::Bool(true) => {}
            "additionalProperties" if *value == Value::Bool(false) => {
                self.lose(path, "`additionalProperties: false` was left out; it is checked here");
            }
            "description" => {
                // Text from other keywords comes after the author's own description.
                let own = value.as_str().unwrap_or_default();
                let words = out.get("description").and_then(Value::as_str).unwrap_or_default();
                let text = if words.is_empty() { own.to_owned() } else { format!("{own} {words}") };
                out.insert("description".to_owned(), text.into());
            }
            "exclusiveMinimum" | "exclusiveMaximum" if self.integer_bound(key, value, out) => {}
            "format" if value.as_str().is_some_and(|f| FORMATS.contains(&f)) => {
                out.insert(key.to_owned(), value.clone());
            }
            _ if SUPPORTED_KEYWORDS.contains(&key) => {
                out.insert(key.to_owned(), value.clone());
            }
            _ => move_to_description(out, key, value, path, &mut self.losses),
        }
    }

    /// Converts an exclusive bound of an integer to an inclusive one, moved by one.
    fn integer_bound(&mut self, key: &str, value: &Value, out: &mut Map<String, Value>) -> bool {
        let is_integer = out.get("type").is_some_and(|kind| kind == "INTEGER");
        let Some(bound) = value.as_i64().filter(|_| is_integer) else { return false };
        let (name, moved) = match key {
            "exclusiveMinimum" => ("minimum", bound.checked_add(1)),
            _ => ("maximum", bound.checked_sub(1)),
        };
        match moved.filter(|_| !out.contains_key(name)) {
            Some(moved) => {
                out.insert(name.to_owned(), moved.into());
                true
            }
            None => false,
        }
    }
}

fn any_value() -> Map<String, Value> {
    let mut map = Map::new();
    map.insert("type".to_owned(), json!("STRING"));
    map
}
