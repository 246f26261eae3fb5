//! `git_manager`: everyday git commands on a repository of the workspace.

use std::borrow::Cow;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Access, Assessment, CallCtx, Effect, Permission, Risk, Tool, ToolError, ToolOutput, ToolSpec,
    Trust,
};

use super::{aliases, examples, file_spec};
use crate::git::{FilteredCommand, Git, GitCommand, NameListing};
use crate::program_runner::ProgramOutput;

/// Time limit of a command; a push waits for the network.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Commits that `log` shows: default and maximum.
const COMMITS: u32 = 5;
const MAX_COMMITS: u32 = 200;
/// Maximum number of paths of one call.
const MAX_PATHS: usize = 1000;
/// Prefixes of commit messages that are error texts pasted by a model.
const ERRORS: &[&str] = &["error:", "fatal:", "traceback (most recent", "exception:", "❌"];

/// Handler of `git_manager`.
pub(crate) struct GitManager {
    pub(crate) git: Git,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The action. branch lists the branches, or with name switches to that branch and creates it
    /// if missing.
    action: Action,
    /// Folder of the repository. Default: the workspace.
    path: Option<String>,
    /// Files and folders in the repository: those to add (default: all), or the limit of log, diff
    /// and show.
    paths: Option<Vec<String>>,
    /// For commit: the message.
    message: Option<String>,
    /// For commit: first add the changes of tracked files.
    all: Option<bool>,
    /// For log, diff, show: a commit, branch or range such as HEAD~2 or main..work; diff compares
    /// the files with it.
    revision: Option<String>,
    /// For diff: show staged changes instead of unstaged ones.
    staged: Option<bool>,
    /// For branch and push: the branch. Default of push: the current one.
    name: Option<String>,
    /// For push: the remote. Default: origin.
    remote: Option<String>,
    /// For log: number of commits. Default: 5.
    #[schemars(range(min = 1, max = 200))]
    count: Option<u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Init,
    Add,
    Commit,
    Log,
    Diff,
    Status,
    Branch,
    Show,
    Push,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::Add => "add",
            Self::Commit => "commit",
            Self::Log => "log",
            Self::Diff => "diff",
            Self::Status => "status",
            Self::Branch => "branch",
            Self::Show => "show",
            Self::Push => "push",
        }
    }
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "git_manager",
        "Use git",
        "Use git on a repository of the workspace: init, add, commit, log, diff, status, branch, show, push. Runs no hooks, filters, pagers or prompts.",
        false,
    );
    spec.effect = Effect::SideEffect;
    spec.group = Some("git".to_owned());
    spec.timeout = TIMEOUT;
    spec.parameter_aliases = aliases([
        ("project_root", "path"),
        ("repository", "path"),
        ("file", "paths"),
        ("files", "paths"),
        ("commit", "revision"),
        ("ref", "revision"),
        ("branch", "name"),
        ("limit", "count"),
    ]);
    spec.examples = examples([
        ("What did I change?", json!({"action": "status"})),
        ("Commit the two files", json!({"action": "add", "paths": ["src/main.py", "README.md"]})),
        (
            "Save this state",
            json!({"action": "commit", "message": "Parse dates with a time zone", "all": true}),
        ),
    ]);
    spec
}

impl Args {
    fn folder(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }

    fn is_set(flag: Option<bool>) -> bool {
        flag == Some(true)
    }

    /// Returns whether the action leaves the repository unchanged.
    fn reads(&self) -> bool {
        match self.action {
            Action::Log | Action::Diff | Action::Status | Action::Show => true,
            Action::Branch => self.name.is_none(),
            Action::Init | Action::Add | Action::Commit | Action::Push => false,
        }
    }

    fn risk(&self) -> Risk {
        match self.action {
            Action::Push => Risk::Critical,
            Action::Commit => Risk::High,
            _ => Risk::Safe,
        }
    }

    /// Describes the call for an approval request.
    fn summary(&self) -> String {
        let folder = self.folder();
        let what: Cow<'_, str> = match self.action {
            Action::Commit => self.message.as_deref().unwrap_or_default().into(),
            Action::Branch => self.name.as_deref().unwrap_or_default().into(),
            Action::Push => format!(
                "{} {}",
                self.remote.as_deref().unwrap_or("origin"),
                self.name.as_deref().unwrap_or("(the current branch)")
            )
            .into(),
            _ => self.paths.as_deref().unwrap_or_default().join(" ").into(),
        };
        format!("git {} {what} in {folder}", self.action.name())
    }
}

