//! The tools' own account: a line for each run that begins, and a line for each effect, each
//! written at once and for good.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use toolcrib_core::CallId;

/// The file that is written.
pub(crate) struct EffectWriter {
    file: File,
    incarnation: u32,
}

/// Ways to stand in the file.
const RUN: &str = "run";
const EFFECT: &str = "effect";

impl EffectWriter {
    pub(crate) fn new(path: &Path, incarnation: u32) -> io::Result<Self> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        Ok(Self { file, incarnation })
    }

    /// The code of a tool was entered.
    pub(crate) fn run(&self, call: CallId) -> io::Result<()> {
        self.line(RUN, call)
    }

    /// The world was changed.
    pub(crate) fn effect(&self, call: CallId) -> io::Result<()> {
        self.line(EFFECT, call)
    }

    /// A child of its own process group that changes the world a moment later, even if this process
    /// has ended by then.
    pub(crate) fn effect_of_child(&self, call: CallId) -> io::Result<Child> {
        let line = format!("{EFFECT} {call} {}", self.incarnation);
        Command::new("sh")
            .args(["-c", "sleep 0.01; echo \"$0\"", &line])
            .env_remove("LD_PRELOAD")
            .stdin(Stdio::null())
            .stdout(self.file.try_clone()?)
            .stderr(Stdio::null())
            .process_group(0)
            .spawn()
    }

    fn line(&self, what: &str, call: CallId) -> io::Result<()> {
        (&self.file).write_all(format!("{what} {call} {}\n", self.incarnation).as_bytes())
    }
}

/// What happened to one call in the world.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct CallEffects {
    /// Processes in which it was entered.
    pub(crate) runs: Vec<u32>,
    /// Processes in which it took effect.
    pub(crate) effects: Vec<u32>,
}

/// Everything that happened, by call.
pub(crate) type EffectLog = HashMap<CallId, CallEffects>;

/// Reads the file; one that is not there yet is empty.
pub(crate) fn read(path: &Path) -> crate::error::Result<EffectLog> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        text => text?,
    };
    let mut truth = EffectLog::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [what, call, incarnation] = words[..] else {
            return Err(format!("a line of the truth is broken: {line}").into());
        };
        let deeds = truth.entry(call.parse()?).or_default();
        let list = if what == EFFECT { &mut deeds.effects } else { &mut deeds.runs };
        list.push(incarnation.parse()?);
    }
    Ok(truth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("truth");
        assert!(read(&path).unwrap().is_empty());
        let (a, b) = (CallId::fresh(), CallId::fresh());
        let pen = EffectWriter::new(&path, 3).unwrap();
        pen.run(a).unwrap();
        pen.effect(a).unwrap();
        EffectWriter::new(&path, 4).unwrap().run(b).unwrap();
        let truth = read(&path).unwrap();
        assert_eq!(truth[&a], CallEffects { runs: vec![3], effects: vec![3] });
        assert_eq!(truth[&b], CallEffects { runs: vec![4], effects: vec![] });
    }
}
