//! Git, run so that nothing in a repository runs anything: in the sandbox, and with everything switched off that a configuration could start.
//!
//! A repository is data that somebody else may have written, its configuration included. Most of what can start a program has a switch, which
//! is set for every command ([`SWITCHES`]); filters have names of their own, so they are looked up first and switched off one by one.
//! The configuration of the system and of the person is not read at all.

mod harmless;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{CallCtx, ToolError};

use crate::fs::{Fault, Last, Node, Workspace};
use crate::workbench::{Finished, Needs, Program, Room, Workbench};
use harmless::{SWITCHES, VARIABLES};

/// Bytes of output that are kept: what a diff may be before its middle goes.
const KEEP: usize = 2 * 1024 * 1024;
/// Bytes of configuration that are looked through.
const MAX_CONFIG: usize = 4 * 1024 * 1024;
/// Characters of what git says of a failure.
const SAID: usize = 2000;

/// Git on a workspace.
#[derive(Clone)]
pub(crate) struct Git {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) workbench: Arc<Workbench>,
}

/// A git command.
pub(crate) struct Command<'a> {
    /// The folder of the workspace where it works, as the call names it.
    pub(crate) folder: &'a str,
    pub(crate) args: Vec<String>,
    /// Whether it may change the workspace.
    pub(crate) room: Room,
    /// Whether it talks to another repository.
    pub(crate) network: bool,
}

impl<'a> Command<'a> {
    /// One that only reads.
    pub(crate) fn reading(folder: &'a str, args: &[&str]) -> Self {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self { folder, args, room: Room::Read, network: false }
    }

    /// One that changes the repository.
    pub(crate) fn writing(folder: &'a str, args: &[&str]) -> Self {
        Self { room: Room::Write, ..Self::reading(folder, args) }
    }

    /// The same with more arguments.
    pub(crate) fn and<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }
}

/// What a repository's configuration says that matters before a command runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// All keys with their values, in their order.
    pub(crate) entries: Vec<(String, String)>,
}

impl Config {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        let entry = |entry: &str| {
            let (key, value) = entry.split_once('\n').unwrap_or((entry, ""));
            (key.to_owned(), value.to_owned())
        };
        Self { entries: text.split('\0').filter(|entry| !entry.is_empty()).map(entry).collect() }
    }

    pub(crate) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(other, value)| other == key && !value.is_empty())
    }
}

impl Git {
    /// Runs a command to its end. That git says no is not an error here.
    ///
    /// # Errors
    /// The folder cannot be used, no git, no sandbox, or it was stopped.
    pub(crate) async fn run(
        &self,
        ctx: &CallCtx,
        command: Command<'_>,
    ) -> Result<Finished, ToolError> {
        let folder = self.folder(command.folder)?;
        let config = self.config(ctx, &folder).await?;
        if command.network && harmless::has_helper(&config) {
            return Err(ToolError::execution(
                "A remote of this repository is reached by a program that its configuration names (remote.NAME.vcs), which is not run. Tell the user.",
            ));
        }
        let settings = harmless::settings(&config);
        let finished = self.start(ctx, &folder, &settings, command, KEEP).await?;
        finished.was_stopped("git").map_or(Ok(finished), Err)
    }

    /// As [`Self::run`], and that git says no is an error too.
    ///
    /// # Errors
    /// As above, and what git said.
    pub(crate) async fn done(
        &self,
        ctx: &CallCtx,
        command: Command<'_>,
    ) -> Result<Finished, ToolError> {
        let finished = self.run(ctx, command).await?;
        if finished.succeeded() { Ok(finished) } else { Err(refused(&finished)) }
    }

    /// The real path of a folder of the workspace.
    fn folder(&self, path: &str) -> Result<PathBuf, ToolError> {
        let spot = self.workspace.roots().resolve(path, Last::Follow)?;
        match spot.node {
            Some(Node::Dir) => Ok(spot.real_path()),
            Some(_) => Err(Fault::NotDir.at(path).into()),
            None => Err(Fault::NotFound.at(path).into()),
        }
    }

    async fn config(&self, ctx: &CallCtx, folder: &Path) -> Result<Config, ToolError> {
        let list = Command::reading(".", &["config", "--list", "--null", "--includes"]);
        let finished = self.start(ctx, folder, &[], list, 2 * MAX_CONFIG).await?;
        if let Some(stopped) = finished.was_stopped("git") {
            return Err(stopped);
        }
        if finished.stdout.total > MAX_CONFIG as u64 {
            return Err(ToolError::execution(
                "The configuration of this repository is larger than 4 MB, so nothing was run there. Tell the user.",
            ));
        }
        // Outside of a repository there is none, and the command itself says so.
        Ok(Config::read(&finished.stdout.head))
    }

    async fn start(
        &self,
        ctx: &CallCtx,
        folder: &Path,
        settings: &[(String, String)],
        command: Command<'_>,
        keep: usize,
    ) -> Result<Finished, ToolError> {
        let needs = Needs { workspace: command.room, network: command.network, ..Needs::default() };
        let mut program = Program::new("git")
            .args(["--no-pager", "--literal-pathspecs"])
            .args(command.args)
            .folder(folder)
            .keep(keep)
            .needs(needs);
        for (name, value) in VARIABLES {
            program = program.env(*name, *value);
        }
        let protocols = if command.network { "https:ssh" } else { "none" };
        program = program.env("GIT_ALLOW_PROTOCOL", protocols);
        let above: Vec<_> = self.workspace.roots().paths().filter_map(Path::parent).collect();
        if let Ok(above) = std::env::join_paths(above) {
            program = program.env("GIT_CEILING_DIRECTORIES", above);
        }
        let switches = SWITCHES.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let all: Vec<_> = switches.chain(settings.iter().cloned()).collect();
        program = program.env("GIT_CONFIG_COUNT", all.len().to_string());
        for (number, (key, value)) in all.into_iter().enumerate() {
            program = program
                .env(format!("GIT_CONFIG_KEY_{number}"), key)
                .env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        self.workbench.run(ctx, program).await
    }
}

/// What git said when it said no.
pub(crate) fn refused(finished: &Finished) -> ToolError {
    let said = |bytes: &[u8]| -> String {
        String::from_utf8_lossy(bytes).trim().chars().take(SAID).collect()
    };
    let mut text = said(&finished.stderr.head);
    if text.is_empty() {
        text = said(&finished.stdout.head);
    }
    let advice = if text.contains("not a git repository") {
        " Make one with the action init, or give the folder of the repository as path."
    } else if text.contains("does not have any commits yet") {
        " Add files and make a commit first."
    } else {
        ""
    };
    let unreached = finished.unreached().map(|text| format!(" {text}")).unwrap_or_default();
    ToolError::execution(format!("git said: {text}.{advice}{unreached}"))
}