impl Tool for GitManager {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let mut assessment = Assessment::from_spec(spec).with_summary(args.summary());
        assessment.operation = Some(format!("git_manager.{}", args.action.name()));
        assessment.risk = args.risk();
        if args.reads() {
            assessment.effect = Effect::Read;
        } else {
            assessment.permissions.push(Permission::FsWrite);
        }
        if args.action == Action::Push {
            assessment.reach.outbound = true;
            assessment.permissions.push(Permission::Network);
        }
        let access = if args.reads() { Access::Shared } else { Access::Exclusive };
        let key = self.git.workspace.roots().lock_key(args.folder());
        Ok(match key {
            Some(key) => assessment.with_lock(format!("git:{key}"), access),
            None => assessment,
        })
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        match args.action {
            Action::Branch if args.name.is_some() => self.switch(ctx, &args).await,
            Action::Commit => self.commit(ctx, &args).await,
            Action::Push => self.push(ctx, &args).await,
            _ => {
                let FilteredCommand { command, note } = self.filtered(ctx, &args).await?;
                let finished = self.git.run_checked(ctx, command).await?;
                Ok(output(&args, &finished, quiet(args.action), note))
            }
        }
    }
}

/// Returns the message for a command without output.
fn quiet(action: Action) -> &'static str {
    match action {
        Action::Add => "Added.",
        Action::Diff => "(no changes)",
        Action::Log => "(no commits)",
        Action::Branch => "(no branches: there is no commit yet)",
        _ => "Done.",
    }
}

/// Returns the git command of an action that needs a single one.
fn command(args: &Args) -> Result<GitCommand<'_>, ToolError> {
    let folder = args.folder();
    let paths = paths(args)?;
    let revision = || args.revision.as_deref().map(revision).transpose();
    Ok(match args.action {
        Action::Init => GitCommand::read_write(folder, &["init", "--template="]),
        Action::Add if paths.is_empty() => {
            GitCommand::read_write(folder, &["add", "--all"]).about(["."])
        }
        Action::Add => GitCommand::read_write(folder, &["add"]).about(paths),
        Action::Status => GitCommand::read_only(
            folder,
            &[
                "status",
                "--short",
                "--branch",
                "--ignore-submodules=dirty",
                "--untracked-files=all",
            ],
        ),
        Action::Log => {
            let count = args.count.unwrap_or(COMMITS).clamp(1, MAX_COMMITS);
            GitCommand::read_only(
                folder,
                &["log", "--no-show-signature", "--no-color", "--date=short"],
            )
            .with_args(["--format=%h - %s (%an, %ad)".to_owned(), format!("--max-count={count}")])
            .with_args(revision()?)
            .about(paths)
        }
        Action::Diff => GitCommand::read_only(
            folder,
            &["diff", "--no-ext-diff", "--no-textconv", "--no-color", "--ignore-submodules=dirty"],
        )
        .with_args(Args::is_set(args.staged).then_some("--cached"))
        .with_args(revision()?)
        .about(paths),
        Action::Show => {
            let revision = revision()?.unwrap_or_else(|| "HEAD".to_owned());
            GitCommand::read_only(
                folder,
                &["show", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-color"],
            )
            .with_args([revision])
            .about(paths)
        }
        Action::Branch | Action::Commit | Action::Push => {
            GitCommand::read_only(folder, &["branch", "--list", "--all", "--no-color", "--verbose"])
        }
    })
}

/// Returns the paths of a call. Git takes them literally, never as patterns.
fn paths(args: &Args) -> Result<Vec<String>, ToolError> {
    let paths = args.paths.clone().unwrap_or_default();
    if paths.len() > MAX_PATHS {
        return Err(ToolError::validation(format!(
            "The call names {} paths; at most {MAX_PATHS} are taken at once. Name folders.",
            paths.len()
        )));
    }
    match paths.iter().find(|path| path.is_empty() || path.contains('\0')) {
        Some(_) => Err(ToolError::validation("One of the paths is empty or holds a NUL.")),
        None => Ok(paths),
    }
}

/// Checks that a text is a revision and not an option.
fn revision(text: &str) -> Result<String, ToolError> {
    if text.is_empty() || text.starts_with('-') || text.contains(['\0', '\n']) {
        return Err(ToolError::validation(format!(
            "\"{text}\" is not a revision. Give a commit, branch, tag or range, such as HEAD~1 or main..work."
        )));
    }
    Ok(text.to_owned())
}

/// Checks that git cannot interpret the name of a branch or remote as anything else.
fn name(text: &str) -> Result<&str, ToolError> {
    let is_good = |c: char| c.is_alphanumeric() || "_-./+@#".contains(c);
    if text.is_empty() || text.starts_with('-') || !text.chars().all(is_good) {
        return Err(ToolError::validation(format!(
            "\"{text}\" cannot be used as the name of a branch or remote. Use letters, digits, - _ . and /."
        )));
    }
    Ok(text)
}

