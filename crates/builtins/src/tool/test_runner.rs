//! `test_runner`: runs the tests of a project and counts the results.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Access, Assessment, CallCtx, Effect, ErrorType, Permission, Risk, Tool, ToolError, ToolOutput,
    ToolSpec, Trust,
};

use super::{aliases, blocking, examples, file_spec};
use toolcrib_sandbox::process::{Captured, End};

use crate::fs::walk::{Limits, WalkAction, walk};
use crate::fs::{FsErrorKind, LinkPolicy, NodeKind, Workspace, bounded_read};
use crate::program_runner::{Program, ProgramOutput, ProgramRunner};
use crate::test_frameworks::{self, Project, Runner, TestCounts};

/// Time limit of a call.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Part of it reserved for start and end.
const MARGIN: Duration = Duration::from_secs(5);
/// Characters of the end of the output that are shown.
const TAIL: usize = 4000;
/// Bytes of output that are kept for parsing.
const KEEP: usize = 4 * 1024 * 1024;
/// Largest project file that is examined, in bytes.
const MAX_FILE: u64 = 256 * 1024;
/// Maximum number of names in the project's folder that are examined.
const WALK_LIMITS: Limits = Limits { entries: 2000, depth: 0, time: Duration::from_secs(2) };

/// Handler of `test_runner`.
pub(crate) struct TestRunner {
    pub(crate) workspace: Arc<Workspace>,
    pub(crate) workbench: Arc<ProgramRunner>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Folder of the project. Default: the workspace.
    path: Option<String>,
    /// File with tests, in the project. Default: all tests.
    file: Option<String>,
    /// Only tests whose name matches, as -k of pytest, -run of go, the filter of cargo.
    test_name: Option<String>,
    /// Default: found from the files of the project.
    runner: Option<Runner>,
    /// Seconds, at most 590. Default: 30 for Python, 120 for others.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = file_spec::<Args>(
        "test_runner",
        "Run tests",
        "Run the tests of a project of the workspace: pytest, unittest, cargo, go, npm or make, in the sandbox and without network. Gives counts, failing tests and the end of the output.",
        true,
    );
    spec.group = Some("tests".to_owned());
    spec.risk = Risk::High;
    spec.timeout = TIMEOUT;
    spec.permissions.push(Permission::Exec);
    spec.parameter_aliases = aliases([
        ("project_root", "path"),
        ("file_path", "file"),
        ("test", "test_name"),
        ("name", "test_name"),
    ]);
    spec.examples = examples([
        ("Do the tests pass?", json!({})),
        (
            "Run one test of the parser",
            json!({"file": "tests/test_parser.py", "test_name": "test_dates"}),
        ),
    ]);
    spec
}

impl Args {
    fn folder(&self) -> &str {
        self.path.as_deref().unwrap_or(".")
    }

    /// Refuses values that the program could take for an option.
    fn check(&self) -> Result<(), ToolError> {
        let given = [("file", &self.file), ("test_name", &self.test_name)];
        for (name, value) in given.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)))
        {
            if value.starts_with('-') || value.trim().is_empty() || value.contains('\0') {
                return Err(ToolError::validation(format!(
                    "\"{value}\" cannot be used as {name}. Leave it out to run all tests."
                )));
            }
        }
        Ok(())
    }
}

impl Tool for TestRunner {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        args.check()?;
        let what = args.test_name.as_ref().or(args.file.as_ref());
        let what = what.map_or_else(|| "all tests".to_owned(), |what| format!("the tests {what}"));
        let folder = args.folder();
        let mut assessment = Assessment::from_spec(spec)
            .with_summary(format!("run {what} of the project in {folder}"));
        assessment.effect = Effect::SideEffect;
        // In a closed sandbox the project's code can reach nothing else.
        assessment.reach.exec = !self.workbench.program_policy().is_closed();
        Ok(match self.workspace.roots().lock_key(folder) {
            Some(key) => assessment.with_lock(format!("tests:{key}"), Access::Exclusive),
            None => assessment,
        })
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        args.check()?;
        let (workspace, cancel) = (self.workspace.for_call(ctx), ctx.cancel.clone());
        let (args, runner, command, folder) = blocking(move || {
            let spot = workspace.roots().resolve(args.folder(), LinkPolicy::Follow)?;
            match spot.node {
                Some(NodeKind::Dir) => {}
                Some(_) => return Err(FsErrorKind::NotDir.at(args.folder()).into()),
                None => return Err(FsErrorKind::NotFound.at(args.folder()).into()),
            }
            let look = |path: &Path, before: &str| {
                let path = path.to_string_lossy();
                let spot = workspace.roots().resolve(&path, LinkPolicy::Follow)?;
                let mut names = Vec::new();
                walk(workspace.roots(), &spot, WALK_LIMITS, &cancel, |item| {
                    names.extend(item.name().to_str().map(|name| format!("{before}{name}")));
                    Ok(WalkAction::Pass)
                })
                .map_err(|fault| ToolError::from(fault.at(&*path)))?;
                Ok::<_, ToolError>(names)
            };
            let mut names = look(Path::new(args.folder()), "")?;
            for folder in ["tests", "test"] {
                if names.iter().any(|name| name == folder) {
                    // A folder that cannot be read contributes no names.
                    let inner = look(&Path::new(args.folder()).join(folder), &format!("{folder}/"));
                    names.extend(inner.unwrap_or_default());
                }
            }
            let text = |name: &str| text_of(&workspace, &Path::new(args.folder()).join(name));
            let project = Project { names, text: &text };
            let runner = match args.runner {
                Some(runner) => runner,
                None => {
                    Runner::detect(&project, args.file.as_deref()).ok_or_else(|| unknown(&args))?
                }
            };
            let by = project.names_tests_by();
            let command = runner.command(args.file.as_deref(), args.test_name.as_deref(), by);
            Ok((args, runner, command, spot.real_path()))
        })
        .await?;
        let time = args.timeout.map_or(runner.time(), Duration::from_secs).min(TIMEOUT - MARGIN);
        let (name, rest) =
            command.split_first().map_or(("", &[][..]), |(n, rest)| (n.as_str(), rest));
        let program = Program::new(name)
            .args(rest)
            .folder(folder)
            .env("CI", "1")
            .env("NO_COLOR", "1")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("CARGO_NET_OFFLINE", "true")
            .env("GOFLAGS", "-mod=mod")
            .env("GOPROXY", "off")
            .time(time)
            .keep(KEEP);
        let finished = self.workbench.run(ctx, program).await?;
        if ctx.cancel.is_cancelled()
            && let Some(stopped) = finished.stop_error("The test program")
        {
            return Err(stopped);
        }
        missing(runner, &finished)?;
        Ok(render(&args, runner, &command.join(" "), time, &finished))
    }
}

