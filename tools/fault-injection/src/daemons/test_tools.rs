//! The tools of the daemons, and their own account: a line in one file for each execution, written
//! at once by whichever process it is in.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{CallId, Effect, Risk, ToolError, ToolOutput};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::error::Result;

/// Changes the world.
pub(super) const EFFECT: &str = "crash_effect";
/// The same, and a person is asked before.
pub(super) const GUARDED: &str = "crash_guarded";
/// Computes only: it may be done again.
pub(super) const PURE: &str = "crash_pure";

/// One execution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Execution {
    /// The id that its client gave the call.
    pub(super) note: String,
    /// The process.
    pub(super) incarnation: u32,
    /// Microseconds since 1970 when it began.
    pub(super) at: u128,
}

/// Microseconds since 1970.
pub(super) fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros()
}

/// The file that is written.
struct ExecutionWriter {
    file: File,
    incarnation: u32,
}

impl ExecutionWriter {
    /// One write to a file that is opened to append: lines of several processes do not mix.
    fn write(&self, call: CallId, note: &str) -> io::Result<()> {
        let line = format!("{call} {note} {} {}\n", self.incarnation, now());
        (&self.file).write_all(line.as_bytes())
    }
}

/// Reads the file; one that is not there yet is empty.
pub(super) fn read(path: &Path) -> Result<HashMap<CallId, Vec<Execution>>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let mut deeds: HashMap<CallId, Vec<Execution>> = HashMap::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [call, note, incarnation, at] = words[..] else {
            return Err(format!("a line of the ledger is broken: {line}").into());
        };
        let deed =
            Execution { note: note.to_owned(), incarnation: incarnation.parse()?, at: at.parse()? };
        deeds.entry(call.parse()?).or_default().push(deed);
    }
    Ok(deeds)
}

/// The tools of one process.
pub(super) fn source(ledger: &Path, incarnation: u32) -> io::Result<FixedSource> {
    let file = OpenOptions::new().create(true).append(true).open(ledger)?;
    let pen = Arc::new(ExecutionWriter { file, incarnation });
    let tools = [
        tool(EFFECT, Effect::SideEffect, Risk::Safe, &pen),
        tool(GUARDED, Effect::SideEffect, Risk::Critical, &pen),
        tool(PURE, Effect::Pure, Risk::Safe, &pen),
    ];
    Ok(fixed_source("crash", &tools.each_ref()))
}

fn tool(name: &str, effect: Effect, risk: Risk, pen: &Arc<ExecutionWriter>) -> Arc<ScriptedTool> {
    let pen = Arc::clone(pen);
    let tool = ScriptedTool::new(name)
        .spec(|spec| {
            spec.effect = effect;
            spec.risk = risk;
        })
        .takes(json!({
            "type": "object",
            "properties": {"note": {"type": "string"}, "millis": {"type": "integer"}},
            "required": ["note", "millis"],
        }))
        .does(move |ctx, args| {
            let (pen, call) = (Arc::clone(&pen), ctx.call);
            let note = args.get("note").and_then(Value::as_str).unwrap_or_default();
            let millis = args.get("millis").and_then(Value::as_u64).unwrap_or_default();
            Box::pin(async move {
                let written = pen.write(call, note);
                written.map_err(|error| ToolError::execution(error.to_string()))?;
                tokio::time::sleep(Duration::from_millis(millis)).await;
                Ok(ToolOutput::text(format!("{note} is done")))
            })
        });
    Arc::new(tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ledger");
        assert!(read(&path).unwrap().is_empty());
        let (a, b) = (CallId::fresh(), CallId::fresh());
        for (incarnation, call) in [(1, a), (2, b), (3, a)] {
            let file = OpenOptions::new().create(true).append(true).open(&path).unwrap();
            ExecutionWriter { file, incarnation }.write(call, "c1").unwrap();
        }
        let deeds = read(&path).unwrap();
        let processes: Vec<u32> = deeds[&a].iter().map(|deed| deed.incarnation).collect();
        assert_eq!((processes, deeds[&b].len()), (vec![1, 3], 1));
        assert!(deeds[&a][0].at <= now() && deeds[&a][0].note == "c1");
        std::fs::write(&path, "half a line").unwrap();
        assert!(read(&path).is_err());
    }
}
