//! Scripts that are kept as tools: `DIR/NAME.py`, whose first lines say what it does and what it takes.
//!
//! ```python
//! # description: Count the lines of some files.
//! # parameters: {"paths": {"type": "array", "items": {"type": "string"}}}
//! # required: ["paths"]
//! files = [await read_file(path=p) for p in args["paths"]]
//! sum(len(materialize(f).splitlines()) for f in files)
//! ```
//!
//! Its arguments are the value `args`. What it calls is judged as if the model had called it; the script itself is part of the definition.
#![deny(clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, BoxFuture, CallCtx, Children, Entry, Handler, Nested, Nesting, Risk, Source,
    ToolError, ToolName, ToolOutput, ToolSpec, Trust, canonical, remote_name,
};

use super::tool::{Runner, only_nested, own_spec};
use crate::setup::Setup;

/// Bytes of a script that is kept.
const BYTES: u64 = 200_000;

/// Scripts of one folder.
const MOST: usize = 200;

/// The scripts of a folder, as tools.
pub struct SavedChains {
    id: String,
    folder: PathBuf,
    of_anybody: bool,
    runner: Arc<Runner>,
}

impl SavedChains {
    /// The scripts in this folder; one that does not exist has none. Those `of_anybody`, such as of a workspace that came from elsewhere, are of
    /// critical risk: a person is asked before they run.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        folder: impl AsRef<Path>,
        of_anybody: bool,
        setup: &Setup,
    ) -> Self {
        let (id, folder) = (id.into(), folder.as_ref().to_owned());
        Self { id, folder, of_anybody, runner: Arc::new(Runner::new(setup)) }
    }

    /// Whether there is any script in the folder.
    #[must_use]
    pub fn has_any(&self) -> bool {
        !self.entries().is_empty()
    }

    fn entries(&self) -> Vec<Entry> {
        let Ok(files) = std::fs::read_dir(&self.folder) else { return Vec::new() };
        let mut paths: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|end| end == "py"));
        paths.sort();
        paths.truncate(MOST);
        paths.iter().filter_map(|path| self.entry(path)).collect()
    }

    fn entry(&self, path: &Path) -> Option<Entry> {
        let stem = path.file_stem()?.to_str()?;
        // Shared code and notes have a place.
        if stem.starts_with(['_', '.']) {
            return None;
        }
        let named = ToolName::local(stem).ok();
        let name = named.clone().unwrap_or_else(|| remote_name("chain", stem));
        let wrong = |why: String| Some(Entry::broken(name.clone(), why));
        if named.is_none() {
            return wrong(format!("{stem} is no name of a tool"));
        }
        let meta = path.metadata();
        if !meta.as_ref().is_ok_and(|meta| meta.is_file() && meta.len() <= BYTES) {
            return wrong(format!("it is no file of at most {BYTES} bytes"));
        }
        let code = match std::fs::read_to_string(path) {
            Ok(code) => code,
            Err(error) => return wrong(format!("it cannot be read: {error}")),
        };
        match spec(name.clone(), &code) {
            Ok(mut spec) => {
                if self.of_anybody {
                    spec.risk = Risk::Critical;
                }
                let runner = Arc::clone(&self.runner);
                Some(Entry::Local(Arc::new(SavedChain { spec: Arc::new(spec), code, runner })))
            }
            Err(why) => wrong(why),
        }
    }
}

impl Source for SavedChains {
    fn id(&self) -> &str {
        &self.id
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>> {
        Box::pin(std::future::ready(Ok(self.entries())))
    }
}

/// The text of a line `# key: text` among the first comments.
fn said<'c>(code: &'c str, key: &str) -> Option<&'c str> {
    code.lines()
        .map_while(|line| line.trim().strip_prefix('#'))
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, text)| text.trim())
}

fn spec(name: ToolName, code: &str) -> Result<ToolSpec, String> {
    let description = said(code, "description").filter(|text| !text.is_empty());
    let description = description.ok_or("its first lines have no `# description: …`")?;
    let json = |key: &str, text: &str| {
        serde_json::from_str(text).map_err(|error| format!("`# {key}:` is no JSON: {error}"))
    };
    let parameters: Value =
        said(code, "parameters").map_or(Ok(json!({})), |text| json("parameters", text))?;
    let required: Value =
        said(code, "required").map_or(Ok(json!([])), |text| json("required", text))?;
    if !parameters.is_object() || !required.is_array() {
        return Err("`# parameters:` is an object of schemas, `# required:` a list".to_owned());
    }
    let schema = json!({
        "type": "object",
        "properties": parameters,
        "required": required,
        "additionalProperties": false,
    });
    let mut spec = own_spec(name, description, schema);
    spec.trust = Trust::Workspace;
    spec.runs = Some(canonical::sha256_text(code));
    Ok(spec)
}

/// One of them.
struct SavedChain {
    spec: Arc<ToolSpec>,
    code: String,
    runner: Arc<Runner>,
}

impl Handler for SavedChain {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn nesting(&self) -> Option<&dyn Nesting> {
        Some(self)
    }

    fn assess(&self, _: &Value) -> Result<Assessment, ToolError> {
        let summary = format!("run the script {}", self.spec.name);
        Ok(Assessment::declared(&self.spec).saying(summary))
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        only_nested()
    }
}

impl Nesting for SavedChain {
    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
        children: &'a dyn Children,
    ) -> BoxFuture<'a, Result<Nested, ToolError>> {
        Box::pin(self.runner.run(ctx, &self.code, Some(args), None, children))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_first_lines_say_is_the_definition() {
        let check = |code: &str, expected: Result<(&str, Value), &str>| {
            let name = ToolName::local("t").unwrap();
            let found = spec(name, code);
            match (found, expected) {
                (Ok(spec), Ok((description, required))) => {
                    assert_eq!(spec.description, description);
                    assert_eq!(spec.input_schema["required"], required);
                    assert!(spec.runs.is_some());
                }
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{found}"),
                (found, expected) => panic!("{code}: {found:?}, {expected:?}"),
            }
        };
        check("# description: D: e\n1", Ok(("D: e", json!([]))));
        check(
            "# description: D\n# parameters: {\"a\": {\"type\": \"string\"}}\n# required: [\"a\"]\n1",
            Ok(("D", json!(["a"]))),
        );
        check("1\n# description: D", Err("have no `# description"));
        check("# description: D\n# parameters: [", Err("is no JSON"));
        check("# description: D\n# parameters: []", Err("an object of schemas"));
    }
}
