//! Decodes a model's blocks, and repairs them like arguments.

use std::sync::LazyLock;

use schemars::JsonSchema;
use serde_json::{Map, Value, json};
use toolcrib_argument_decoder::{Change, Decoded, Limits, Schema, decode_value};
use toolcrib_core::similar_names::similar_names;
use toolcrib_core::{ToolError, schema};

use super::block::{
    Alert, Badge, Buttons, Card, CardBlock, Chart, Columns, Form, KeyValue, Metric, Progress,
    Section, Table, Text, Timeline,
};
use super::text_rules;

/// Maximum blocks of a card, including nested ones.
pub const MAX_BLOCKS: usize = 100;
/// Maximum nesting of blocks.
pub const MAX_DEPTH: usize = 4;
/// Maximum rows of a table, values of a series, items and fields.
const MAX_ROWS: usize = 200;
/// Maximum columns of a table, and blocks side by side.
const MAX_COLUMNS: usize = 20;
/// Maximum series of a chart, and buttons in a row.
const MAX_SERIES: usize = 12;

/// An invalid block.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {why}. Call rich_render without blocks for the reference.")]
pub struct CardError {
    /// Position of the block, such as `blocks[2] (chart)`.
    pub path: String,
    /// The problems of the block.
    pub why: String,
}

impl CardError {
    pub(super) fn at(path: &str, why: impl Into<String>) -> Self {
        Self { path: path.to_owned(), why: why.into() }
    }
}

impl From<CardError> for ToolError {
    fn from(error: CardError) -> Self {
        Self::validation(error.to_string())
    }
}

/// Valid blocks, and the changes that made them valid.
#[derive(Debug, Clone, PartialEq)]
pub struct DecodedCard {
    /// The blocks.
    pub blocks: Vec<CardBlock>,
    /// Repairs and unknown members, as text for the model.
    pub notes: Vec<String>,
}

/// A type of block.
struct Kind {
    name: &'static str,
    /// Other names that models use.
    aliases: &'static [&'static str],
    schema: Option<Schema>,
}

fn kind<T: JsonSchema>(name: &'static str, aliases: &'static [&'static str]) -> Kind {
    // The schemas are ours (tested); the `None` case only avoids a panic.
    Kind { name, aliases, schema: Schema::check(&schema::for_type::<T>()).ok() }
}

static KINDS: LazyLock<Vec<Kind>> = LazyLock::new(|| {
    vec![
        kind::<Text>("text", &["markdown", "paragraph"]),
        kind::<Metric>("metric", &["stat", "kpi"]),
        kind::<Card>("card", &[]),
        kind::<Chart>("chart", &["graph"]),
        kind::<Progress>("progress", &["progressbar", "progress_bar"]),
        kind::<Timeline>("timeline", &["steps"]),
        kind::<Alert>("alert", &["callout", "notice"]),
        kind::<Badge>("badge", &["tag", "chip"]),
        kind::<KeyValue>("keyvalue", &["key_value", "key-value", "kv"]),
        kind::<Columns>("columns", &["row", "grid"]),
        kind::<Section>("section", &["accordion", "collapse"]),
        kind::<Table>("table", &[]),
        kind::<Buttons>("buttons", &["actions", "button_row"]),
        kind::<Form>("form", &[]),
    ]
});

/// Checks and repairs blocks.
///
/// # Errors
/// [`CardError`] for the first invalid block.
pub fn decode(blocks: Vec<Value>) -> Result<DecodedCard, CardError> {
    if blocks.is_empty() {
        return Err(CardError::at("blocks", "there are none"));
    }
    let mut decoder = Decoder { count: 0, notes: Vec::new() };
    let values = decoder.blocks(blocks, "blocks", 1)?;
    let blocks = values.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
    let blocks = blocks.map_err(|error| CardError::at("blocks", error.to_string()))?;
    Ok(DecodedCard { blocks, notes: decoder.notes })
}

struct Decoder {
    count: usize,
    notes: Vec<String>,
}

impl Decoder {
    fn blocks(
        &mut self,
        blocks: Vec<Value>,
        path: &str,
        depth: usize,
    ) -> Result<Vec<Value>, CardError> {
        let numbered = blocks.into_iter().enumerate();
        numbered.map(|(n, block)| self.block(block, &format!("{path}[{n}]"), depth)).collect()
    }

    fn block(&mut self, block: Value, path: &str, depth: usize) -> Result<Value, CardError> {
        self.count += 1;
        if self.count > MAX_BLOCKS {
            return Err(CardError::at(path, format!("there are more than {MAX_BLOCKS} blocks")));
        }
        if depth > MAX_DEPTH {
            return Err(CardError::at(path, format!("blocks are more than {MAX_DEPTH} deep")));
        }
        let mut map = object(block, path)?;
        let kind = self.kind(&mut map, path)?;
        let path = format!("{path} ({})", kind.name);
        let mut value = self.checked(kind, map, &path)?;
        self.children(&mut value, &path, depth)?;
        check_limits(&value, kind.name, &path)?;
        text_rules::apply(&mut value, &path)?;
        if let Some(map) = value.as_object_mut() {
            map.insert("type".to_owned(), json!(kind.name));
        }
        Ok(value)
    }

    /// Removes the type from a block and returns it.
    fn kind(
        &mut self,
        map: &mut Map<String, Value>,
        path: &str,
    ) -> Result<&'static Kind, CardError> {
        let given = map.remove("type");
        let names = || KINDS.iter().map(|kind| kind.name);
        let Some(Value::String(given)) = given else {
            let all = names().collect::<Vec<_>>().join(", ");
            return Err(CardError::at(path, format!("its type is missing; it is one of {all}")));
        };
        let name = given.trim().to_lowercase();
        let is_it = |kind: &&Kind| kind.name == name || kind.aliases.contains(&name.as_str());
        match KINDS.iter().find(is_it) {
            Some(kind) => {
                if kind.name != given {
                    self.notes.push(format!("{path}: the type was read as {}", kind.name));
                }
                Ok(kind)
            }
            None => {
                let shown: String = given.chars().filter(|c| !c.is_control()).take(40).collect();
                let near = similar_names(&name, names());
                let hint = match near.first() {
                    Some(near) => format!("; did you mean {near}?"),
                    None => format!("; it is one of {}", names().collect::<Vec<_>>().join(", ")),
                };
                Err(CardError::at(path, format!("\"{shown}\" is not a type of block{hint}")))
            }
        }
    }

    fn checked(
        &mut self,
        kind: &Kind,
        map: Map<String, Value>,
        path: &str,
    ) -> Result<Value, CardError> {
        let Some(schema) = &kind.schema else {
            return Err(CardError::at(path, "this type cannot be shown now"));
        };
        let (value, changes, warnings) =
            match decode_value(Value::Object(map), schema, &Limits::DEFAULT) {
                Decoded::Ok { value, warnings } => (value, Vec::new(), warnings),
                Decoded::Repaired { value, changes, warnings } => (value, changes, warnings),
                Decoded::ValidationError { message } | Decoded::ParseError { message } => {
                    return Err(CardError::at(path, message.trim_end_matches('.')));
                }
            };
        let repairs =
            changes.into_iter().map(|Change { path: at, note, .. }| format!("{at} {note}"));
        let notes = repairs.chain(warnings).map(|note| format!("{path}: {}", note.trim()));
        self.notes.extend(notes);
        Ok(value)
    }

    /// Decodes nested blocks.
    fn children(&mut self, value: &mut Value, path: &str, depth: usize) -> Result<(), CardError> {
        if let Some(Value::Array(blocks)) = value.get_mut("blocks") {
            *blocks = self.blocks(std::mem::take(blocks), &format!("{path}.blocks"), depth + 1)?;
        }
        let columns = value.get_mut("columns").and_then(Value::as_array_mut);
        for (number, column) in columns.into_iter().flatten().enumerate() {
            if let Some(Value::Array(blocks)) = column.get_mut("blocks") {
                let path = format!("{path}.columns[{number}].blocks");
                *blocks = self.blocks(std::mem::take(blocks), &path, depth + 1)?;
            }
        }
        Ok(())
    }
}

