//! Runs git so that a repository cannot start programs: in the sandbox, with every setting disabled
//! that could start one.
//!
//! A repository is untrusted data, including its configuration. Most settings that can start a
//! program have a fixed override, which every command gets ([`safe_config::SAFE_CONFIG`]). Filters
//! have arbitrary names, so they are listed first and disabled one by one. System and user
//! configuration are not read.
//!
//! A repository stores the contents of files in its objects, where a path mask of the sandbox does
//! not hide them. [`denied_content`] excludes the contents that rules deny to the call.

mod denied_content;
mod safe_config;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_core::{CallCtx, ToolError};

use crate::fs::{FsErrorKind, LinkPolicy, NodeKind, Workspace};
use crate::program_runner::{Needs, Program, ProgramOutput, ProgramRunner, WorkspaceAccess};
pub(crate) use denied_content::{FilteredCommand, NameListing};
use safe_config::{SAFE_CONFIG, SAFE_ENV};

/// Bytes of output that are kept; of a larger diff, the middle is dropped.
const KEEP: usize = 2 * 1024 * 1024;
/// Largest configuration that is examined, in bytes.
const MAX_CONFIG: usize = 4 * 1024 * 1024;
/// Characters of git's error message that are kept.
const MAX_MESSAGE: usize = 2000;

/// Git on a workspace.
#[derive(Clone)]
pub(crate) struct Git {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) workbench: Arc<ProgramRunner>,
}

/// A git command.
pub(crate) struct GitCommand<'a> {
    /// The working folder inside the workspace, as the call names it.
    pub(crate) folder: &'a str,
    pub(crate) args: Vec<String>,
    /// The paths of the command, relative to the working folder; empty for all paths.
    pub(crate) paths: Vec<String>,
    /// Excluded paths, relative to the top folder of the repository.
    excluded: Vec<String>,
    /// Whether it may change the workspace.
    pub(crate) room: WorkspaceAccess,
    /// Whether it contacts another repository.
    pub(crate) network: bool,
}

impl<'a> GitCommand<'a> {
    /// Creates a command that only reads.
    pub(crate) fn read_only(folder: &'a str, args: &[&str]) -> Self {
        let args = args.iter().map(|arg| (*arg).to_owned()).collect();
        Self {
            folder,
            args,
            paths: Vec::new(),
            excluded: Vec::new(),
            room: WorkspaceAccess::Read,
            network: false,
        }
    }

    /// Creates a command that changes the repository.
    pub(crate) fn read_write(folder: &'a str, args: &[&str]) -> Self {
        Self { room: WorkspaceAccess::Write, ..Self::read_only(folder, args) }
    }

    /// Restricts it to paths, which git takes literally.
    pub(crate) fn about<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.paths.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Returns the arguments of `git`.
    fn command_line(&self) -> Vec<String> {
        let mut line = vec!["--no-pager".to_owned()];
        let is_plain = self.excluded.is_empty();
        line.extend(is_plain.then(|| "--literal-pathspecs".to_owned()));
        line.extend(self.args.iter().cloned());
        if self.paths.is_empty() && is_plain {
            return line;
        }
        line.push("--".to_owned());
        let literal = if is_plain { "" } else { ":(literal)" };
        line.extend(self.paths.iter().map(|path| format!("{literal}{path}")));
        line.extend(self.excluded.iter().map(|path| format!(":(top,literal,exclude){path}")));
        line
    }

    /// Adds arguments.
    pub(crate) fn with_args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }
}

/// The repository configuration that matters before a command runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct RepoConfig {
    /// All keys with their values, in order.
    pub(crate) entries: Vec<(String, String)>,
}

