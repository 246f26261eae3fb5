//! `execute_shell_command`: runs a command line in the shell that the owner configured.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, Block, CallCtx, Effect, ErrorType, Permission, Reach, Risk, Tool, ToolError,
    ToolOutput, ToolSpec, Trust,
};
use toolcrib_sandbox::userland::ShellTarget;
use toolcrib_sandbox::{HostRule, HostRules, LimitHit, Network, Status};

use super::{base_spec, examples};
use crate::program_runner::{ProgramPolicy, blocked_hosts_note};
use crate::shell::background::{BackgroundProcess, State};
use crate::shell::execution_target::ExecutionTarget;
use crate::shell::{
    CollectedStream, CommandEnd, CommandOutput, CommandResult, Owner, ShellCommand, ShellState,
    Shells, env_names, risk,
};

/// Default time limit in seconds. The maximum is that of the [execution
/// target](ExecutionTarget::max_timeout).
const SECONDS: u64 = 30;

/// Time limit of the call. A command's own time starts when its shell is free, so the call may
/// first wait for other calls.
const TOTAL_TIMEOUT: Duration = Duration::from_secs(600);

/// Longest command, in bytes; a longer one belongs in a file.
const MOST_BYTES: usize = 60 * 1024;

/// Characters of a command in an approval request.
const SUMMARY: usize = 300;

/// The rule id for a host that is not on the allowlist.
const NOT_LISTED: &str = "host.not_listed";

/// How long a background process is observed before the call returns, so that an immediate failure
/// is reported at once.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Lines of its output that are shown.
const FIRST_LINES: usize = 50;

/// Handler of `execute_shell_command`.
pub(crate) struct ExecuteShellCommand {
    pub(crate) shells: Arc<Shells>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The shell command to execute.
    command: String,
    /// Timeout in seconds, 1 to 120 (in a Linux userland 60). Default: 30. Not used with
    /// background.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// Folder to change to first; a relative one begins at the workspace. The shell stays there.
    working_dir: Option<String>,
    /// Environment variables for this command alone, as key-value pairs.
    env: Option<BTreeMap<String, String>>,
    /// Run it in the background and return a session_id at once, for manage_process. Default:
    /// false.
    background: Option<bool>,
    /// Run it in a separate clean shell: no state carries over in either direction. Default: false.
    fresh: Option<bool>,
    /// Hosts on the network that the command needs and that are not allowed yet, such as
    /// "example.com" or "example.com:8443"; the user is asked. It runs in a clean shell then.
    #[schemars(length(max = 8))]
    hosts: Option<Vec<String>>,
}

/// Returns the definition without any configuration.
pub(crate) fn spec() -> ToolSpec {
    spec_for(&ProgramPolicy::default())
}

fn spec_for(confines: &ProgramPolicy) -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "execute_shell_command",
        "Run shell command",
        &format!(
            "Run a command with {}. One shell per conversation: cd, exported variables and functions stay for the next command; fresh=true runs in a clean one. No person can answer questions (standard input is empty), and what a command leaves running is ended with it; start servers and long jobs with background=true. Write HTML as one self-contained file with inline CSS and JavaScript. To read and change files prefer the file tools.",
            ExecutionTarget::from_policy(confines).describe(confines)
        ),
    );
    spec.group = Some("shell".to_owned());
    spec.aliases = vec!["bash_manager".to_owned(), "bash".to_owned(), "shell".to_owned()];
    spec.parameter_aliases =
        super::aliases([("cmd", "command"), ("cwd", "working_dir"), ("workdir", "working_dir")]);
    // The worst case; `assess` evaluates the text of each command.
    (spec.effect, spec.risk) = (Effect::SideEffect, Risk::High);
    spec.reach = Reach { exec: true, ..Reach::default() };
    spec.permissions = vec![Permission::Exec];
    spec.timeout = TOTAL_TIMEOUT;
    spec.attempts = 1;
    spec.default_enabled = false;
    spec.trust = Trust::External;
    spec.examples = examples([
        ("Run the tests", json!({"command": "cargo test", "timeout": 120})),
        (
            "Start the development server",
            json!({"command": "python3 -m http.server 8000", "background": true}),
        ),
    ]);
    spec
}

