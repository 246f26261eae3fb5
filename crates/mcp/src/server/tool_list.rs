//! Tool list for MCP clients.

use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use rmcp::model::{
    ClientCapabilities, JsonObject, ListToolsResult, MetaObject, ServerResult, Tool,
    ToolAnnotations,
};
use serde_json::{Map, Value, json};
use toolcrib_core::{Effect, ToolSpec, View};

use super::{LEAN_TOOLS, PAGE_TYPE, ResourcesAndPrompts, ToolListMode};
use crate::resource_contents::PAGES_EXTENSION;

/// Maximum cached lists. Callers have few different views.
const MAX_CACHED_LISTS: usize = 8;

/// A tool list, serialized once for all callers with the same view.
pub(super) struct ToolList {
    view: Arc<View>,
    /// Whether the list names our pages, for clients that show them.
    with_pages: bool,
    /// The result for clients of the current revision.
    pub(super) modern: Bytes,
    /// The result for clients of older revisions.
    pub(super) legacy: Bytes,
}

impl ToolList {
    fn render(
        view: Arc<View>,
        mode: ToolListMode,
        pages: Option<&dyn ResourcesAndPrompts>,
    ) -> serde_json::Result<Self> {
        let list = ListToolsResult::with_all_items(tools(&view, mode, pages));
        let mut result = ServerResult::ListToolsResult(list);
        let mut legacy = result.clone();
        result.fill_missing_cache_hints();
        let modern = serde_json::to_vec(&result)?.into();
        legacy.strip_result_type_for_legacy_peer();
        legacy.strip_non_object_output_for_legacy_peer();
        let legacy = serde_json::to_vec(&legacy)?.into();
        Ok(Self { view, with_pages: pages.is_some(), modern, legacy })
    }
}

/// The cached lists.
#[derive(Default)]
pub(super) struct ToolListCache(Mutex<Vec<Arc<ToolList>>>);

impl ToolListCache {
    /// Returns the list of this view. A changed view is a new object. `pages` names our own pages,
    /// for clients that show pages.
    pub(super) fn get(
        &self,
        view: Arc<View>,
        mode: ToolListMode,
        pages: Option<&dyn ResourcesAndPrompts>,
    ) -> Option<Arc<ToolList>> {
        let kept = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |known: &&Arc<ToolList>| {
            Arc::ptr_eq(&known.view, &view) && known.with_pages == pages.is_some()
        };
        if let Some(known) = kept().iter().find(is_it) {
            return Some(Arc::clone(known));
        }
        let made = Arc::new(ToolList::render(view, mode, pages).ok()?);
        let mut kept = kept();
        if kept.len() >= MAX_CACHED_LISTS {
            kept.remove(0);
        }
        kept.push(Arc::clone(&made));
        Some(made)
    }
}

/// The tool that calls others by name.
pub(super) const CALL_TOOL: &str = "call_tool";

/// Returns whether a client shows pages of servers (MCP Apps, SEP-1865).
pub(super) fn takes_pages(capabilities: &ClientCapabilities) -> bool {
    let extension = capabilities.extensions.as_ref().and_then(|all| all.get(PAGES_EXTENSION));
    let kinds = extension.and_then(|settings| settings.get("mimeTypes")).and_then(Value::as_array);
    kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == PAGE_TYPE))
}

/// Returns the tools of a view, in order; with our own pages for clients that show them.
pub(super) fn tools(
    view: &View,
    mode: ToolListMode,
    pages: Option<&dyn ResourcesAndPrompts>,
) -> Vec<Tool> {
    let specs = view.tools.iter().map(|entry| entry.spec());
    let with_page = |spec: &ToolSpec| {
        let mut tool = tool_from_spec(spec);
        if let Some(uri) = pages.and_then(|pages| pages.page_of(spec)) {
            let mut meta = tool.meta.take().unwrap_or_default();
            meta.0.insert("ui".to_owned(), json!({"resourceUri": uri}));
            tool.meta = Some(meta);
        }
        tool
    };
    match mode {
        ToolListMode::Direct => specs.map(|spec| with_page(spec)).collect(),
        ToolListMode::Lean => {
            let lean = specs.filter(|spec| LEAN_TOOLS.contains(&spec.name.as_str()));
            lean.map(|spec| tool_from_spec(spec)).chain([call_tool()]).collect()
        }
    }
}

pub(super) fn tool_from_spec(spec: &ToolSpec) -> Tool {
    let schema = object(&spec.input_schema);
    let mut tool = Tool::new(spec.name.as_str().to_owned(), spec.description.clone(), schema);
    tool.title = Some(spec.title.clone());
    // All revisions require an object here.
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