impl GitManager {
    /// Returns the git command of an action that needs a single one, without contents that rules
    /// deny to the call.
    async fn filtered<'a>(
        &self,
        ctx: &CallCtx,
        args: &'a Args,
    ) -> Result<FilteredCommand<'a>, ToolError> {
        let command = command(args)?;
        let listing = match args.action {
            Action::Diff | Action::Show => {
                let revision = args.revision.as_deref().unwrap_or("HEAD");
                let is_shown = args.action == Action::Show;
                let folder = args.folder();
                if !self.git.check_revision(ctx, folder, revision, is_shown).await? {
                    return Ok(FilteredCommand { command, note: None });
                }
                NameListing::Names
            }
            Action::Add | Action::Status => NameListing::Changed,
            _ => return Ok(FilteredCommand { command, note: None }),
        };
        self.git.without_denied(ctx, command, listing).await
    }

    async fn commit(&self, ctx: &CallCtx, args: &Args) -> Result<ToolOutput, ToolError> {
        let message = args.message.as_deref().unwrap_or_default().trim();
        if message.is_empty() {
            return Err(ToolError::validation("message is missing. Say in a line what changed."));
        }
        let lower = message.to_lowercase();
        if ERRORS.iter().any(|start| lower.starts_with(start)) {
            return Err(ToolError::validation(
                "The message is the text of an error, so nothing was committed. Say in a line what changed.",
            ));
        }
        let mut note = None;
        let adds_some = Args::is_set(args.all) && !ctx.path_denials.is_empty();
        if adds_some {
            // Equivalent to `commit --all`, which accepts no paths to exclude.
            let add = GitCommand::read_write(args.folder(), &["add", "--update"]);
            let add = self.git.without_denied(ctx, add, NameListing::Changed).await?;
            note = add.note;
            self.git.run_checked(ctx, add.command).await?;
        }
        let command =
            GitCommand::read_write(args.folder(), &["commit", "--no-verify", "--no-gpg-sign"])
                .with_args((Args::is_set(args.all) && !adds_some).then_some("--all"))
                .with_args([format!("--message={message}"), "--cleanup=whitespace".to_owned()]);
        let finished = self.git.run_checked(ctx, command).await?;
        Ok(output(args, &finished, "Done.", note))
    }

    /// Switches to a branch; creates it if it is missing.
    async fn switch(&self, ctx: &CallCtx, args: &Args) -> Result<ToolOutput, ToolError> {
        let folder = args.folder();
        let branch = name(args.name.as_deref().unwrap_or_default())?;
        let there = GitCommand::read_only(folder, &["show-ref", "--verify", "--quiet"])
            .with_args([format!("refs/heads/{branch}")]);
        let is_there = self.git.run(ctx, there).await?.succeeded();
        if is_there {
            self.git.check_switch(ctx, folder, branch).await?;
        }
        let command = GitCommand::read_write(folder, &["switch", "--no-recurse-submodules"])
            .with_args((!is_there).then_some("--create"))
            .with_args([branch]);
        let finished = self.git.run_checked(ctx, command).await?;
        Ok(output(args, &finished, "Done.", None))
    }

    async fn push(&self, ctx: &CallCtx, args: &Args) -> Result<ToolOutput, ToolError> {
        let remote = name(args.remote.as_deref().unwrap_or("origin"))?;
        let branch = match args.name.as_deref() {
            Some(branch) => format!("refs/heads/{}", name(branch)?),
            None => "HEAD".to_owned(),
        };
        let mut command = GitCommand::read_write(
            args.folder(),
            &["push", "--no-verify", "--no-signed", "--recurse-submodules=no", "--porcelain"],
        )
        .with_args(["--receive-pack=git-receive-pack", remote, branch.as_str()]);
        command.network = true;
        let finished = self.git.run_checked(ctx, command).await?;
        Ok(output(args, &finished, "Pushed.", None))
    }
}

/// Renders the output of git, and its messages.
fn output(args: &Args, finished: &ProgramOutput, quiet: &str, note: Option<String>) -> ToolOutput {
    let out = &finished.stdout;
    let mut text = String::from_utf8_lossy(&out.head).into_owned();
    let dropped = out.total - (out.head.len() + out.tail.len()) as u64;
    if dropped > 0 {
        text.push_str(&format!(
            "\n[... {dropped} bytes are left out; name paths to see less ...]\n"
        ));
        text.push_str(&String::from_utf8_lossy(&out.tail));
    }
    let told = String::from_utf8_lossy(&finished.stderr.head);
    if !args.reads() && !told.trim().is_empty() {
        text.push_str(&told);
    }
    if text.trim().is_empty() {
        text = quiet.to_owned();
    }
    for note in [note.as_ref(), finished.executed_files_note.as_ref()].into_iter().flatten() {
        text = format!("{}\n({note})", text.trim_end());
    }
    ToolOutput::text(text.trim_end())
        .with_structured(
            json!({"action": args.action.name(), "sandbox": finished.level.to_string()}),
        )
        .with_origin(Trust::Workspace, args.folder())
}
