//! Arguments by reference: `{"$artifact": "art_…"}` represents the text of a stored result, at any
//! depth, so that large data need not pass through a model. People and hashes see the reference,
//! which is a hash of the content; the tool gets the text.

use serde_json::Value;
use toolcrib_core::{ArtifactRef, ArtifactStore, ErrorType, ToolError, defaults};

/// The key that makes an object a reference.
const KEY: &str = "$artifact";

/// Returns whether argument text can contain a reference at all.
pub(crate) fn may_contain(text: &str) -> bool {
    text.contains(KEY)
}

/// Returns whether a value contains a reference.
pub(crate) fn contains(value: &Value) -> bool {
    match value {
        Value::Object(map) if map.len() == 1 && map.contains_key(KEY) => true,
        Value::Object(map) => map.values().any(contains),
        Value::Array(items) => items.iter().any(contains),
        _ => false,
    }
}

/// Returns the value with each reference replaced by the text of its artifact. A parameter that is
/// not a string parses the text as JSON, as it does with any other string.
///
/// # Errors
/// `validation_error` for a reference that is not a text, does not name an artifact of this owner,
/// or is too large for an argument.
pub(crate) fn resolve(
    value: Value,
    store: &dyn ArtifactStore,
    owner: &str,
) -> Result<Value, ToolError> {
    let mut room = defaults::ARGUMENT_BYTES;
    resolve_within(value, store, owner, &mut room)
}

/// Returns the text of one stored result.
///
/// # Errors
/// As [`resolve`].
pub(crate) fn text(
    reference: &str,
    store: &dyn ArtifactStore,
    owner: &str,
) -> Result<String, ToolError> {
    text_of(reference, store, owner, &mut { defaults::ARGUMENT_BYTES })
}

fn resolve_within(
    value: Value,
    store: &dyn ArtifactStore,
    owner: &str,
    room: &mut usize,
) -> Result<Value, ToolError> {
    match value {
        Value::Object(map) if map.len() == 1 && map.contains_key(KEY) => {
            let reference = map.get(KEY).and_then(Value::as_str).unwrap_or_default();
            text_of(reference, store, owner, room).map(Value::String)
        }
        Value::Object(map) => map
            .into_iter()
            .map(|(key, inner)| Ok((key, resolve_within(inner, store, owner, room)?)))
            .collect::<Result<_, _>>()
            .map(Value::Object),
        Value::Array(items) => items
            .into_iter()
            .map(|item| resolve_within(item, store, owner, room))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        scalar => Ok(scalar),
    }
}

fn text_of(
    reference: &str,
    store: &dyn ArtifactStore,
    owner: &str,
    room: &mut usize,
) -> Result<String, ToolError> {
    let shown: String = reference.chars().take(60).collect();
    let wrong = |why: &str| {
        ToolError::new(
            ErrorType::ValidationError,
            format!(
                "The reference {{\"{KEY}\": \"{shown}\"}} cannot be used: {why}. Send the value itself, or a reference that a result named."
            ),
        )
    };
    let artifact = ArtifactRef(reference.to_owned());
    let meta = store.meta(&artifact, owner).map_err(|error| wrong(&error.to_string()))?;
    let meta = meta.ok_or_else(|| wrong("there is no such stored result"))?;
    let bytes = usize::try_from(meta.bytes).unwrap_or(usize::MAX);
    if meta.total_bytes > meta.bytes {
        return Err(wrong("the result was too large to be stored whole"));
    }
    *room = room.checked_sub(bytes).ok_or_else(|| {
        wrong("with it the arguments are larger than 16 MiB; read_artifact reads it page by page")
    })?;
    let read = store.read(&artifact, owner, 0, bytes).map_err(|error| wrong(&error.to_string()))?;
    String::from_utf8(read.unwrap_or_default()).map_err(|_| wrong("it is not text"))
}
