//! One file, or the environment, as a list of values with their keys and positions.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

use crate::config::environment::Env;
use crate::config::file_paths::resolve_in_folder;
use crate::config::key_path::KeyPath;
use crate::config::layer::Layer;
use crate::config::sandbox;

/// The section whose entries are added up over the layers instead of being replaced.
pub(super) const HOOKS_KEY: &str = "hooks";

/// The content of one layer.
pub(super) struct Source {
    pub(super) layer: Layer,
    /// The file; empty if there is none.
    pub(super) path: PathBuf,
    /// Values by key, in the order of the file. An empty table counts as a value.
    pub(super) leaves: Vec<Leaf>,
    /// The position of each table's header.
    pub(super) tables: BTreeMap<KeyPath, String>,
    /// The entries of `[[hooks]]`, and their positions.
    pub(super) hooks: Vec<(Value, String)>,
}

/// One value.
#[derive(Clone)]
pub(super) struct Leaf {
    pub(super) key: KeyPath,
    pub(super) value: Value,
    /// `PATH:LINE`, or the name of a variable.
    pub(super) place: String,
}

impl Source {
    /// Parses a file that is known to be TOML.
    pub(super) fn from_text(
        layer: Layer,
        path: &Path,
        text: &str,
    ) -> Result<Self, toml::de::Error> {
        let mut table: Table = toml::from_str(text)?;
        let spanned = DeTable::parse(text)?;
        let mut places = KeyLocations { text, path, of: BTreeMap::new(), hooks: Vec::new() };
        places.walk(&KeyPath::default(), spanned.get_ref());
        let KeyLocations { of, hooks: begin, .. } = places;
        let hooks = match table.remove(HOOKS_KEY) {
            Some(Value::Array(hooks)) => hooks,
            _ => Vec::new(),
        };
        let mut source = Self {
            layer,
            path: path.to_owned(),
            leaves: Vec::new(),
            tables: BTreeMap::new(),
            hooks: hooks.into_iter().zip(begin).collect(),
        };
        source.collect(&KeyPath::default(), table, &of);
        Ok(source)
    }

    /// Creates the layer of variables, each with its key.
    pub(super) fn from_leaves(layer: Layer, leaves: Vec<Leaf>) -> Self {
        Self { layer, path: PathBuf::new(), leaves, tables: BTreeMap::new(), hooks: Vec::new() }
    }

    fn collect(&mut self, at: &KeyPath, table: Table, places: &BTreeMap<KeyPath, String>) {
        for (name, value) in table {
            let key = at.child(&name);
            let place = places.get(&key).cloned().unwrap_or_default();
            match value {
                Value::Table(inner) if !inner.is_empty() => {
                    self.tables.insert(key.clone(), place);
                    self.collect(&key, inner, places);
                }
                value => {
                    if value.is_table() {
                        self.tables.insert(key.clone(), place.clone());
                    }
                    self.leaves.push(Leaf { key, value, place });
                }
            }
        }
    }

    /// Resolves the relative paths in it to `folder`.
    pub(super) fn resolve_paths(mut self, folder: &Path, env: &Env) -> Self {
        for leaf in &mut self.leaves {
            match (leaf.key.parts().as_slice(), &mut leaf.value) {
                (["model", "default"], Value::String(model)) => script(model, folder, env),
                (["model", "fallback"], Value::Array(models)) => {
                    for model in models {
                        if let Value::String(model) = model {
                            script(model, folder, env);
                        }
                    }
                }
                (
                    ["providers", _, "key_file"]
                    | ["server", "socket" | "tls_cert" | "tls_key"]
                    | ["sandbox", "home"]
                    | ["python", "program"]
                    | ["web", "location", "database"]
                    | ["web", "docs", "folder"]
                    | ["discovery", "model"],
                    Value::String(file),
                ) => {
                    *file = resolve_in_folder(Path::new(file.as_str()), folder, env)
                        .display()
                        .to_string();
                }
                (["sandbox", key], Value::Array(paths)) if sandbox::PATHS.contains(key) => {
                    for path in paths {
                        if let Value::String(path) = path {
                            *path = resolve_in_folder(Path::new(path.as_str()), folder, env)
                                .display()
                                .to_string();
                        }
                    }
                }
                _ => {}
            }
        }
        self
    }
}

/// Resolves the path of a scripted model.
fn script(model: &mut String, folder: &Path, env: &Env) {
    if let Some(file) = model.strip_prefix("scripted:").filter(|file| !file.is_empty()) {
        *model = format!("scripted:{}", resolve_in_folder(Path::new(file), folder, env).display());
    }
}

/// Finds the positions of keys and tables.
struct KeyLocations<'a> {
    text: &'a str,
    path: &'a Path,
    of: BTreeMap<KeyPath, String>,
    hooks: Vec<String>,
}

impl KeyLocations<'_> {
    fn walk(&mut self, at: &KeyPath, table: &DeTable<'_>) {
        for (name, value) in table {
            let key = at.child(name.get_ref());
            self.of.insert(key.clone(), line_location(self.path, self.text, name.span().start));
            match value.get_ref() {
                DeValue::Table(inner) => self.walk(&key, inner),
                DeValue::Array(items) if key.parts() == [HOOKS_KEY] => {
                    let begin = items.iter().map(|item| item.span().start);
                    self.hooks =
                        begin.map(|start| line_location(self.path, self.text, start)).collect();
                }
                _ => {}
            }
        }
    }
}

/// Returns `PATH:LINE` for a byte offset in a text.
pub(super) fn line_location(path: &Path, text: &str, start: usize) -> String {
    let line = 1 + text.bytes().take(start).filter(|byte| *byte == b'\n').count();
    format!("{}:{line}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_has_its_line() {
        let text = "policy = \"auto\"\n\n[model]\nfallback = [\n  \"a/b\",\n]\n[tools.x]\nask = true\nconfig = { a = 1,\n b = 2 }\n\n[[hooks]]\nevent = \"guard\"\n[[hooks]]\nevent = \"guard\"\n[providers.ollama]\n";
        let source = Source::from_text(Layer::User, Path::new("c"), text).unwrap();
        let said: Vec<String> =
            source.leaves.iter().map(|leaf| format!("{}@{}", leaf.key, leaf.place)).collect();
        assert_eq!(
            said,
            [
                "policy@c:1",
                "model.fallback@c:4",
                "tools.x.ask@c:8",
                "tools.x.config.a@c:9",
                "tools.x.config.b@c:10",
                "providers.ollama@c:16"
            ]
        );
        let hooks: Vec<&str> = source.hooks.iter().map(|(_, place)| place.as_str()).collect();
        assert_eq!(hooks, ["c:12", "c:14"]);
        assert_eq!(source.tables[&KeyPath::parse("tools.x").unwrap()], "c:7");
    }

    #[test]
    fn paths_of_a_project_begin_at_its_folder() {
        let text = "[model]\ndefault = \"scripted:a.yaml\"\nfallback = [\"scripted:/b\", \"x/y\"]\n[providers.gemini]\nkey_file = \"k\"\n";
        let source = Source::from_text(Layer::Project, Path::new("c"), text).unwrap();
        let env = Env::default();
        let values: Vec<String> = source
            .resolve_paths(Path::new("/w"), &env)
            .leaves
            .iter()
            .map(|leaf| leaf.value.to_string())
            .collect();
        assert_eq!(values, ["\"scripted:/w/a.yaml\"", "[\"scripted:/b\", \"x/y\"]", "\"/w/k\""]);
    }
}
