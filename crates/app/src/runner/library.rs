//! The library's files, checked against the tools of this Toolcrib.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_agent::library::{Folders, Library, ToolNames, Tools};
use toolcrib_core::{Entry, ToolInfo};
use toolcrib_engine::args::{Decoded, Limits, Schema, decode_value};

use crate::toolcrib::Toolcrib;

/// Reads the folders; guides and kits are checked by the decoder that checks calls.
pub(super) fn load(toolcrib: &Toolcrib, folders: &Folders) -> Library {
    let names = tool_names(toolcrib);
    let schemas: RefCell<HashMap<String, Schema>> = RefCell::default();
    let check = |tool: &str, args: &Value| {
        let spec = toolcrib.spec(tool).ok_or_else(|| format!("unknown tool \"{tool}\""))?;
        let mut schemas = schemas.borrow_mut();
        if !schemas.contains_key(tool) {
            let schema = Schema::check_shared(spec.input_schema.clone())
                .map_err(|error| error.to_string())?;
            schemas.insert(tool.to_owned(), schema);
        }
        let Some(schema) = schemas.get(tool) else { return Ok(()) };
        match decode_value(args.clone(), schema, &Limits::DEFAULT) {
            Decoded::Ok { warnings, .. } => match warnings.first() {
                // A parameter that the tool does not have is a slip in a file, whatever models are forgiven.
                Some(warning) => Err(warning.clone()),
                None => Ok(()),
            },
            Decoded::Repaired { changes, .. } => {
                Err(changes.first().map(|change| change.note.clone()).unwrap_or_default())
            }
            Decoded::ValidationError { message } | Decoded::ParseError { message } => Err(message),
        }
    };
    Library::load(folders, &Tools { names: &names, check: &check })
}

/// The names of all registered tools, enabled or not.
pub(super) fn tool_names(toolcrib: &Toolcrib) -> Vec<ToolNames> {
    // A view finds its tools at once; only those outside of it have to be searched for.
    let view = toolcrib.catalog().view(&Arc::default());
    let names = |info: &ToolInfo| {
        let seen = view.find(info.id.as_str()).map(Entry::spec).filter(|s| s.name == info.id);
        let spec = seen.cloned().or_else(|| toolcrib.spec(info.id.as_str()))?;
        Some(ToolNames::of(&spec, &info.source))
    };
    toolcrib.infos().iter().filter_map(names).collect()
}
