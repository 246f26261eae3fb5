//! Tests of agents, kits, guides and the loader: valid and invalid files with their exact messages.

mod agents;
mod hostile;
mod kits_and_guides;
mod loading;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use toolcrib_argument_decoder::{Decoded, Limits as DecodeLimits, Schema, decode_value};

use super::*;

/// A test tool with a real schema.
struct Sample {
    names: ToolNames,
    schema: Value,
}

fn samples() -> Vec<Sample> {
    let text = json!({"type": "string"});
    let sample = |name: &str, group: &str, source: &str, alias: &str, schema: Value| Sample {
        names: ToolNames {
            name: name.to_owned(),
            aliases: if alias.is_empty() { vec![] } else { vec![alias.to_owned()] },
            group: Some(group.to_owned()),
            source: source.to_owned(),
        },
        schema,
    };
    let path =
        json!({"type": "object", "properties": {"path": text.clone()}, "required": ["path"]});
    let edit = json!({
        "type": "object",
        "properties": {"path": text.clone(), "old_text": text.clone(), "new_text": text.clone(), "replace_all": {"type": "boolean"}},
        "required": ["path", "old_text", "new_text"]
    });
    let find = json!({"type": "object", "properties": {"pattern": text.clone(), "path": text.clone()}, "required": ["pattern"]});
    let file = json!({
        "type": "object",
        "properties": {"action": {"type": "string", "enum": ["read", "write"]}, "path": text},
        "required": ["action", "path"]
    });
    vec![
        sample("read_file", "files", "builtin", "", path.clone()),
        sample("edit_file", "files", "builtin", "", edit),
        sample("find_files", "files", "builtin", "", find),
        sample("get_current_time", "time", "builtin", "get_local_time", json!({"type": "object"})),
        sample("git__push", "vcs", "git", "", json!({"type": "object"})),
        sample("git__log", "vcs", "git", "", json!({"type": "object"})),
        sample("file_manager", "files", "legacy", "", file),
    ]
}

/// The check that the app gives to the loader: arguments must fit without repairs, and every
/// parameter must be known to the tool.
fn check_args(tool: &str, args: &Value) -> Result<(), String> {
    let sample = samples().into_iter().find(|sample| sample.names.name == tool).unwrap();
    let schema = Schema::check(&sample.schema).unwrap();
    match decode_value(args.clone(), &schema, &DecodeLimits::DEFAULT) {
        Decoded::Ok { warnings, .. } if warnings.is_empty() => Ok(()),
        Decoded::Ok { warnings, .. } => Err(warnings.join("; ")),
        Decoded::Repaired { changes, .. } => Err(changes[0].note.clone()),
        // The further lines address a model that made the call.
        Decoded::ValidationError { message } | Decoded::ParseError { message } => {
            Err(message.lines().next().unwrap_or_default().to_owned())
        }
    }
}

fn names() -> Vec<ToolNames> {
    samples().into_iter().map(|sample| sample.names).collect()
}

/// Loads these folders of a temporary tree with the sample tools.
fn load(folders: &Folders) -> Library {
    Library::load(folders, &KnownTools { names: &names(), check: &check_args })
}

fn put(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn folder(scope: Scope, root: &Path, name: &str) -> Vec<Folder> {
    vec![Folder { scope, path: root.join(name) }]
}

/// The problems, with paths relative to the root.
fn problems(library: &Library, root: &Path) -> Vec<String> {
    let root = format!("{}/", root.display());
    library.problems.iter().map(|problem| problem.to_string().replace(&root, "")).collect()
}
