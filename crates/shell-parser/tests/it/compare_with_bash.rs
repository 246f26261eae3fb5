//! Property test against bash: every command that bash runs is among the interpretations.
//!
//! Bash runs generated lines in an empty folder with a `PATH` of stub programs that log their
//! arguments; stubs of wrapper programs also run their arguments. `TOOLCRIB_SHELL_CASES` sets the
//! number of lines.

use std::cell::Cell;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestRng, TestRunner};
use toolcrib_shell_parser::{CommandLine, Interpretation, Word, parse};

use crate::line_generator::{PROGRAMS, WRAPPERS, line};
use crate::summary::{reading, short};

const CASES: u32 = 200;
/// Far longer than any generated line needs.
const LIMIT: Duration = Duration::from_secs(10);

/// A call that a stub logged.
#[derive(Debug)]
struct Call {
    words: Vec<String>,
    /// Whether a program that allow rules do not unwrap ran it.
    inner: bool,
}

struct Root {
    folder: tempfile::TempDir,
    bash: PathBuf,
    count: Cell<usize>,
}

impl Root {
    fn new() -> Self {
        let bash = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"].map(PathBuf::from);
        let Some(bash) = bash.into_iter().find(|path| path.exists()) else {
            panic!("the differential test needs the program `bash`; install it");
        };
        let root = Self { folder: tempfile::tempdir().unwrap(), bash, count: Cell::new(0) };
        for folder in ["bin", "d", "cwd", "cwd/d"] {
            fs::create_dir_all(root.path(folder)).unwrap();
        }
        for name in PROGRAMS {
            root.stub(&format!("bin/{name}"), "");
            root.stub(&format!("d/{name}"), "");
        }
        root.stub("bin/cat", "");
        for name in WRAPPERS {
            root.stub(&format!("bin/{name}"), &root.wrapper(name));
        }
        root
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a stub that logs its arguments in one write and continues with `rest`.
    fn stub(&self, name: &str, rest: &str) {
        let head = format!("#!{}\n", self.bash.display());
        let write = "printf '%s\\0' \"$INNER\" $(($# + 1)) \"${0##*/}\" \"$@\" >>\"$LOG\"\n";
        fs::write(self.path(name), head + write + rest).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn wrapper(&self, name: &str) -> String {
        let bash = self.bash.display();
        let assigns =
            "while case $1 in *=*) true;; *) false;; esac; do export \"$1\"; shift; done\n";
        let run = "[ $# -gt 0 ] && exec \"$@\"\n";
        match name {
            "sudo" => format!(
                "export INNER=1\nwhile :; do case $1 in -u) shift 2;; -n) shift;; --) shift; break;; *) break;; esac; done\n{assigns}{run}"
            ),
            "env" => format!("export INNER=1\n[ \"$1\" = -u ] && shift 2\n{assigns}{run}"),
            "timeout" => format!(
                "while :; do case $1 in -s|-k) shift 2;; --*=*) shift;; *) break;; esac; done\nshift\n{run}"
            ),
            "nice" => format!("case $1 in -n) shift 2;; -[0-9]*) shift;; esac\n{run}"),
            "nohup" => run.to_owned(),
            "xargs" => "IFS= read -r words\n[ $# -gt 0 ] && exec \"$@\" $words\n".to_owned(),
            _ => format!("export INNER=1\nexec {bash} --norc --noprofile \"$@\"\n"),
        }
    }

    /// The calls that bash runs for a line.
    fn calls(&self, line: &str) -> Vec<Call> {
        let cwd = self.path("cwd");
        fs::remove_dir_all(&cwd).unwrap();
        fs::create_dir(&cwd).unwrap();
        std::os::unix::fs::symlink(self.path("d"), cwd.join("d")).unwrap();
        // One log for each line, because background programs of an earlier line may still write.
        let log = self.path(&format!("log{}", self.count.replace(self.count.get() + 1)));
        fs::write(&log, "").unwrap();
        // Waits for background programs.
        let mut child = Command::new(&self.bash)
            .args(["--norc", "--noprofile", "-c", &format!("{line}\nwait")])
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("HOME", &cwd)
            .env("LOG", &log)
            .current_dir(&cwd)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let begin = Instant::now();
        while child.try_wait().unwrap().is_none() {
            if begin.elapsed() > LIMIT {
                child.kill().unwrap();
                child.wait().unwrap();
                break;
            }
            std::thread::yield_now();
        }
        read_log(&log)
    }
}

fn read_log(log: &Path) -> Vec<Call> {
    let log = fs::read(log).unwrap();
    let mut fields = log.split(|b| *b == 0).map(|f| String::from_utf8_lossy(f).into_owned());
    let mut calls = Vec::new();
    while let (Some(inner), Some(count)) = (fields.next(), fields.next()) {
        let count: usize = count.parse().expect("a stub writes its calls in one piece");
        calls.push(Call { words: fields.by_ref().take(count).collect(), inner: !inner.is_empty() });
    }
    calls
}

fn is_like(reading: &Interpretation, call: &Call) -> bool {
    let Word::Known(program) = reading.program() else { return false };
    let name = program.rsplit('/').next();
    name == call.words.first().map(String::as_str) && fits(reading.args(), &call.words[1..])
}

/// Whether the words can expand to the arguments; an unknown word may expand to any number of them.
fn fits(words: &[Word], args: &[String]) -> bool {
    match words.split_first() {
        None => args.is_empty(),
        Some((Word::Known(text), rest)) => args.first() == Some(text) && fits(rest, &args[1..]),
        Some((Word::Unknown(_), rest)) => (0..=args.len()).any(|n| fits(rest, &args[n..])),
    }
}

fn judge(line: &str, parsed: &CommandLine, calls: &[Call]) -> Result<(), TestCaseError> {
    let readings = || parsed.segments.iter().flat_map(|s| &s.readings);
    let is_allowed = parsed.fault.is_none() && parsed.segments.iter().all(|s| s.blocks.is_empty());
    for call in calls {
        // Unparsed text is split at every blank and operator: only the program is certain to be
        // found.
        let begins = |r: &Interpretation| matches!((r.program(), call.words.first()), (Word::Known(a), Some(b)) if a == b);
        let is_cut = |r: &Interpretation| parsed.fault.is_some() && begins(r);
        let found = readings().any(|r| is_like(r, call) || is_cut(r));
        if !found {
            let known: Vec<String> = readings().map(reading).collect();
            return Err(TestCaseError::fail(format!(
                "{line:?} runs {call:?}, but reads {known:#?} {:?}",
                parsed.fault
            )));
        }
        // The same for the interpretations that allow rules see.
        let runs_texts =
            ["eval", "exec", "builtin", "trap", "noglob"].iter().any(|name| line.contains(name));
        let is_seen = readings().any(|r| r.for_allow && is_like(r, call));
        if is_allowed && !call.inner && !runs_texts && !is_seen {
            return Err(TestCaseError::fail(format!(
                "{line:?} runs {call:?} unseen: {}",
                short(line)
            )));
        }
    }
    Ok(())
}

#[test]
fn what_bash_runs_is_among_the_readings() {
    let cases = std::env::var("TOOLCRIB_SHELL_CASES").map_or(CASES, |n| n.parse().unwrap());
    let root = Root::new();
    let config =
        Config { cases, max_shrink_iters: 300, failure_persistence: None, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let ran = Cell::new(0_usize);
    let result = TestRunner::new_with_rng(config, rng).run(&line(), |line| {
        if line.ends_with('\\') || line.contains('\0') {
            return Ok(());
        }
        let calls = root.calls(&line);
        ran.set(ran.get() + calls.len());
        judge(&line, &parse(&line), &calls)
    });
    if let Err(error) = result {
        panic!("{error}");
    }
    assert!(ran.get() > usize::try_from(cases).unwrap(), "only {} programs ran", ran.get());
}
