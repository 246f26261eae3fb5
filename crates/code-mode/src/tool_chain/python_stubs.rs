//! Python stubs: renders a tool's schema as a typed async function.
#![deny(clippy::indexing_slicing)]

use serde_json::{Map, Value};
use toolcrib_core::ToolSpec;

/// Maximum characters of a description in a stub.
const WORDS: usize = 400;

/// Maximum characters of the description of one parameter.
const PARAMETER_WORDS: usize = 160;

/// Maximum nesting of types; deeper ones are shown without their fields.
const DEPTH: usize = 4;

/// Reserved words of Python.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Returns a valid Python identifier: letters, digits and underscores.
pub(super) fn python_name(name: &str) -> String {
    let mut python: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if python.starts_with(|c: char| c.is_ascii_digit()) || python.is_empty() {
        python.insert(0, '_');
    }
    if KEYWORDS.contains(&&*python) {
        python.push('_');
    }
    python
}

/// One parameter.
struct Parameter<'s> {
    name: &'s str,
    schema: &'s Value,
    is_required: bool,
}

/// Returns the parameters in positional order: required ones first.
fn parameters(schema: &Value) -> Vec<Parameter<'_>> {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return Vec::new();
    };
    let mut parameters: Vec<Parameter<'_>> = properties
        .iter()
        .map(|(name, schema)| {
            let is_required = required.contains(&name.as_str());
            Parameter { name, schema, is_required }
        })
        .collect();
    parameters.sort_by_key(|parameter| !parameter.is_required);
    parameters
}

/// Returns the arguments of a call by name.
///
/// # Errors
/// A message for the script, in Python's wording.
pub(super) fn arguments(
    spec: &ToolSpec,
    args: Vec<Value>,
    named: Map<String, Value>,
) -> Result<Value, String> {
    let parameters = parameters(&spec.input_schema);
    if args.len() > parameters.len() {
        let (name, most, given) = (&spec.name, parameters.len(), args.len());
        return Err(format!(
            "{}() takes {most} positional arguments but {given} were given",
            python_name(name.as_str())
        ));
    }
    let mut by_name = Map::new();
    for (parameter, value) in parameters.iter().zip(args) {
        by_name.insert(parameter.name.to_owned(), value);
    }
    for (name, value) in named {
        let real = parameters
            .iter()
            .find(|parameter| parameter.name == name)
            .or_else(|| parameters.iter().find(|parameter| python_name(parameter.name) == name))
            .map_or(name.as_str(), |parameter| parameter.name);
        if by_name.contains_key(real) {
            let function = python_name(spec.name.as_str());
            return Err(format!("{function}() got multiple values for argument '{name}'"));
        }
        by_name.insert(real.to_owned(), value);
    }
    Ok(Value::Object(by_name))
}

/// Renders the stub of a tool, with its documentation.
pub(super) fn stub(spec: &ToolSpec) -> String {
    let parameters = parameters(&spec.input_schema);
    let shown: Vec<String> = parameters
        .iter()
        .map(|parameter| {
            let name = python_name(parameter.name);
            let kind = type_of(parameter.schema, &spec.input_schema, DEPTH);
            match parameter.is_required {
                true => format!("{name}: {kind}"),
                false => format!("{name}: {kind} = None"),
            }
        })
        .collect();
    let mut stub = format!(
        "async def {}({}) -> ToolResult:\n    \"\"\"{}",
        python_name(spec.name.as_str()),
        shown.join(", "),
        shorten(&spec.description, WORDS)
    );
    for parameter in &parameters {
        let description = parameter.schema.get("description").and_then(Value::as_str);
        if let Some(description) = description {
            let name = python_name(parameter.name);
            stub.push_str(&format!("\n    {name}: {}", shorten(description, PARAMETER_WORDS)));
        }
    }
    stub.push_str("\"\"\"");
    stub
}

/// Returns the beginning of a text, on one line that cannot end a docstring.
pub(super) fn shorten(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ").replace("\"\"\"", "'''");
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

fn type_of(schema: &Value, root: &Value, depth: usize) -> String {
    let Some(depth) = depth.checked_sub(1) else { return "object".to_owned() };
    if let Some(reference) = schema.get("$ref").and_then(Value::as_str) {
        let target = reference.strip_prefix('#').and_then(|pointer| root.pointer(pointer));
        return target.map_or_else(|| "object".to_owned(), |target| type_of(target, root, depth));
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let shown: Vec<String> = values.iter().take(12).map(literal).collect();
        return format!("Literal[{}]", shown.join(", "));
    }
    if let Some(value) = schema.get("const") {
        return format!("Literal[{}]", literal(value));
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(ways) = schema.get(key).and_then(Value::as_array) {
            return union(ways.iter().map(|way| type_of(way, root, depth)));
        }
    }
    match schema.get("type") {
        Some(Value::String(kind)) => simple(kind, schema, root, depth),
        Some(Value::Array(kinds)) => {
            union(kinds.iter().filter_map(Value::as_str).map(|k| simple(k, schema, root, depth)))
        }
        _ => "object".to_owned(),
    }
}

fn union(ways: impl Iterator<Item = String>) -> String {
    let mut shown: Vec<String> = Vec::new();
    for way in ways {
        if !shown.contains(&way) {
            shown.push(way);
        }
    }
    if shown.is_empty() { "object".to_owned() } else { shown.join(" | ") }
}

fn simple(kind: &str, schema: &Value, root: &Value, depth: usize) -> String {
    match kind {
        "string" => "str".to_owned(),
        "integer" => "int".to_owned(),
        "number" => "float".to_owned(),
        "boolean" => "bool".to_owned(),
        "null" => "None".to_owned(),
        "array" => match schema.get("items") {
            Some(items) => format!("list[{}]", type_of(items, root, depth)),
            None => "list".to_owned(),
        },
        "object" => fields(schema, root, depth),
        _ => "object".to_owned(),
    }
}

/// Returns the fields of an object type, in Python syntax.
fn fields(schema: &Value, root: &Value, depth: usize) -> String {
    let inner = parameters(schema);
    if inner.is_empty() || depth == 0 {
        return "dict".to_owned();
    }
    let shown: Vec<String> = inner
        .iter()
        .map(|field| format!("\"{}\": {}", field.name, type_of(field.schema, root, depth)))
        .collect();
    format!("dict {{{}}}", shown.join(", "))
}

fn literal(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        other => other.to_string(),
    }
}
