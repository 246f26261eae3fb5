//! The OpenAPI 3.1 document, generated from the operations, so that it describes the actual routes.

use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::map::Entry;
use serde_json::{Map, Value, json};

use super::operation::{Access, Operation, SchemaOf, Success};
use crate::problem::{Code, Problem};

/// Description of the error responses. All codes are listed for every operation, because the
/// middleware can answer with them.
const ERRORS: &str = "The request failed; `code` says why and is stable.";

/// Builds the document of these operations.
#[must_use]
pub fn document(operations: &[Operation], version: &str) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for operation in operations {
        let described = describe(operation, &mut generator);
        let path = paths.entry(operation.full_path()).or_insert_with(|| json!({}));
        path[operation.method.as_str().to_lowercase()] = described;
    }
    let problem = generator.subschema_for::<Problem>();
    let schemas = generator.take_definitions(true);
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Toolcrib",
            "version": version,
            "summary": "Tools for AI agents: found, checked, run, bounded and recorded.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer", "description": "`toolcrib token add` makes one."}
            },
            "responses": {
                "Problem": {
                    "description": ERRORS,
                    "content": {"application/problem+json": {"schema": problem}},
                }
            },
        },
    })
}

fn describe(operation: &Operation, generator: &mut SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = path_parameters(operation.path).collect();
    if let Some(query) = operation.query {
        // Query fields are inlined: they are parameters of the operation, not a separate schema.
        let mut inline = SchemaSettings::draft2020_12()
            .with(|settings| settings.inline_subschemas = true)
            .into_generator();
        parameters.extend(query_parameters(&query(&mut inline).to_value()));
    }
    parameters.extend(operation.headers.iter().map(|(name, about)| {
        json!({"name": name, "in": "header", "required": false, "description": about, "schema": {"type": "string"}})
    }));
    let mut responses = Map::new();
    for success in &operation.successes {
        let described = response(success, generator);
        match responses.entry(success.status.to_string()) {
            Entry::Vacant(free) => _ = free.insert(described),
            // One status can have several media types.
            Entry::Occupied(mut known) => merge_schemas(known.get_mut(), described),
        }
    }
    for code in Code::ALL {
        responses
            .entry(code.status().to_string())
            .or_insert_with(|| json!({"$ref": "#/components/responses/Problem"}));
    }
    let mut described = json!({
        "operationId": operation_id(operation),
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": parameters,
        "responses": responses,
    });
    if !operation.about.is_empty() {
        described["description"] = json!(operation.about);
    }
    if !operation.bodies.is_empty() {
        let of = |(media_type, schema): &(&str, Option<SchemaOf>)| {
            let schema = schema.map(|schema| json!({"schema": schema(generator)}));
            ((*media_type).to_owned(), schema.unwrap_or_else(|| json!({})))
        };
        let content: Map<String, Value> = operation.bodies.iter().map(of).collect();
        described["requestBody"] = json!({"required": true, "content": content});
    }
    match operation.access {
        Access::Public => described["security"] = json!([]),
        Access::Role(role) => {
            described["security"] = json!([{"token": []}]);
            described["x-role"] = json!(role);
        }
    }
    described
}

/// Merges the schema of another successful response with the same status.
fn merge_schemas(known: &mut Value, mut more: Value) {
    let text = |of: &Value| of["description"].as_str().unwrap_or_default().to_owned();
    known["description"] = json!(format!("{} {}", text(known), text(&more)));
    if let (Some(known), Some(more)) =
        (known["content"].as_object_mut(), more["content"].as_object_mut())
    {
        known.append(more);
    }
}

fn response(success: &Success, generator: &mut SchemaGenerator) -> Value {
    let mut described = json!({"description": success.about});
    if !success.media_type.is_empty() {
        let schema = match success.schema {
            Some(schema) => json!({"schema": schema(generator)}),
            None => json!({}),
        };
        described["content"] = json!({success.media_type: schema});
    }
    // The outcome of a call may have the status of a problem; the media type distinguishes them.
    if success.status >= 400 {
        let problem = generator.subschema_for::<Problem>();
        described["content"]["application/problem+json"] = json!({"schema": problem});
    }
    described
}

/// Returns the id of an operation, such as `get_tools_name`. It changes only with the path.
fn operation_id(operation: &Operation) -> String {
    let words = operation.path.split(['/', '{', '}', '.', '-']).filter(|word| !word.is_empty());
    let method = operation.method.as_str().to_lowercase();
    std::iter::once(method.as_str()).chain(words).collect::<Vec<_>>().join("_")
}

fn path_parameters(path: &str) -> impl Iterator<Item = Value> {
    path.split('/').filter_map(|part| {
        let name = part.strip_prefix('{')?.strip_suffix('}')?.trim_start_matches('*');
        Some(json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
    })
}

fn query_parameters(schema: &Value) -> Vec<Value> {
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, schema)| {
            let mut schema = schema.clone();
            let about = schema.as_object_mut().and_then(|schema| schema.remove("description"));
            without_null(&mut schema);
            json!({
                "name": name,
                "in": "query",
                "required": required.contains(&name.as_str()),
                "description": about.unwrap_or_default(),
                "schema": schema,
            })
        })
        .collect()
}

/// Removes `null` from the schema of a query field: clients omit the field instead.
fn without_null(schema: &mut Value) {
    let Some(object) = schema.as_object_mut() else { return };
    object.remove("default");
    if let Some(Value::Array(types)) = object.get_mut("type") {
        types.retain(|one| one != "null");
        if let [one] = types.as_slice() {
            let one = one.clone();
            object.insert("type".to_owned(), one);
        }
    }
    if let Some(Value::Array(any)) = object.get_mut("anyOf") {
        any.retain(|one| one["type"] != "null");
        if let [one] = any.as_slice() {
            *schema = one.clone();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_types_have_the_same_name() {
        let document = document(&crate::operations(), "1");
        let schemas = document["components"]["schemas"].as_object().unwrap();
        let numbered: Vec<_> =
            schemas.keys().filter(|name| name.ends_with(|c: char| c.is_ascii_digit())).collect();
        assert!(numbered.is_empty(), "give these types different names: {numbered:?}");
    }
}
