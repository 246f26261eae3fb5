//! The end of the tour: a daemon on what the tour has left, with something that waits for a decision, and lines to try on it.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Tour;
use crate::served::Served;
use crate::{process, tree};

/// A line to try, and what its answer holds.
struct Try {
    about: &'static str,
    line: &'static str,
    says: &'static str,
}

const HEADERS: &str = "-H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json'";

/// `$URL` and `$TOKEN` are set before, `HEADERS` stands for what every request sends.
const TRIES: &[Try] = &[
    Try {
        about: "a tool by name, through the same door",
        line: "curl -s $URL/api/v1/calls HEADERS -d '{\"tool\": \"read_file\", \"arguments\": {\"path\": \"notes.md\"}}'",
        says: "water the plants",
    },
    Try {
        about: "a whole run in one request: it stops where somebody has to decide",
        line: "curl -s $URL/api/v1/runs HEADERS -d '{\"text\": \"Keep my shopping list\", \"wait\": true}'",
        says: "paused",
    },
    Try {
        about: "what waits for you",
        line: "curl -s $URL/api/v1/approvals HEADERS",
        says: "delete_file",
    },
    Try {
        about: "what the tour has called",
        line: "curl -s \"$URL/api/v1/calls?limit=3\" HEADERS",
        says: "items",
    },
    Try {
        about: "everything off, at once, for every process",
        line: "curl -s -X PUT $URL/api/v1/kill-switch HEADERS -d '{\"reason\": \"trying it\"}'",
        says: "trying it",
    },
    Try {
        about: "and on again",
        line: "curl -s -X DELETE $URL/api/v1/kill-switch HEADERS",
        says: "",
    },
];

impl Tour {
    /// Starts the daemon, runs every line that it prints, and leaves it to people; with `check` it ends there.
    pub(super) fn serve(&self, listen: Option<&str>, check: bool) -> Result<()> {
        let script = tree::root().join("docs/tour.yaml").display().to_string();
        let model = format!("scripted:{script}");
        let listen = listen.unwrap_or("127.0.0.1:0");
        let args = ["--model", &model, "--listen", listen];
        let home = self.folder.path.join("state");
        let served = Served::start(&self.binary, &home, &self.folder.workspace(), &args)?;
        println!("\n── the daemon {}\n", "─".repeat(82));
        println!("    URL={}\n    TOKEN={}\n", served.url, served.token);
        for one in TRIES {
            let line = one.line.replace("HEADERS", HEADERS);
            println!("    # {}\n    {line}\n", one.about);
            let answer = process::output(
                Command::new("sh")
                    .args(["-c", &line])
                    .env("URL", &served.url)
                    .env("TOKEN", &served.token),
            )
            .with_context(|| format!("trying: {line}"))?;
            ensure!(answer.contains(one.says), "{line}\nanswers without {:?}:\n{answer}", one.says);
        }
        println!("checked: every line above was run just now, and answers as it should");
        println!("documents   {}/docs, {}/openapi.json", served.url, served.url);
        if check {
            return Ok(());
        }
        println!("\nIt goes on until you press Ctrl-C.");
        served.wait()
    }
}
