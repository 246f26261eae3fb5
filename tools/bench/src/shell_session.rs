//! Overhead of a command in the shell of a conversation: a command that does nothing, and the start
//! of a shell. The baseline is the same command in a bare bash that reads it from a pipe and
//! reports its end.

use std::io::{Read as _, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolcrib_builtins::Builtins;
use toolcrib_builtins::program_runner::{ProgramPolicy, ProgramRunner};
use toolcrib_builtins::shell::Shells;
use toolcrib_core::tool::Streams;
use toolcrib_core::{CallCtx, CallId, CancellationToken, Context, Handler, StreamSink};
use toolcrib_sandbox::Local;

use crate::results::Results;

/// Commands of each kind.
const ROUNDS: usize = 1001;

pub(crate) fn run(table: &mut Results) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let folder = tempfile::tempdir().expect("a folder");
    let bench = ProgramRunner::new(Arc::new(Local::new()), ProgramPolicy::new([folder.path()]));
    let shells = Arc::new(Shells::new(Arc::new(bench), None));
    let tools = Builtins::new().with_shells(shells).handlers();
    let named = |tool: &&Arc<dyn Handler>| tool.spec().name.as_str() == "execute_shell_command";
    let tool = tools.iter().find(named).expect("the shell");
    // In a task of the runtime, as calls come.
    let tool = Arc::clone(tool);
    let measured = runtime.block_on(runtime.spawn(async move { measure(&*tool).await }));
    let (starts, kinds) = measured.expect("figures");
    table.figure("shell: first command of a conversation", starts, "ms");
    for (what, [ours, theirs, over]) in kinds {
        table.figure(format!("shell: {what}"), ours, "ms");
        table.figure(format!("shell: {what}, in a bare bash"), theirs, "ms");
        table.at_most(format!("shell: {what}, over its own work"), over, "ms", 0.1);
    }
}

/// The first command of a conversation; and of each kind of command what it takes with us, without
/// us, and by how much that differs.
async fn measure(tool: &dyn Handler) -> (f64, Vec<(&'static str, [f64; 3])>) {
    let mut starts = Vec::new();
    for round in 0..21 {
        starts.push(command(tool, ":", &format!("start {round}")).await);
    }
    let mut bare = Bare::new();
    let mut kinds = Vec::new();
    for (what, text) in [("a command that does nothing", ":"), ("`/bin/true`", "/bin/true")] {
        let mut took: [Vec<f64>; 3] = Default::default();
        for _ in 0..ROUNDS {
            let (ours, theirs) = (command(tool, text, "one").await, bare.run(text));
            for (all, one) in took.iter_mut().zip([ours, theirs, ours - theirs]) {
                all.push(one);
            }
        }
        kinds.push((what, took.map(median)));
    }
    (median(starts), kinds)
}

/// Milliseconds of one command.
async fn command(tool: &dyn Handler, command: &str, conversation: &str) -> f64 {
    let begun = Instant::now();
    let ran = tool.call(&call(conversation), &json!({"command": command})).await;
    let code = ran.expect("a result").structured.map(|data| data["exit_code"].clone());
    assert_eq!(code, Some(json!(0)));
    begun.elapsed().as_secs_f64() * 1000.0
}

/// A bare bash without our supervision.
struct Bare(Child);

impl Bare {
    fn new() -> Self {
        let mut bash = Command::new("bash");
        bash.args(["--noprofile", "--norc"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(bash.spawn().expect("bash"))
    }

    /// Milliseconds until it says that a command is done.
    fn run(&mut self, command: &str) -> f64 {
        let (stdin, stdout) = (self.0.stdin.as_mut(), self.0.stdout.as_mut());
        let (stdin, stdout) = (stdin.expect("a pipe"), stdout.expect("a pipe"));
        let begun = Instant::now();
        stdin.write_all(format!("{command}\necho .\n").as_bytes()).expect("it reads");
        stdout.read_exact(&mut [0; 2]).expect("it answers");
        begun.elapsed().as_secs_f64() * 1000.0
    }
}

impl Drop for Bare {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A call of a conversation.
fn call(conversation: &str) -> CallCtx {
    CallCtx {
        call: CallId::fresh(),
        run: None,
        context: Arc::new(Context { conversation: conversation.to_owned(), ..Context::default() }),
        view: Arc::default(),
        attempt: 1,
        cancel: CancellationToken::new(),
        deadline: Instant::now() + Duration::from_secs(60),
        streams: Arc::new(NoStreams),
        path_denials: toolcrib_core::NoPathDenials::shared(),
        approved_hosts: Arc::default(),
    }
}

/// Nothing here writes much.
struct NoStreams;

impl Streams for NoStreams {
    fn open(&self, _: &CallCtx, _: &str) -> Box<dyn StreamSink> {
        unreachable!("these commands write nothing")
    }
}

fn median(mut took: Vec<f64>) -> f64 {
    took.sort_by(f64::total_cmp);
    took.get(took.len() / 2).copied().unwrap_or(f64::NAN)
}
