//! Our tools as a client reads them.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use rmcp::model::{JsonObject, ListToolsResult, MetaObject, ServerResult, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};
use toolcrib_core::{Effect, ToolSpec, View};

use super::{LEAN, Mode};

/// Lists that are kept written down. Callers have few different views.
const KEPT: usize = 8;

/// A list of tools, written down once for all who see the same.
pub(super) struct Listing {
    view: Arc<View>,
    /// The result for clients of today's revision.
    pub(super) modern: Bytes,
    /// The same for those of the older ones.
    pub(super) legacy: Bytes,
}

impl Listing {
    fn of(view: Arc<View>, mode: Mode) -> serde_json::Result<Self> {
        let list = ListToolsResult::with_all_items(tools(&view, mode));
        let mut result = ServerResult::ListToolsResult(list);
        let mut legacy = result.clone();
        result.fill_missing_cache_hints();
        let modern = serde_json::to_vec(&result)?.into();
        legacy.strip_result_type_for_legacy_peer();
        legacy.strip_non_object_output_for_legacy_peer();
        Ok(Self { view, modern, legacy: serde_json::to_vec(&legacy)?.into() })
    }
}

/// The lists that are kept.
#[derive(Default)]
pub(super) struct Listings(Mutex<Vec<Arc<Listing>>>);

impl Listings {
    /// The list of this view. A view that changes is another one.
    pub(super) fn of(&self, view: Arc<View>, mode: Mode) -> Option<Arc<Listing>> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept().iter().find(|known| Arc::ptr_eq(&known.view, &view)) {
            return Some(Arc::clone(known));
        }
        let made = Arc::new(Listing::of(view, mode).ok()?);
        let mut kept = kept();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&made));
        Some(made)
    }
}

/// The tool that calls others by their names.
pub(super) const CALL_TOOL: &str = "call_tool";

/// The tools of a view, in its order.
pub(super) fn tools(view: &View, mode: Mode) -> Vec<Tool> {
    let specs = view.tools.iter().map(|entry| entry.spec());
    match mode {
        Mode::Direct => specs.map(|spec| tool(spec)).collect(),
        Mode::Lean => {
            let lean = specs.filter(|spec| LEAN.contains(&spec.name.as_str()));
            lean.map(|spec| tool(spec)).chain([call_tool()]).collect()
        }
    }
}

pub(super) fn tool(spec: &ToolSpec) -> Tool {
    let schema = object(&spec.input_schema);
    let mut tool = Tool::new(spec.name.as_str().to_owned(), spec.description.clone(), schema);
    tool.title = Some(spec.title.clone());
    // Only what is an object has a place in all revisions.
    tool.output_schema = spec.output_schema.as_ref().map(|schema| object(schema).into());
    tool.annotations = Some(
        ToolAnnotations::new()
            .read_only(spec.effect <= Effect::Read)
            .destructive(spec.effect == Effect::Destructive)
            .idempotent(spec.effect.is_repeatable())
            .open_world(spec.reach.outbound),
    );
    tool.meta = spec.meta.as_ref().map(|meta| MetaObject(meta.as_map().clone()));
    tool
}

fn object(schema: &Value) -> JsonObject {
    let mut object = schema.as_object().cloned().unwrap_or_default();
    object.entry("type").or_insert_with(|| json!("object"));
    object
}

fn call_tool() -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "name": {"type": "string", "description": "Name of the tool, as find_tools gave it."},
            "arguments": {"type": "object", "description": "Its arguments, by its own schema."},
        },
        "required": ["name"],
        "additionalProperties": false,
    });
    let schema: Map<String, Value> = schema.as_object().cloned().unwrap_or_default();
    let words = "Calls a tool by its name. Find names and schemas with find_tools first.";
    Tool::new(CALL_TOOL, words, Arc::new(schema))
}
