//! The end of the tour: a daemon on what the tour has left, and the lines of the README to try on
//! it, each of which is run first.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Tour;
use crate::served::Served;
use crate::{process, tree};

/// What the lines of the README begin with that ask a daemon.
const ASKS: &str = "curl -s ";

/// Makes an answer that is none a failure, and leaves the line as it is printed.
const STRICT: &str = "curl() { command curl --fail-with-body \"$@\"; }\n";

impl Tour {
    /// Starts the daemon, runs every line that it prints, and leaves it to people; with `check` it
    /// ends there.
    pub(super) fn serve(&self, listen: Option<&str>, check: bool) -> Result<()> {
        let model = format!("scripted:{}", tree::root().join("docs/tour.yaml").display());
        let args = ["--model", &model, "--listen", listen.unwrap_or("127.0.0.1:0")];
        let home = self.folder.path.join("state");
        let served = Served::start(&self.binary, &home, &self.folder.workspace(), &args)?;
        println!("\n── the daemon {}\n", "─".repeat(82));
        println!("    URL={}\n    TOKEN={}\n", served.url, served.token);
        let lines = lines()?;
        ensure!(lines.len() > 5, "the README has no lines that ask a daemon");
        for line in lines {
            println!("    {line}");
            let answer = process::output(
                Command::new("sh")
                    .args(["-c", &format!("{STRICT}{line}")])
                    .env("URL", &served.url)
                    .env("TOKEN", &served.token),
            );
            let answer = answer.with_context(|| format!("trying: {line}"))?;
            println!("      {}\n", begin(&answer));
        }
        println!("checked: every line above was run just now, and was answered");
        println!("documents: {}/docs and {}/openapi.json", served.url, served.url);
        if check {
            return Ok(());
        }
        println!("\nIt goes on until you press Ctrl-C.");
        served.wait()
    }
}

/// The lines of the README that ask a daemon.
fn lines() -> Result<Vec<String>> {
    let text = fs::read_to_string(tree::root().join("README.md"))?;
    let asks = |line: &&str| line.starts_with(ASKS) && line.contains("$URL");
    Ok(text.lines().filter(asks).map(str::to_owned).collect())
}

/// The first words of an answer.
fn begin(answer: &str) -> String {
    const CHARS: usize = 100;
    let line = answer.lines().next().unwrap_or_default();
    let cut = if line.chars().count() > CHARS { " …" } else { "" };
    format!("{}{cut}", line.chars().take(CHARS).collect::<String>())
}
