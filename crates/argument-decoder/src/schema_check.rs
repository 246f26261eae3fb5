//! The check of a schema at registration: one walk bounds it and recognizes ordinary keywords; only
//! a schema with an unusual keyword is checked against the full meta-schema, which then decides.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};

use super::schema::{MAX_SCHEMA_DEPTH, MAX_SCHEMA_NODES, SchemaError, options};
use super::schema_references;
use super::type_set::TypeSet;
use super::value_preview::shorten;

/// Maximum number of different patterns in one schema; each may have the compiled size defined in
/// `schema.rs`.
const MAX_PATTERNS: usize = 64;
/// Maximum number of references in one schema: the compiler follows them recursively.
const MAX_REFERENCES: usize = 2_000;
/// Largest schema without references whose cost needs no further analysis.
const MAX_TREE_NODES: usize = 5_000;

/// The result of the walk.
pub(super) struct SchemaSummary {
    /// Whether the work for one value may exceed the cost of reading the schema once, so that it
    /// must be bounded.
    pub(super) multiplies: bool,
}

/// Checks a schema document.
pub(super) fn check(root: &Value) -> Result<SchemaSummary, SchemaError> {
    let Value::Object(map) = root else { return Err(SchemaError::RootNotObject) };
    if !accepts_objects(map.get("type")) {
        return Err(SchemaError::RootNotObject);
    }
    let mut walk = Walk::default();
    walk.schema(root, 0)?;
    walk.follow_references(root)?;
    if walk.unusual {
        std::iter::once(root).chain(walk.strays.iter().copied()).try_for_each(meta_check)?;
    }
    walk.check_patterns()?;
    // Without references, a place is checked against each schema of the document at most once.
    let multiplies = !walk.references.is_empty() || walk.nodes > MAX_TREE_NODES;
    Ok(SchemaSummary { multiplies })
}

fn meta_check(schema: &Value) -> Result<(), SchemaError> {
    jsonschema::meta::validate(schema).map_err(|error| SchemaError::Invalid {
        at: error.instance_path().to_string(),
        message: shorten(&error.to_string(), 300).into_owned(),
    })
}

fn accepts_objects(declared: Option<&Value>) -> bool {
    match declared {
        None => true,
        Some(Value::Array(types)) => types.iter().any(|t| t == "object"),
        Some(one) => one == "object",
    }
}

#[derive(Default)]
struct Walk<'s> {
    nodes: usize,
    unusual: bool,
    references: Vec<&'s str>,
    patterns: Vec<&'s str>,
    /// Addresses of the schemas seen, for references to places that are not known schemas.
    seen: Vec<usize>,
    /// Schemas that only a reference reaches.
    strays: Vec<&'s Value>,
}

impl<'s> Walk<'s> {
    fn count(&mut self, depth: usize) -> Result<(), SchemaError> {
        self.nodes += 1;
        if self.nodes > MAX_SCHEMA_NODES {
            return Err(SchemaError::TooLarge);
        }
        if depth > MAX_SCHEMA_DEPTH { Err(SchemaError::TooDeep) } else { Ok(()) }
    }

    /// Counts a value that contains data, not schemas.
    fn data(&mut self, value: &Value, depth: usize) -> Result<(), SchemaError> {
        self.count(depth)?;
        match value {
            Value::Array(items) => items.iter().try_for_each(|item| self.data(item, depth + 1)),
            Value::Object(map) => map.values().try_for_each(|item| self.data(item, depth + 1)),
            _ => Ok(()),
        }
    }

    fn schema(&mut self, value: &'s Value, depth: usize) -> Result<(), SchemaError> {
        self.count(depth)?;
        match value {
            Value::Object(map) => {
                self.seen.push(schema_references::identity(value));
                map.iter().try_for_each(|(key, item)| self.keyword(key, item, depth + 1))
            }
            Value::Bool(_) => Ok(()),
            other => {
                self.unusual = true;
                self.data(other, depth + 1)
            }
        }
    }

    fn schema_map(&mut self, value: &'s Value, depth: usize) -> Result<(), SchemaError> {
        self.count(depth)?;
        let Value::Object(map) = value else {
            self.unusual = true;
            return self.data(value, depth);
        };
        map.values().try_for_each(|item| self.schema(item, depth + 1))
    }

    fn schema_list(&mut self, value: &'s Value, depth: usize) -> Result<(), SchemaError> {
        self.count(depth)?;
        let Value::Array(items) = value else {
            self.unusual = true;
            return self.data(value, depth);
        };
        self.unusual |= items.is_empty();
        items.iter().try_for_each(|item| self.schema(item, depth + 1))
    }