impl Tool for ExecuteShellCommand {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec_for(&self.shells.runner().program_policy())
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        check(args)?;
        let mut assessment = Assessment::from_spec(spec).with_summary(summary(args));
        (assessment.effect, assessment.risk) = risk::assess(&args.command);
        if args.background == Some(true) {
            assessment.effect = assessment.effect.max(Effect::SideEffect);
        }
        // In a closed sandbox a program can send nothing out and change nothing outside the
        // workspace.
        let target = self.shells.execution_target();
        assessment.reach.exec = !self.is_closed(target);
        assessment.unconfined = target.target == ShellTarget::Native;
        for host in self.hosts(args)? {
            assessment.permissions.push(Permission::Host(host.to_string()));
            assessment.reach = Reach { exec: true, outbound: true, ..assessment.reach };
        }
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        check(&args)?;
        let hosts = HostRules::from_iter(self.hosts(&args)?);
        let mut folder = args.working_dir.as_ref().map(|folder| self.resolve_folder(folder));
        if hosts != HostRules::default() && args.fresh != Some(true) {
            // A separate shell starts in the folder of the conversation's shell.
            let owner = Owner::from_call(ctx);
            folder = folder.or_else(|| owner.and_then(|owner| self.shells.folder(&owner)));
        }
        if args.background == Some(true) {
            return self.start(ctx, args, folder, hosts).await;
        }
        let wanted = ShellCommand {
            command: args.command,
            folder,
            env: args.env.unwrap_or_default(),
            time: Duration::from_secs(args.timeout.unwrap_or(SECONDS).max(1)),
            fresh: args.fresh.unwrap_or_default(),
            hosts,
        };
        let time = wanted.time;
        let ran = self.shells.run(ctx, wanted).await?;
        let trust = self.trust(ran.place);
        let masked = if ran.start == ShellState::Known && ran.lasts {
            None
        } else {
            ran.masks.note(self.shells.runner().program_policy().folder())
        };
        render(&ran, time.min(ran.place.max_timeout()), masked)
            .map(|output| output.with_origin(trust, "shell"))
    }
}

impl ExecuteShellCommand {
    /// Resolves the folder of a call: relative to the workspace, or below `~` to the home folder of
    /// programs.
    fn resolve_folder(&self, folder: &str) -> String {
        let confines = self.shells.runner().program_policy();
        let base = confines.folder().unwrap_or(std::path::Path::new("/"));
        let home = confines.home.as_deref().unwrap_or(base);
        let path = match folder.strip_prefix("~/").or((folder == "~").then_some("")) {
            Some(rest) => home.join(rest),
            None => base.join(folder),
        };
        path.to_string_lossy().into_owned()
    }

    /// Returns the hosts of the call that are not allowed yet: each one needs approval.
    fn hosts(&self, args: &Args) -> Result<Vec<HostRule>, ToolError> {
        let Some(named) = args.hosts.as_ref().filter(|hosts| !hosts.is_empty()) else {
            return Ok(Vec::new());
        };
        let allowed = match (
            self.shells.execution_target().target,
            &self.shells.runner().program_policy().network,
        ) {
            (ShellTarget::Native, _) | (_, Network::Full) => return Ok(Vec::new()),
            (_, Network::None) => {
                return Err(ToolError::validation(
                    "The user's settings give commands no network at all, so no host can be asked for. Go on without, or tell the user that it is `sandbox.network` of the configuration.",
                ));
            }
            (_, Network::Hosts(hosts)) => hosts.clone(),
        };
        let read = |host: &String| {
            let rule = host.parse::<HostRule>().ok().filter(HostRule::is_single_host);
            rule.ok_or_else(|| {
                ToolError::validation(format!(
                    "{host:?} in `hosts` is not a host. Write a name such as \"example.com\" or \"example.com:8443\", without a scheme, a path or a star."
                ))
            })
        };
        let mut hosts = named.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        hosts.retain(|host| !allowed.covers(host));
        Ok(hosts)
    }

    /// Returns whether a target can neither send data out nor change anything outside the
    /// workspace.
    fn is_closed(&self, place: ExecutionTarget) -> bool {
        place.is_closed(&self.shells.runner().program_policy())
    }

