//! `cargo xtask fuzz`: libFuzzer targets on the stable compiler, with the coverage flags of
//! cargo-fuzz and without sanitizers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::{process, setup, tree};

/// What tells the compiler to count coverage (the flags of cargo-fuzz; the address sanitizer needs
/// a nightly compiler, and the code under test has no `unsafe`).
const RUSTFLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
     -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
     -Cllvm-args=-sanitizer-coverage-trace-compares -Clink-dead-code -Ccodegen-units=1 -Cdebug-assertions";

/// Time for each target.
const SECONDS: u64 = 60;
/// Largest input in bytes; parsers of hostile input see their limits well below it.
const LARGEST: &str = "65536";
/// One input that takes longer is a finding: everything here is to take linear time.
const SLOW_SECONDS: &str = "10";

/// Runs the named targets, or all of them.
pub(crate) fn run(args: &[String]) -> Result<()> {
    let Options { targets, seconds, list } = options(args)?;
    let known = targets_of(&tree::root().join("fuzz"))?;
    if list {
        println!("{}", known.join("\n"));
        return Ok(());
    }
    if let Some(unknown) = targets.iter().find(|target| !known.contains(target)) {
        bail!("no fuzz target `{unknown}`; there are: {}", known.join(" "));
    }
    setup::for_fuzzing()?;
    let targets = if targets.is_empty() { known } else { targets };
    let programs = build(&targets)?;
    let mut results = Vec::new();
    for (target, program) in targets.iter().zip(&programs) {
        println!("\n== {target}: {seconds} s");
        results.push(fuzz(target, program, seconds)?);
    }
    println!("\n{}", table(&results));
    let crashed: Vec<&str> =
        results.iter().filter(|r| r.crashed).map(|r| r.target.as_str()).collect();
    if !crashed.is_empty() {
        bail!("findings in {}; the inputs are under fuzz/artifacts/", crashed.join(", "));
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Options {
    targets: Vec<String>,
    seconds: u64,
    list: bool,
}

fn options(args: &[String]) -> Result<Options> {
    let mut options = Options { targets: Vec::new(), seconds: SECONDS, list: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--list" => options.list = true,
            "--seconds" => {
                let value = args.next().context("--seconds needs a number")?;
                options.seconds = value.parse().with_context(|| format!("--seconds {value}"))?;
            }
            flag if flag.starts_with('-') => bail!("unexpected argument `{flag}`"),
            target => options.targets.push(target.to_owned()),
        }
    }
    Ok(options)
}

/// The targets: one file each.
fn targets_of(folder: &Path) -> Result<Vec<String>> {
    let folder = folder.join("targets");
    let entries = fs::read_dir(&folder).with_context(|| format!("reading {}", folder.display()))?;
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| Some(name.strip_suffix(".rs")?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Builds the targets, optimised, into a folder of their own; the host is named so that build
/// scripts are not instrumented.
fn build(targets: &[String]) -> Result<Vec<PathBuf>> {
    let host = host()?;
    let mut command = process::cargo(&["build", "--release", "--manifest-path", "fuzz/Cargo.toml"]);
    command.args(["--target", &host, "--message-format", "json-render-diagnostics"]);
    command.args(targets.iter().flat_map(|target| ["--bin", target.as_str()]));
    command.env("CARGO_TARGET_DIR", tree::target_dir().join("fuzz")).env("RUSTFLAGS", RUSTFLAGS);
    command.stderr(std::process::Stdio::inherit());
    let messages = process::output(&mut command)?;
    let built: Vec<(String, PathBuf)> = messages.lines().filter_map(executable).collect();
    targets
        .iter()
        .map(|target| {
            let found = built.iter().find(|(name, _)| name == target);
            found
                .map(|(_, path)| path.clone())
                .with_context(|| format!("cargo did not build {target}"))
        })
        .collect()
}

fn executable(line: &str) -> Option<(String, PathBuf)> {
    let message: Value = serde_json::from_str(line).ok()?;
    let path = message["executable"].as_str()?;
    Some((message["target"]["name"].as_str()?.to_owned(), PathBuf::from(path)))
}

fn host() -> Result<String> {
    let version = process::output(Command::new("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc names no host")
}

/// What came of one target.
#[derive(Debug, PartialEq, Eq)]
struct Fuzzed {
    target: String,
    runs: u64,
    seconds: u64,
    coverage: u64,
    crashed: bool,
}

fn fuzz(target: &str, program: &Path, seconds: u64) -> Result<Fuzzed> {
    let folder = tree::root().join("fuzz");
    let (corpus, artifacts) =
        (folder.join("corpus").join(target), folder.join("artifacts").join(target));
    fs::create_dir_all(&corpus)?;
    fs::create_dir_all(&artifacts)?;
    let mut command = Command::new(program);
    command
        .arg(format!("-max_total_time={seconds}"))
        .arg(format!("-max_len={LARGEST}"))
        .arg(format!("-timeout={SLOW_SECONDS}"))
        .arg(format!("-artifact_prefix={}/", artifacts.display()))
        .arg("-print_final_stats=1")
        .arg(&corpus);
    let words = folder.join("dicts").join(format!("{target}.dict"));
    if words.is_file() {
        command.arg(format!("-dict={}", words.display()));
    }
    let seeds = folder.join("seeds").join(target);
    if seeds.is_dir() {
        command.arg(seeds);
    }
    let (passed, lines) = process::run_keeping(&mut command, is_figure)?;
    Ok(figures(target, &lines, seconds, !passed))
}

fn is_figure(line: &str) -> bool {
    line.starts_with("stat::number_of_executed_units")
        || line.contains(" cov: ")
        || line.starts_with("Done ")
}

fn figures(target: &str, lines: &[String], seconds: u64, crashed: bool) -> Fuzzed {
    let word_after = |line: &str, word: &str| -> Option<u64> {
        line.split_whitespace().skip_while(|w| *w != word).nth(1)?.parse().ok()
    };
    let last = |word: &str| lines.iter().rev().find_map(|line| word_after(line, word)).unwrap_or(0);
    Fuzzed {
        target: target.to_owned(),
        runs: last("stat::number_of_executed_units:"),
        seconds: lines.iter().find_map(|line| word_after(line, "in")).unwrap_or(seconds),
        coverage: last("cov:"),
        crashed,
    }
}

fn table(results: &[Fuzzed]) -> String {
    let mut out = format!(
        "{:12} {:>12} {:>8} {:>10} {:>9}  result\n",
        "target", "runs", "seconds", "runs/s", "edges"
    );
    for r in results {
        let result = if r.crashed { "FINDING" } else { "clean" };
        let rate = r.runs / r.seconds.max(1);
        out.push_str(&format!(
            "{:12} {:>12} {:>8} {rate:>10} {:>9}  {result}\n",
            r.target, r.runs, r.seconds, r.coverage
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(words: &str) -> Result<Options> {
        options(&words.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read() {
        let all = parse("").unwrap();
        assert_eq!(all, Options { targets: vec![], seconds: 60, list: false });
        let some = parse("sse --seconds 5 url").unwrap();
        assert_eq!((some.targets.join(" "), some.seconds), ("sse url".to_owned(), 5));
        assert!(parse("--list").unwrap().list);
        for wrong in ["--second 5", "--seconds", "--seconds soon"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn figures_are_read_from_what_the_fuzzer_prints() {
        let lines = [
            "#2\tINITED cov: 90 ft: 91 corp: 1/1b exec/s: 0 rss: 30Mb",
            "#524288\tpulse  cov: 412 ft: 900 corp: 80/3Kb lim: 4096 exec/s: 87381 rss: 60Mb",
            "Done 800000 runs in 11 second(s)",
            "stat::number_of_executed_units: 800000",
        ]
        .map(str::to_owned);
        let expected = Fuzzed {
            target: "sse".into(),
            runs: 800_000,
            seconds: 11,
            coverage: 412,
            crashed: false,
        };
        assert_eq!(figures("sse", &lines, 10, false), expected);
        assert!(table(&[expected]).contains("800000       11      72727       412  clean"));
    }
}