impl RepoConfig {
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
    /// Runs a command to its end. A failing exit status is not an error here.
    ///
    /// # Errors
    /// The folder cannot be used, git or the sandbox is missing, or the call was cancelled.
    pub(crate) async fn run(
        &self,
        ctx: &CallCtx,
        command: GitCommand<'_>,
    ) -> Result<ProgramOutput, ToolError> {
        let folder = self.folder(command.folder)?;
        let config = self.config(ctx, &folder).await?;
        if command.network && safe_config::has_helper(&config) {
            return Err(ToolError::execution(
                "A remote of this repository is reached by a program that its configuration names (remote.NAME.vcs), which is not run. Tell the user.",
            ));
        }
        let settings = safe_config::config_overrides(&config);
        let finished = self.start(ctx, &folder, &settings, command, KEEP).await?;
        finished.stop_error("git").map_or(Ok(finished), Err)
    }

    /// Same as [`Self::run`], but a failing exit status is an error.
    ///
    /// # Errors
    /// As above, and git's own error message.
    pub(crate) async fn run_checked(
        &self,
        ctx: &CallCtx,
        command: GitCommand<'_>,
    ) -> Result<ProgramOutput, ToolError> {
        let finished = self.run(ctx, command).await?;
        if finished.succeeded() { Ok(finished) } else { Err(command_error(&finished)) }
    }

    /// Returns the real path of a folder of the workspace.
    fn folder(&self, path: &str) -> Result<PathBuf, ToolError> {
        let spot = self.workspace.roots().resolve(path, LinkPolicy::Follow)?;
        match spot.node {
            Some(NodeKind::Dir) => Ok(spot.real_path()),
            Some(_) => Err(FsErrorKind::NotDir.at(path).into()),
            None => Err(FsErrorKind::NotFound.at(path).into()),
        }
    }

    async fn config(&self, ctx: &CallCtx, folder: &Path) -> Result<RepoConfig, ToolError> {
        let list = GitCommand::read_only(".", &["config", "--list", "--null", "--includes"]);
        let finished = self.start(ctx, folder, &[], list, 2 * MAX_CONFIG).await?;
        if let Some(stopped) = finished.stop_error("git") {
            return Err(stopped);
        }
        if finished.stdout.total > MAX_CONFIG as u64 {
            return Err(ToolError::execution(
                "The configuration of this repository is larger than 4 MB, so nothing was run there. Tell the user.",
            ));
        }
        // Outside of a repository this is empty, and the command itself reports the problem.
        Ok(RepoConfig::read(&finished.stdout.head))
    }

    async fn start(
        &self,
        ctx: &CallCtx,
        folder: &Path,
        settings: &[(String, String)],
        command: GitCommand<'_>,
        keep: usize,
    ) -> Result<ProgramOutput, ToolError> {
        let needs = Needs { workspace: command.room, network: command.network, ..Needs::default() };
        // `denied_content` excludes denied files instead of masking them: git would report a masked
        // file as deleted.
        let mut program = Program::new("git")
            .args(command.command_line())
            .folder(folder)
            .keep(keep)
            .needs(needs)
            .filters_reads()
            .has_own_history();
        for (name, value) in SAFE_ENV {
            program = program.env(*name, *value);
        }
        let protocols = if command.network { "https:ssh" } else { "none" };
        program = program.env("GIT_ALLOW_PROTOCOL", protocols);
        let above: Vec<_> = self.workspace.roots().paths().filter_map(Path::parent).collect();
        if let Ok(above) = std::env::join_paths(above) {
            program = program.env("GIT_CEILING_DIRECTORIES", above);
        }
        let switches =
            SAFE_CONFIG.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
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

/// Creates the error of a failed git command from its message.
pub(crate) fn command_error(finished: &ProgramOutput) -> ToolError {
    let said = |bytes: &[u8]| -> String {
        String::from_utf8_lossy(bytes).trim().chars().take(MAX_MESSAGE).collect()
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
    let unreached =
        finished.blocked_hosts_note().map(|text| format!(" {text}")).unwrap_or_default();
    ToolError::execution(format!("git said: {text}.{advice}{unreached}"))
}