    /// Returns the trust of the output: that of the workspace if no data can enter from outside.
    fn trust(&self, place: ExecutionTarget) -> Trust {
        if self.is_closed(place) { Trust::Workspace } else { Trust::External }
    }

    async fn start(
        &self,
        ctx: &CallCtx,
        args: Args,
        folder: Option<String>,
        hosts: HostRules,
    ) -> Result<ToolOutput, ToolError> {
        let Some(owner) = Owner::from_call(ctx) else {
            return Err(ToolError::validation(
                "A program in the background belongs to a conversation, and this call is in none. Call without `background`.",
            ));
        };
        let folder = folder.or_else(|| self.shells.folder(&owner));
        let env = args.env.unwrap_or_default();
        let (folder, denials) = (folder.as_deref(), &ctx.path_denials);
        let started = self.shells.start(owner, &args.command, folder, &env, hosts, denials).await?;
        let state = started.wait_briefly(AT_ONCE).await;
        Ok(render_started(&started, state)
            .with_origin(self.trust(self.shells.execution_target()), "shell"))
    }
}

/// Checks that the schema cannot express.
fn check(args: &Args) -> Result<(), ToolError> {
    if args.command.trim().is_empty() {
        return Err(ToolError::validation("`command` is empty. Say what is to be run."));
    }
    if args.command.contains('\0') {
        return Err(ToolError::validation(
            "`command` holds a zero byte, which no command line can. Leave it out.",
        ));
    }
    if args.command.len() > MOST_BYTES {
        return Err(ToolError::validation(format!(
            "`command` has more than {MOST_BYTES} bytes. Write it to a file with write_file and run that."
        )));
    }
    if args.working_dir.as_ref().is_some_and(|folder| folder.is_empty() || folder.contains('\0')) {
        return Err(ToolError::validation(
            "`working_dir` is not a folder. Name one, or leave it out.",
        ));
    }
    env_names::check_env(args.env.as_ref().unwrap_or(&BTreeMap::new()))
}

fn summary(args: &Args) -> String {
    let mut shown: String = args.command.chars().take(SUMMARY).collect();
    if shown.len() < args.command.len() {
        shown.push('…');
    }
    let how = if args.background == Some(true) { "run in the background" } else { "run" };
    match &args.working_dir {
        Some(folder) => format!("{how} in {folder}: {shown}"),
        None => format!("{how}: {shown}"),
    }
}

