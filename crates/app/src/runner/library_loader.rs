//! Loads the library files and checks them against the registered tools.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_agent::library::{Folders, KnownTools, Library, ToolNames};
use toolcrib_argument_decoder::{Decoded, Limits, Schema, decode_value};
use toolcrib_core::{Entry, ToolInfo};

use crate::toolcrib::Toolcrib;

/// Reads the folders; the argument decoder checks guides and kits like calls.
#[must_use]
pub fn load_library(toolcrib: &Toolcrib, folders: &Folders) -> Library {
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
                // An unknown parameter is an error in a library file, although it is only a warning
                // for models.
                Some(warning) => Err(warning.clone()),
                None => Ok(()),
            },
            Decoded::Repaired { changes, .. } => {
                Err(changes.first().map(|change| change.note.clone()).unwrap_or_default())
            }
            Decoded::ValidationError { message } | Decoded::ParseError { message } => Err(message),
        }
    };
    Library::load(folders, &KnownTools { names: &names, check: &check })
}

/// Returns the names of all registered tools, enabled or not, for checking tool lists.
#[must_use]
pub fn tool_names(toolcrib: &Toolcrib) -> Vec<ToolNames> {
    // Names in the view are looked up directly; only other names need a search.
    let view = toolcrib.catalog().view(&Arc::default());
    let names = |info: &ToolInfo| {
        let seen = view.find(info.id.as_str()).map(Entry::spec).filter(|s| s.name == info.id);
        let spec = seen.cloned().or_else(|| toolcrib.spec(info.id.as_str()))?;
        Some(ToolNames::from_spec(&spec, &info.source))
    };
    toolcrib.infos().iter().filter_map(names).collect()
}
