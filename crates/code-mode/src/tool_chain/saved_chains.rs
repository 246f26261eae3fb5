//! Saved chains: scripts as tools, `DIR/NAME.py`, whose first lines declare description and
//! parameters.
//!
//! ```python
//! # description: Count the lines of some files.
//! # parameters: {"paths": {"type": "array", "items": {"type": "string"}}}
//! # required: ["paths"]
//! # level: expression
//! files = [await read_file(path=p) for p in args["paths"]]
//! sum(len(materialize(f).splitlines()) for f in files)
//! ```
//!
//! `level` is `expression` (the default), `full` or `auto`, as for `tool_chain`. The script reads
//! its arguments from the value `args`. Each of its calls passes the same checks as a call of the
//! model; the script itself is part of the definition.
#![deny(clippy::indexing_slicing)]

use std::fs::OpenOptions;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::OFlags;
use rustix::io::Errno;
use serde::Deserialize as _;
use serde::de::value::Error as FormError;
use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, BoxFuture, CallCtx, ChildInvoker, Entry, Handler, ParentHandler, ParentOutcome,
    Risk, Source, ToolError, ToolName, ToolOutput, ToolSpec, Trust, canonical_json, remote_name,
};

use super::tool::{ChainLevel, ScriptJob, ScriptRunner, chain_spec, not_nested_error};
use crate::setup::Setup;

/// Size limit of a saved chain, in bytes.
pub(super) const MAX_BYTES: u64 = 200_000;

/// Maximum number of chains per folder.
pub(super) const MAX_SAVED: usize = 200;

/// Extension of chain files.
pub(super) const EXTENSION: &str = "py";

/// The chains of a folder, as tools.
pub struct SavedChains {
    id: String,
    folder: PathBuf,
    is_untrusted: bool,
    runner: Arc<ScriptRunner>,
}

impl SavedChains {
    /// The chains in this folder; a missing folder has none. With `is_untrusted`, such as for an
    /// untrusted workspace, they have critical risk, so a person is asked before they run.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        folder: impl AsRef<Path>,
        is_untrusted: bool,
        setup: &Setup,
    ) -> Self {
        let (id, folder) = (id.into(), folder.as_ref().to_owned());
        Self { id, folder, is_untrusted, runner: Arc::new(ScriptRunner::new(setup)) }
    }

    /// Returns a number that changes whenever a chain is added, removed or changed.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for path in files(&self.folder) {
            let meta = path.symlink_metadata().ok();
            let changed = meta.as_ref().and_then(|meta| meta.modified().ok());
            (path, meta.map(|meta| meta.len()), changed).hash(&mut hasher);
        }
        hasher.finish()
    }

    fn entry(&self, path: &Path) -> Option<Entry> {
        let stem = path.file_stem()?.to_str()?;
        let name = ToolName::local(stem).unwrap_or_else(|_| remote_name("chain", stem));
        Some(match read(path) {
            Ok((mut spec, code)) => {
                if self.is_untrusted {
                    spec.risk = Risk::Critical;
                }
                let (runner, wants) =
                    (Arc::clone(&self.runner), header_level(&code).unwrap_or_default());
                Entry::Local(Arc::new(SavedChain { spec: Arc::new(spec), code, wants, runner }))
            }
            Err(why) => Entry::broken(name, why),
        })
    }
}

/// Returns the chain files of a folder, by name. Files that begin with `_` are shared code and
/// notes.
pub(super) fn files(folder: &Path) -> Vec<PathBuf> {
    let Ok(files) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = files.flatten().map(|file| file.path()).collect();
    paths.retain(|path| {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        path.extension().is_some_and(|end| end == EXTENSION)
            && stem.is_some_and(|stem| !stem.starts_with(['_', '.']))
    });
    paths.sort();
    paths.truncate(MAX_SAVED);
    paths
}

/// Reads definition and text of a chain, or returns the reason why it cannot be a tool.
pub(super) fn read(path: &Path) -> Result<(ToolSpec, String), String> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let name =
        ToolName::local(stem).map_err(|_| format!("{stem} is not a valid name of a tool"))?;
    let code = text(path).map_err(|error| format!("it cannot be read: {error}"))?;
    Ok((spec(name, &code)?, code))
}

/// Reads the text of a chain. The file may come from an untrusted author, so a symbolic link (for
/// example to a private key), an endless file, and a pipe that blocks are refused.
///
/// # Errors
/// The system's error; also for every file other than a regular file with at most [`MAX_BYTES`]
/// bytes of text.
pub(super) fn text(path: &Path) -> io::Result<String> {
    let other =
        || io::Error::other(format!("it is not a regular file of at most {MAX_BYTES} bytes"));
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let file = file.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::LOOP) => other(),
        _ => error,
    })?;
    let meta = file.metadata()?;
    if !meta.is_file() || meta.len() > MAX_BYTES {
        return Err(other());
    }
    let mut text = String::new();
    // The file may grow meanwhile.
    let read = file.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    if read as u64 > MAX_BYTES { Err(other()) } else { Ok(text) }
}

