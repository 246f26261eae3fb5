//! `execute_shell_command`: a command line for the shell, where the owner's settings say.

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
use toolcrib_sandbox::{HostRule, HostRules, Network, Status, Stop};

use super::{base_spec, examples};
use crate::shell::background::{Background, State};
use crate::shell::place::Place;
use crate::shell::{Answer, How, Owner, Ran, Shells, Stream, Wanted, facts, names};
use crate::workbench::{Confines, unreached};

/// Seconds that a command may run unless it says otherwise (seed 000: 30). The most is its [place's](Place::most_time).
const SECONDS: u64 = 30;

/// Time of the call as a whole. A command's own time begins when its shell is free, so a call may wait for others before it.
const WHOLE: Duration = Duration::from_secs(600);

/// Bytes of a command. What is longer belongs into a file.
const MOST_BYTES: usize = 60 * 1024;

/// Characters of a command in the line for the person who is asked.
const SUMMARY: usize = 300;

/// The rule of a host that is not among those that are allowed.
const NOT_LISTED: &str = "host.not_listed";

/// How long a program in the background is looked at before the answer: what fails at once is said at once.
const AT_ONCE: Duration = Duration::from_millis(200);

/// Lines that are shown of it.
const FIRST_LINES: usize = 50;

/// The tool.
pub(crate) struct ExecuteShellCommand {
    pub(crate) shells: Arc<Shells>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The shell command to execute.
    command: String,
    /// Timeout in seconds, 1 to 120 (in a Linux userland 60). Default: 30. Not used with background.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// Folder to change to first; a relative one begins at the workspace. The shell stays there.
    working_dir: Option<String>,
    /// Environment variables for this command alone, as key-value pairs.
    env: Option<BTreeMap<String, String>>,
    /// Run it in the background and return a session_id at once, for manage_process. Default: false.
    background: Option<bool>,
    /// Run it in a clean shell of its own: nothing carries over, in either direction. Default: false.
    fresh: Option<bool>,
    /// Hosts on the network that the command needs and that are not allowed yet, such as "example.com" or "example.com:8443"; the user is
    /// asked. It runs in a clean shell then.
    #[schemars(length(max = 8))]
    hosts: Option<Vec<String>>,
}

/// The tool as it is with nothing configured.
pub(crate) fn spec() -> ToolSpec {
    spec_at(&Confines::default())
}

fn spec_at(confines: &Confines) -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "execute_shell_command",
        &format!(
            "Run a command with {}. One shell per conversation: cd, exported variables and functions stay for the next command; fresh=true runs in a clean one. Nobody can answer questions (standard input is empty), and what a command leaves running is ended with it; start servers and long jobs with background=true. Write HTML as one self-contained file with inline CSS and JavaScript. To read and change files prefer the file tools.",
            Place::of(confines).words(confines)
        ),
    );
    spec.title = "Run a shell command".to_owned();
    spec.group = Some("shell".to_owned());
    spec.aliases = vec!["bash_manager".to_owned(), "bash".to_owned(), "shell".to_owned()];
    spec.parameter_aliases =
        super::aliases([("cmd", "command"), ("cwd", "working_dir"), ("workdir", "working_dir")]);
    // What an unknown command could do; each one is assessed by its own words.
    (spec.effect, spec.risk) = (Effect::SideEffect, Risk::High);
    spec.reach = Reach { exec: true, ..Reach::default() };
    spec.permissions = vec![Permission::Exec];
    spec.timeout = WHOLE;
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
        spec_at(&self.shells.bench().confines())
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        check(args)?;
        let mut assessment = Assessment::declared(spec).saying(summary(args));
        (assessment.effect, assessment.risk) = facts::of(&args.command);
        if args.background == Some(true) {
            assessment.effect = assessment.effect.max(Effect::SideEffect);
        }
        // In a closed sandbox nothing leaves and nothing beyond the workspace changes (DESIGN 9, Taint).
        assessment.reach.exec = !self.is_closed(self.shells.place());
        for host in self.hosts(args)? {
            assessment.permissions.push(Permission::Host(host.to_string()));
            assessment.reach = Reach { exec: true, outbound: true, ..assessment.reach };
        }
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        check(&args)?;
        let hosts = HostRules::from_iter(self.hosts(&args)?);
        let mut folder = args.working_dir.as_ref().map(|folder| self.at(folder));
        if hosts != HostRules::default() && args.fresh != Some(true) {
            // A shell of its own, where the conversation's is.
            let owner = Owner::of(ctx);
            folder = folder.or_else(|| owner.and_then(|owner| self.shells.folder(&owner)));
        }
        if args.background == Some(true) {
            return self.start(ctx, args, folder, hosts).await;
        }
        let wanted = Wanted {
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
        said(&ran, time.min(ran.place.most_time())).map(|output| output.from(trust, "shell"))
    }
}

impl ExecuteShellCommand {
    /// A folder, from the workspace on.
    fn at(&self, folder: &str) -> String {
        let confines = self.shells.bench().confines();
        let base = confines.folder().unwrap_or(std::path::Path::new("/"));
        let home = confines.home.as_deref().unwrap_or(base);
        let path = match folder.strip_prefix("~/").or((folder == "~").then_some("")) {
            Some(rest) => home.join(rest),
            None => base.join(folder),
        };
        path.to_string_lossy().into_owned()
    }