    fn keyword(&mut self, key: &str, value: &'s Value, depth: usize) -> Result<(), SchemaError> {
        let usual = match key {
            "type" => is_type(value),
            "description" | "title" | "format" | "$comment" | "$anchor" => value.is_string(),
            "properties" | "$defs" | "definitions" => return self.schema_map(value, depth),
            "items" if value.is_array() => {
                self.unusual = true;
                return self.schema_list(value, depth);
            }
            "items"
            | "additionalProperties"
            | "contains"
            | "propertyNames"
            | "unevaluatedItems"
            | "unevaluatedProperties"
            | "contentSchema" => return self.schema(value, depth),
            "required" => is_names(value),
            "enum" | "examples" => value.is_array(),
            "default" | "const" => true,
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" => value.is_number(),
            "multipleOf" => value.as_f64().is_some_and(|step| step > 0.0),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties"
            | "maxProperties" | "minContains" | "maxContains" => value.is_u64(),
            "uniqueItems" | "deprecated" | "readOnly" | "writeOnly" => value.is_boolean(),
            "pattern" => self.pattern(value),
            "patternProperties" => {
                self.patterns
                    .extend(value.as_object().into_iter().flat_map(Map::keys).map(String::as_str));
                return self.schema_map(value, depth);
            }
            "prefixItems" => return self.schema_list(value, depth),
            "anyOf" | "oneOf" | "allOf" => {
                return self.schema_list(value, depth);
            }
            "not" | "if" | "then" | "else" => {
                return self.schema(value, depth);
            }
            "dependentSchemas" => {
                return self.schema_map(value, depth);
            }
            "$ref" => self.reference(value),
            "$schema" => value.as_str().is_some_and(is_usual_draft),
            "$id" | "id" => return self.identifier(key, value, depth),
            "$dynamicRef" | "$recursiveRef" => {
                self.reference(value);
                false
            }
            "dependencies" | "additionalItems" => {
                self.unusual = true;
                return self.schema_or_map(value, depth);
            }
            "$dynamicAnchor" | "$recursiveAnchor" | "$vocabulary" | "dependentRequired"
            | "contentEncoding" | "contentMediaType" => false,
            // Other keywords are annotations, which JSON Schema allows.
            _ => true,
        };
        self.unusual |= !usual;
        self.data(value, depth)
    }

    /// Checks a keyword with two meanings: `dependencies` maps names to schemas or to lists of
    /// names; `additionalItems` is a schema.
    fn schema_or_map(&mut self, value: &'s Value, depth: usize) -> Result<(), SchemaError> {
        match value {
            Value::Object(map) => {
                self.schema(value, depth)?;
                map.values().try_for_each(|item| match item {
                    Value::Object(_) => self.schema(item, depth + 1),
                    other => self.data(other, depth + 1),
                })
            }
            other => self.data(other, depth),
        }
    }

    fn reference(&mut self, value: &'s Value) -> bool {
        self.references.extend(value.as_str());
        value.is_string()
    }

    fn pattern(&mut self, value: &'s Value) -> bool {
        self.patterns.extend(value.as_str());
        value.is_string()
    }

    /// Checks an identifier. The root may have one; in a subschema it would change the meaning of
    /// `#`. A bare fragment is the old spelling of an anchor.
    fn identifier(&mut self, key: &str, value: &'s Value, depth: usize) -> Result<(), SchemaError> {
        self.unusual = true;
        match value.as_str() {
            Some(id) if depth > 1 && key == "$id" && !id.starts_with('#') => {
                Err(SchemaError::RemoteReference { reference: shorten(id, 100).into_owned() })
            }
            _ => self.data(value, depth),
        }
    }

    /// Resolves every reference, and walks targets that no keyword reached.
    fn follow_references(&mut self, root: &'s Value) -> Result<(), SchemaError> {
        if self.references.is_empty() {
            return Ok(());
        }
        let document = schema_references::Document::new(root);
        let mut sorted = 0;
        let mut next = 0;
        while let Some(&reference) = self.references.get(next) {
            next += 1;
            if next > MAX_REFERENCES {
                return Err(SchemaError::TooComplex);
            }
            let (target, _) = document.resolve(reference)?;
            if sorted != self.seen.len() {
                self.seen.sort_unstable();
                sorted = self.seen.len();
            }
            if target.is_object()
                && self.seen.binary_search(&schema_references::identity(target)).is_err()
            {
                self.strays.push(target);
                self.schema(target, 0)?;
            } else if !target.is_object() && !target.is_boolean() {
                return Err(SchemaError::UnresolvedReference {
                    reference: shorten(reference, 100).into_owned(),
                });
            }
        }
        Ok(())
    }

    fn check_patterns(&mut self) -> Result<(), SchemaError> {
        self.patterns.sort_unstable();
        self.patterns.dedup();
        for (count, pattern) in self.patterns.iter().enumerate() {
            // Compiled exactly as in the validator, including the translation from ECMAScript.
            let alone = serde_json::json!({ "pattern": pattern });
            if count >= MAX_PATTERNS || pattern.len() > 4096 || options().build(&alone).is_err() {
                return Err(SchemaError::Pattern { pattern: shorten(pattern, 100).into_owned() });
            }
        }
        Ok(())
    }
}

fn is_usual_draft(uri: &str) -> bool {
    let uri = uri.trim_end_matches('#');
    uri == "https://json-schema.org/draft/2020-12/schema"
        || uri == "http://json-schema.org/draft-07/schema"
}

fn is_type(value: &Value) -> bool {
    match value {
        Value::String(name) => TypeSet::named(name).is_some(),
        Value::Array(names) => {
            let mut all = TypeSet::NONE;
            let distinct = names.iter().all(|name| {
                let Some(one) = name.as_str().and_then(TypeSet::named) else {
                    return false;
                };
                let before = all;
                all = all.or(one);
                !before.covers(one)
            });
            distinct && !names.is_empty()
        }
        _ => false,
    }
}

/// Returns whether the value is a list of distinct strings. Long lists are left to the meta-schema,
/// which finds duplicates by hash.
fn is_names(value: &Value) -> bool {
    let Value::Array(names) = value else { return false };
    names.len() <= 32
        && names
            .iter()
            .enumerate()
            .all(|(i, name)| name.is_string() && !names.iter().take(i).any(|n| n == name))
}