fn unknown(args: &Args) -> ToolError {
    ToolError::execution(format!(
        "Nothing in {} says how its tests are run. Give runner, or path for the folder of the project. Known are: a Cargo.toml, a go.mod, Python files named test_*.py, a package.json with a script test, a Makefile with a target test.",
        args.folder()
    ))
}

/// Returns the text of a small file.
fn text_of(workspace: &Workspace, path: &Path) -> Option<String> {
    use std::io::Read as _;
    let (file, _) = bounded_read::open(workspace.roots(), path.to_str()?).ok()?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Returns the error if the framework is not installed. A missing framework is not a failed test.
fn missing(runner: Runner, finished: &ProgramOutput) -> Result<(), ToolError> {
    let stderr = String::from_utf8_lossy(&finished.stderr.head);
    if runner == Runner::Pytest && stderr.contains("No module named pytest") {
        return Err(ToolError::execution(
            "pytest is not installed for python3, so no test was run. Tell the user to install it where programs of the sandbox find it (sandbox.path in the configuration), or give runner unittest.",
        ));
    }
    Ok(())
}

fn render(
    args: &Args,
    runner: Runner,
    command: &str,
    time: Duration,
    finished: &ProgramOutput,
) -> ToolOutput {
    let text = |stream: &Captured| {
        let mut text = String::from_utf8_lossy(&stream.head).into_owned();
        text.push_str(&String::from_utf8_lossy(&stream.tail));
        text
    };
    // Both streams: build output and build errors are on standard error.
    let mut output = text(&finished.stderr);
    if !output.is_empty() && !output.ends_with('\n') {
        output.push('\n');
    }
    output.push_str(&text(&finished.stdout));
    let counts = test_frameworks::parse_output(runner, &output);
    let success = finished.succeeded();
    let mut said = vec![headline(runner, command, time, finished, &counts)];
    if !counts.failing.is_empty() {
        said.push(format!("Not passed:\n{}", counts.failing.join("\n")));
    }
    let (tail, left_out) = tail(&output);
    said.push(match left_out {
        0 => format!("Output:\n{tail}"),
        n => format!("Output ({n} characters before it are left out):\n{tail}"),
    });
    said.extend(finished.blocked_hosts_note());
    said.extend(finished.executed_files_note.clone());
    let number = |count: Option<u64>| count.unwrap_or(0);
    let mut result = ToolOutput::text(said.join("\n\n"))
        .with_structured(json!({
            "success": success,
            "runner": runner.name(),
            "returncode": finished.code(),
            "passed_count": number(counts.passed),
            "failed_count": number(counts.failed),
            "error_count": number(counts.errors),
            "skipped_count": number(counts.skipped),
            "total_count": number(counts.total()),
            "failing": counts.failing,
            "sandbox": finished.level.to_string(),
        }))
        .with_origin(Trust::Workspace, args.folder());
    if finished.end == End::TimedOut {
        result = result.failed_with(ErrorType::Timeout);
    }
    result
}

fn headline(
    runner: Runner,
    command: &str,
    time: Duration,
    finished: &ProgramOutput,
    counts: &TestCounts,
) -> String {
    let all = [
        (counts.passed, "passed"),
        (counts.failed, "failed"),
        (counts.errors, "broken"),
        (counts.skipped, "skipped"),
    ];
    let counted: Vec<String> =
        all.iter().filter_map(|(count, what)| Some(format!("{} {what}", (*count)?))).collect();
    let counted = if counted.is_empty() {
        "the output does not say how many".to_owned()
    } else {
        counted.join(", ")
    };
    let how = match (finished.code(), finished.stopped) {
        (Some(0), _) => "Tests passed".to_owned(),
        // Pytest exits with 5 if it found no tests.
        (Some(5), _) if runner == Runner::Pytest => "No tests were found".to_owned(),
        (Some(code), _) => format!("Tests FAILED (exit code {code})"),
        (None, _) if finished.end == End::TimedOut => format!(
            "Tests did NOT END within {} s (give a longer timeout, or fewer tests)",
            time.as_secs()
        ),
        (None, stopped) => format!(
            "Tests were STOPPED because {}",
            stopped.map_or("the call was stopped", |stop| stop.message())
        ),
    };
    format!("{how}: {counted}. Ran: {command}")
}

/// Returns the end of the output, and the number of characters before it.
fn tail(output: &str) -> (&str, usize) {
    let output = output.trim_end();
    let count = output.chars().count();
    let left_out = count.saturating_sub(TAIL);
    let start = output.char_indices().nth(left_out).map_or(output.len(), |(at, _)| at);
    (output.get(start..).unwrap_or_default(), left_out)
}