    /// Hosts that the call names and that are not allowed: a person is asked about each one.
    fn hosts(&self, args: &Args) -> Result<Vec<HostRule>, ToolError> {
        let Some(named) = args.hosts.as_ref().filter(|hosts| !hosts.is_empty()) else {
            return Ok(Vec::new());
        };
        let allowed = match (self.shells.place().target, &self.shells.bench().confines().network) {
            (ShellTarget::Native, _) | (_, Network::Full) => return Ok(Vec::new()),
            (_, Network::None) => {
                return Err(ToolError::validation(
                    "The user's settings give commands no network at all, so no host can be asked for. Go on without, or tell the user that it is `sandbox.network` of the configuration.",
                ));
            }
            (_, Network::Hosts(hosts)) => hosts.clone(),
        };
        let read = |host: &String| {
            let rule = host.parse::<HostRule>().ok().filter(HostRule::is_one);
            rule.ok_or_else(|| {
                ToolError::validation(format!(
                    "{host:?} in `hosts` is no host. Write a name such as \"example.com\" or \"example.com:8443\", without a scheme, a path or a star."
                ))
            })
        };
        let mut hosts = named.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        hosts.retain(|host| !allowed.covers(host));
        Ok(hosts)
    }

    /// Whether nothing leaves a place, and nothing beyond the workspace changes.
    fn is_closed(&self, place: Place) -> bool {
        place.is_closed(&self.shells.bench().confines())
    }

    /// Whose words a command writes: where nothing comes in from outside, those of the workspace.
    fn trust(&self, place: Place) -> Trust {
        if self.is_closed(place) { Trust::Workspace } else { Trust::External }
    }

    async fn start(
        &self,
        ctx: &CallCtx,
        args: Args,
        folder: Option<String>,
        hosts: HostRules,
    ) -> Result<ToolOutput, ToolError> {
        let Some(owner) = Owner::of(ctx) else {
            return Err(ToolError::validation(
                "A program in the background belongs to a conversation, and this call is in none. Call without `background`.",
            ));
        };
        let folder = folder.or_else(|| self.shells.folder(&owner));
        let env = args.env.unwrap_or_default();
        let started =
            self.shells.start(owner, &args.command, folder.as_deref(), &env, hosts).await?;
        let state = started.settle(AT_ONCE).await;
        Ok(began(&started, state).from(self.trust(self.shells.place()), "shell"))
    }
}

/// What no schema says.
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
            "`working_dir` is no folder. Name one, or leave it out.",
        ));
    }
    names::check(args.env.as_ref().unwrap_or(&BTreeMap::new()))
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

/// The result of a command: how it ended, what it wrote, and what the model has to know of its shell.
fn said(ran: &Ran, time: Duration) -> Result<ToolOutput, ToolError> {
    let Answer { how, stdout, stderr, folder, ended, refused, level, duration } = &ran.answer;
    let shell_died = folder.is_none() && ran.lasts;
    let (code, end) = match how {
        How::Ended(code) => (Some(*code), format!("exit code {code}")),
        How::WithShell { status, stopped } => {
            let code = stopped.is_none().then(|| status.code());
            (code, end_of(*status, *stopped, ran.lasts))
        }
        How::TimedOut => (None, format!("timed out after {}s", time.as_secs())),
        How::Stopped => {
            return Err(ToolError::new(
                ErrorType::Cancelled,
                "The command was stopped, and its shell with it. Whether it took effect is unknown: check before you run it again.",
            ));
        }
    };
    let timed_out = *how == How::TimedOut;
    let mut head = format!("[{end}; {:.2} s; sandbox: {level}", duration.as_secs_f64());
    if let Some(folder) = folder {
        // Writing to a String cannot fail.
        let _ = write!(head, "; folder: {folder}");
    }
    head.push(']');
    let mut notes = Vec::new();
    if ran.is_new_after_end {
        notes.push("The shell of this conversation had ended since the last command, so this was a new one: variables, functions and folder were gone.".to_owned());
    }
    if timed_out {
        notes.push("It and all that it had started were ended. If it needs longer, raise `timeout` or use background=true.".to_owned());
    }
    if shell_died {
        notes.push("The shell ended with it. The next command gets a new one in the workspace folder; variables and functions are gone.".to_owned());
    }
    if *ended > 0 {
        notes.push(format!("What it had left running ({ended}) was ended; use background=true for what is to go on."));
    }
    notes.extend(unreached(refused));
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
    let mut output = ToolOutput::of(content).with_structured(json!({
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
    Ok(output)
}

/// A host as `hosts` names it: without a port that is the usual one.
fn asked_for(host: &str) -> String {
    let usual = |port| host.strip_suffix(port);
    usual(":443").or_else(|| usual(":80")).unwrap_or(host).to_owned()
}

fn end_of(status: Status, stopped: Option<Stop>, lasts: bool) -> String {
    match (stopped, status) {
        (Some(stop), _) => format!("stopped because {}", stop.because()),
        (None, Status::Exited(code)) => format!("exit code {code}"),
        (None, Status::Signalled(signal)) => {
            format!("{} ended by signal {signal}", if lasts { "shell" } else { "it was" })
        }
    }
}

/// One stream, with the place of the whole where there is more than its ends.
fn push(content: &mut Vec<Block>, name: &str, stream: &Stream) {
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

/// The result of a start.
fn began(started: &Background, state: State) -> ToolOutput {
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
            ("ended", format!("[{} at once: {}]", started.id, end_of(status, stopped, false)))
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