/// Returns an object, parsing it if the model wrote it as text.
fn object(block: Value, path: &str) -> Result<Map<String, Value>, CardError> {
    match block {
        Value::Object(map) => Ok(map),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(map)) => Ok(map),
            _ => {
                let text = Value::String(text);
                Ok(Map::from_iter([("type".to_owned(), json!("text")), ("text".to_owned(), text)]))
            }
        },
        _ => Err(CardError::at(path, "it is not an object")),
    }
}

/// Checks properties that a schema cannot express: sizes, and that parts match each other.
fn check_limits(value: &Value, kind: &str, path: &str) -> Result<(), CardError> {
    let fail = |why: String| Err(CardError::at(path, why));
    let items = |key: &str| value.get(key).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    for (key, most) in [
        ("rows", MAX_ROWS),
        ("items", MAX_ROWS),
        ("labels", MAX_ROWS),
        ("columns", MAX_COLUMNS),
        ("fields", MAX_COLUMNS),
        ("series", MAX_SERIES),
        ("buttons", MAX_SERIES),
    ] {
        if items(key).len() > most {
            return fail(format!("{key} has {} entries; at most {most}", items(key).len()));
        }
    }
    let columns = items("columns").len();
    let uneven = items("rows").iter().position(|row| row.as_array().map(Vec::len) != Some(columns));
    match (kind, uneven) {
        ("table", Some(row)) => {
            return fail(format!("row {row} does not have {columns} cells, one for each column"));
        }
        ("chart", _) => {
            let labels = items("labels").len();
            let values = |series: &Value| series["values"].as_array().map_or(0, Vec::len);
            if labels == 0 || items("series").is_empty() {
                return fail("a chart needs labels and series".to_owned());
            }
            if let Some(n) = items("series").iter().position(|series| values(series) != labels) {
                return fail(format!(
                    "series {n} does not have {labels} values, one for each label"
                ));
            }
        }
        ("progress", _)
            if value.get("max").and_then(Value::as_f64).is_some_and(|max| max <= 0.0) =>
        {
            return fail("max must be more than 0".to_owned());
        }
        ("form", _) => {
            let is_bare = |field: &Value| {
                field["kind"] == "choice"
                    && field.get("options").and_then(Value::as_array).is_none_or(Vec::is_empty)
            };
            if let Some(field) = items("fields").iter().find(|field| is_bare(field)) {
                return fail(format!("the choice {} has no options", field["name"]));
            }
        }
        _ => {}
    }
    let opens_other = |button: &&Value| {
        let address = button["value"].as_str().unwrap_or_default().to_ascii_lowercase();
        let is_web = address.starts_with("https://") || address.starts_with("http://");
        button["action"] == "open_url" && !is_web
    };
    if let Some(button) = items("buttons").iter().find(opens_other) {
        return fail(format!(
            "{} is not a web address; open_url opens https:// only",
            button["value"]
        ));
    }
    Ok(())
}