/// Renders the result: how the command ended, its output, and changes of the shell that the model
/// must know.
fn render(
    ran: &CommandResult,
    time: Duration,
    masked: Option<String>,
) -> Result<ToolOutput, ToolError> {
    let CommandOutput {
        how,
        stdout,
        stderr,
        folder,
        ended,
        refused,
        executed_files_note,
        level,
        duration,
    } = &ran.answer;
    let shell_died = folder.is_none() && ran.lasts;
    let (code, end) = match how {
        CommandEnd::Ended(code) => (Some(*code), format!("exit code {code}")),
        CommandEnd::WithShell { status, stopped } => {
            let code = stopped.is_none().then(|| status.code());
            (code, describe_end(*status, *stopped, ran.lasts))
        }
        CommandEnd::TimedOut => (None, format!("timed out after {}s", time.as_secs())),
        CommandEnd::Stopped => {
            return Err(ToolError::new(
                ErrorType::Cancelled,
                "The command was stopped, and its shell with it. Whether it took effect is unknown: check before you run it again.",
            ));
        }
    };
    let timed_out = *how == CommandEnd::TimedOut;
    let mut head = format!("[{end}; {:.2} s; sandbox: {level}", duration.as_secs_f64());
    if let Some(folder) = folder {
        // Writing to a `String` cannot fail.
        let _ = write!(head, "; folder: {folder}");
    }
    head.push(']');
    let mut notes = Vec::new();
    let gone = "so this was a new one: variables, functions and folder were gone.";
    match ran.start {
        ShellState::Known | ShellState::New => {}
        ShellState::NewAfterEnd => notes.push(format!(
            "The shell of this conversation had ended since the last command, {gone}"
        )),
        ShellState::NewForRules => notes.push(format!(
            "The shell of this conversation was ended, because rules hide more from programs than at its start, {gone}"
        )),
    }
    notes.extend(masked);
    if timed_out {
        notes.push("It and all that it had started were ended. If it needs longer, raise `timeout` or use background=true.".to_owned());
    }
    if shell_died {
        notes.push("The shell ended with it. The next command gets a new one in the workspace folder; variables and functions are gone.".to_owned());
    }
    if *ended > 0 {
        notes.push(format!("What it had left running ({ended}) was ended; use background=true for programs that should keep running."));
    }
    notes.extend(blocked_hosts_note(refused));
    notes.extend(executed_files_note.clone());
    let unlisted: Vec<String> = refused
        .iter()
        .filter(|one| one.rule == NOT_LISTED)
        .map(|one| asked_for(&one.host))
        .collect();
    if !unlisted.is_empty() {
        notes.push(format!(
            "To ask the user about it, call again with hosts: {}.",
            serde_json::Value::from(unlisted)
        ));
    }
    let mut content = vec![Block::text(
        [head]
            .into_iter()
            .chain(notes.iter().map(|note| format!("[{note}]")))
            .collect::<Vec<_>>()
            .join("\n"),
    )];
    push(&mut content, "stdout", stdout);
    push(&mut content, "stderr", stderr);
    let mut output = ToolOutput::from_blocks(content).with_structured(json!({
        "success": code == Some(0),
        "stdout": stdout.kept.text(),
        "stderr": stderr.kept.text(),
        "stdout_bytes": stdout.kept.total,
        "stderr_bytes": stderr.kept.total,
        "exit_code": code,
        "timed_out": timed_out,
        "cwd": folder,
        "shell_died": shell_died,
        "sandbox": level.as_str(),
        "notes": notes,
    }));
    output.is_error = code.is_none();
    output.error_type = timed_out.then_some(ErrorType::Timeout);
    Ok(output)
}

/// Renders a host in the form of the parameter `hosts`: without the default port.
fn asked_for(host: &str) -> String {
    let usual = |port| host.strip_suffix(port);
    usual(":443").or_else(|| usual(":80")).unwrap_or(host).to_owned()
}

fn describe_end(status: Status, stopped: Option<LimitHit>, lasts: bool) -> String {
    match (stopped, status) {
        (Some(stop), _) => format!("stopped because {}", stop.message()),
        (None, Status::Exited(code)) => format!("exit code {code}"),
        (None, Status::Signalled(signal)) => {
            format!("{} ended by signal {signal}", if lasts { "shell" } else { "it was" })
        }
    }
}

/// Adds one stream, with the artifact if the output is longer.
fn push(content: &mut Vec<Block>, name: &str, stream: &CollectedStream) {
    if stream.kept.total == 0 {
        return;
    }
    let text = stream.kept.text();
    let text = text.trim_end_matches('\n');
    let head = format!("{name}:\n");
    content.push(match &stream.whole {
        None => Block::text(format!("{head}{text}")),
        Some(artifact) => Block::Spilled {
            preview: format!("{head}{text}"),
            media_type: "text/plain".to_owned(),
            total_bytes: stream.kept.total,
            artifact: Some(artifact.clone()),
        },
    });
}

/// Renders the result of a background start.
fn render_started(started: &BackgroundProcess, state: State) -> ToolOutput {
    let page = started.page(Some(0), FIRST_LINES);
    let (word, text) = match state {
        State::Running => (
            "running",
            format!(
                "[runs in the background as {}; sandbox: {}. Look at it with manage_process.]",
                started.id, started.level
            ),
        ),
        State::Ended { status, stopped } => {
            ("ended", format!("[{} at once: {}]", started.id, describe_end(status, stopped, false)))
        }
        State::Killed | State::Forgotten => {
            ("killed", format!("[{} was ended at once]", started.id))
        }
    };
    let lines =
        if page.lines.is_empty() { String::new() } else { format!("\n{}", page.lines.join("\n")) };
    ToolOutput::text(format!("{text}{lines}")).with_structured(json!({
        "session_id": started.id,
        "state": word,
        "sandbox": started.level.as_str(),
        "output": page.lines,
    }))
}