impl Source for SavedChains {
    fn id(&self) -> &str {
        &self.id
    }

    fn load(&self) -> BoxFuture<'_, Result<Vec<Entry>, ToolError>> {
        let entries = files(&self.folder).iter().filter_map(|path| self.entry(path)).collect();
        Box::pin(std::future::ready(Ok(entries)))
    }
}

/// Returns the value of a line `# key: value` among the first comments.
fn header_value<'c>(code: &'c str, key: &str) -> Option<&'c str> {
    code.lines()
        .map_while(|line| line.trim().strip_prefix('#'))
        .filter_map(|line| line.split_once(':'))
        .find(|(name, _)| name.trim() == key)
        .map(|(_, text)| text.trim())
}

/// Returns the level that a script declares.
pub(super) fn header_level(code: &str) -> Result<ChainLevel, String> {
    let Some(said) = header_value(code, "level") else { return Ok(ChainLevel::default()) };
    let known = ChainLevel::deserialize(serde::de::value::StrDeserializer::<FormError>::new(said));
    known.map_err(|_| format!("`# level: {said}` is not one of expression, full, auto"))
}

pub(super) fn spec(name: ToolName, code: &str) -> Result<ToolSpec, String> {
    let description = header_value(code, "description").filter(|text| !text.is_empty());
    let description = description.ok_or("its first lines have no `# description: …`")?;
    let json = |key: &str, text: &str| {
        serde_json::from_str(text).map_err(|error| format!("`# {key}:` is not JSON: {error}"))
    };
    let parameters: Value =
        header_value(code, "parameters").map_or(Ok(json!({})), |text| json("parameters", text))?;
    let required: Value =
        header_value(code, "required").map_or(Ok(json!([])), |text| json("required", text))?;
    if !parameters.is_object() || !required.is_array() {
        return Err("`# parameters:` is an object of schemas, `# required:` a list".to_owned());
    }
    header_level(code)?;
    let schema = json!({
        "type": "object",
        "properties": parameters,
        "required": required,
        "additionalProperties": false,
    });
    let mut spec = chain_spec(name, description, schema);
    spec.trust = Trust::Workspace;
    spec.runs = Some(canonical_json::sha256_text(code));
    Ok(spec)
}

/// One chain as a handler.
struct SavedChain {
    spec: Arc<ToolSpec>,
    code: String,
    wants: ChainLevel,
    runner: Arc<ScriptRunner>,
}

impl Handler for SavedChain {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn parent_handler(&self) -> Option<&dyn ParentHandler> {
        Some(self)
    }

    fn assess(&self, _: &Value) -> Result<Assessment, ToolError> {
        let summary = format!("run the script {}", self.spec.name);
        let assessment = Assessment::from_spec(&self.spec).with_summary(summary);
        Ok(self.wants.raise_risk(assessment, self.spec.name.as_str()))
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        not_nested_error()
    }
}

impl ParentHandler for SavedChain {
    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
        children: &'a dyn ChildInvoker,
    ) -> BoxFuture<'a, Result<ParentOutcome, ToolError>> {
        let (code, args, wants) = (&self.code, Some(args), self.wants);
        let may_be_full = wants == ChainLevel::Auto;
        let job = ScriptJob { code, args, timeout: None, wants, may_be_full };
        Box::pin(self.runner.run(ctx, job, children))
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
        check("# description: D\n# parameters: [", Err("is not JSON"));
        check("# description: D\n# parameters: []", Err("an object of schemas"));
        check("# description: D\n# level: full\n1", Ok(("D", json!([]))));
        check("# description: D\n# level: fully\n1", Err("not one of expression, full, auto"));
    }

    #[test]
    fn only_a_file_of_its_own_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("good.py"), "# description: D\n1").unwrap();
        std::fs::write(at("long.py"), "#".repeat(200_001)).unwrap();
        std::fs::create_dir(at("folder.py")).unwrap();
        std::os::unix::fs::symlink(at("good.py"), at("link.py")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", at("zero.py")).unwrap();
        let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
        rustix::fs::mknodat(rustix::fs::CWD, at("fifo.py"), rustix::fs::FileType::Fifo, mode, 0)
            .unwrap();
        assert_eq!(text(&at("good.py")).unwrap(), "# description: D\n1");
        assert_eq!(text(&at("none.py")).unwrap_err().kind(), io::ErrorKind::NotFound);
        for path in files(dir.path()).iter().filter(|path| **path != at("good.py")) {
            let error = text(path).unwrap_err().to_string();
            assert!(error.contains("not a regular file of at most"), "{}: {error}", path.display());
            let why = read(path).unwrap_err();
            assert!(why.contains("cannot be read"), "{why}");
        }
        assert!(text(Path::new("/dev/zero")).is_err());
    }
}
