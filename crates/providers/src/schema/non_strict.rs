//! Non-strict declarations: the schema unchanged, except for parts that make a provider reject the
//! whole request.

use serde_json::{Map, Value, json};

use super::{ConvertedSchema, Loss, MAX_DEPTH, keyword_text, pointer};

/// Dialect of non-strict schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonStrict {
    /// No composition at the root; every array has `items`; references stay inside the schema.
    OpenAi,
    /// No composition at the root; property names are 1 to 64 of `[a-zA-Z0-9_.-]`.
    Anthropic,
    /// Any schema that a model can read.
    Text,
}

impl NonStrict {
    /// Returns the keywords that are not allowed at the root.
    fn not_at_root(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["allOf", "anyOf", "oneOf", "enum", "not"],
            Self::Anthropic => &["allOf", "anyOf", "oneOf"],
            Self::Text => &[],
        }
    }
}

/// Converts the schema for this provider.
#[must_use]
pub fn convert(schema: &Value, rules: NonStrict) -> ConvertedSchema {
    let mut losses = Vec::new();
    let mut about = Vec::new();
    let mut root = schema.as_object().cloned().unwrap_or_else(|| {
        losses.push(Loss::new("", "the schema is not an object; any arguments are declared"));
        Map::new()
    });
    let kind = root.get("type");
    let fits = kind.is_none_or(|kind| {
        kind == "object" || kind.as_array().is_some_and(|k| k.iter().any(|k| k == "object"))
    });
    if !fits {
        losses.push(Loss::new("", "the root's type is not object; object is declared"));
    }
    root.insert("type".to_owned(), "object".into());
    flatten_root(&mut root, rules, &mut about, &mut losses);
    root.entry("properties").or_insert_with(|| json!({}));
    let mut root = Value::Object(root);
    Walk { rules, losses: &mut losses }.node(&mut root, "", 0);
    ConvertedSchema { schema: root, about, losses, strict: false }
}

/// Removes compositions from the root. Keeps their properties, so that the model sees them, and
/// describes their constraints in text.
fn flatten_root(
    root: &mut Map<String, Value>,
    rules: NonStrict,
    about: &mut Vec<String>,
    losses: &mut Vec<Loss>,
) {
    for keyword in rules.not_at_root() {
        let Some(value) = root.shift_remove(*keyword) else { continue };
        losses.push(Loss::new(
            "",
            format!("`{keyword}` at the root was moved into the tool's description"),
        ));
        about.push(format!("The arguments must fit {}.", keyword_text(keyword, &value)));
        if *keyword == "not" || *keyword == "enum" {
            continue;
        }
        let branches = value.as_array().map(Vec::as_slice).unwrap_or_default();
        let properties = root.entry("properties").or_insert_with(|| json!({}));
        for branch in branches {
            let inner = branch.get("properties").and_then(Value::as_object);
            for (name, schema) in inner.into_iter().flatten() {
                if let Some(all) = properties.as_object_mut() {
                    all.entry(name.clone()).or_insert_with(|| schema.clone());
                }
            }
        }
        if *keyword == "allOf" {
            require_all(root, branches);
        }
        // A closed root would reject properties of the branches.
        if root.get("additionalProperties").is_some_and(|a| *a == Value::Bool(false)) {
            root.shift_remove("additionalProperties");
        }
    }
}

fn require_all(root: &mut Map<String, Value>, branches: &[Value]) {
    let names = branches.iter().filter_map(|b| b.get("required")?.as_array()).flatten();
    let required = root.entry("required").or_insert_with(|| json!([]));
    if let Some(list) = required.as_array_mut() {
        for name in names {
            if !list.contains(name) {
                list.push(name.clone());
            }
        }
    }
}

struct Walk<'a> {
    rules: NonStrict,
    losses: &'a mut Vec<Loss>,
}

impl Walk<'_> {
    fn node(&mut self, schema: &mut Value, path: &str, depth: usize) {
        let Some(map) = schema.as_object_mut() else { return };
        if depth > MAX_DEPTH {
            return;
        }
        match self.rules {
            NonStrict::OpenAi => {
                self.remote_reference(map, path);
                give_items(map);
            }
            NonStrict::Anthropic => self.property_names(map, path),
            NonStrict::Text => return,
        }
        for (key, inner) in map.iter_mut() {
            let at = pointer(path, key);
            match key.as_str() {
                "properties" | "patternProperties" | "$defs" | "definitions"
                | "dependentSchemas" => {
                    for (name, schema) in inner.as_object_mut().into_iter().flatten() {
                        self.node(schema, &pointer(&at, name), depth + 1);
                    }
                }
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                    for (i, schema) in inner.as_array_mut().into_iter().flatten().enumerate() {
                        self.node(schema, &format!("{at}/{i}"), depth + 1);
                    }
                }
                "items"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contains"
                | "propertyNames"
                | "additionalProperties"
                | "unevaluatedItems"
                | "unevaluatedProperties" => {
                    self.node(inner, &at, depth + 1);
                }
                _ => {}
            }
        }
    }

    /// Describes a reference to another document, which cannot, and must not, be followed.
    fn remote_reference(&mut self, map: &mut Map<String, Value>, path: &str) {
        let is_remote =
            map.get("$ref").and_then(Value::as_str).is_some_and(|target| !target.starts_with('#'));
        if is_remote && let Some(target) = map.shift_remove("$ref") {
            super::move_to_description(map, "$ref", &target, path, self.losses);
        }
    }

    /// Describes properties whose names Anthropic rejects instead of declaring them.
    fn property_names(&mut self, map: &mut Map<String, Value>, path: &str) {
        let Some(Value::Object(properties)) = map.get_mut("properties") else { return };
        let odd: Vec<String> = properties.keys().filter(|name| !is_key(name)).cloned().collect();
        for name in odd {
            let Some(schema) = properties_of(map).and_then(|p| p.shift_remove(&name)) else {
                continue;
            };
            let words = format!("also takes the property {name:?}: {schema}");
            super::describe(map, &crate::parse_error::truncate(&words, 400));
            let at = pointer(&pointer(path, "properties"), &name);
            let message = "the property's name is not taken; it was moved into the description";
            self.losses.push(Loss::new(&at, message));
            if let Some(Value::Array(required)) = map.get_mut("required") {
                required.retain(|other| *other != Value::String(name.clone()));
            }
            map.shift_remove("additionalProperties");
        }
    }
}

fn properties_of(map: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    map.get_mut("properties")?.as_object_mut()
}

fn is_key(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-'))
}

/// Adds `items: {}`, which is equivalent to no `items` but is not rejected.
fn give_items(map: &mut Map<String, Value>) {
    let is_array = match map.get("type") {
        Some(Value::String(kind)) => kind == "array",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "array"),
        _ => false,
    };
    if is_array && !map.contains_key("prefixItems") {
        map.entry("items").or_insert_with(|| json!({}));
    }
}
