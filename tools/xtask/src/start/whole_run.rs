//! The last part of the tour: a whole run, several rounds of a model that replays a file, paused
//! twice for a person.

use anyhow::{Context, Result, ensure};

use super::{Tour, indented};
use crate::tree;

/// The script, for people too.
const SCRIPT: &str = "docs/tour.yaml";

/// One command of the run.
struct Part {
    /// What it shows.
    about: &'static str,
    /// The words of the command line; `{{SCRIPT}}` stands for the script.
    args: &'static [&'static str],
    /// The exit code that it must have.
    code: i32,
    /// What it must say, on either stream.
    says: &'static [&'static str],
    /// What files have to be afterwards; `None` = not there.
    files: &'static [(&'static str, Option<&'static str>)],
}

const OLD_LIST: &str = "tour/old-list.md";
const LIST: &str = "tour/shopping.md";
const LIST_TEXT: &str = "# Shopping\n\n- oats\n- apples\n- bread\n";

const PARTS: &[Part] = &[
    Part {
        about: "The loop: a file plays the model, its tools are real. Three calls at once; one that fails and is corrected; a comma too many \
                that is repaired; then a call that needs a person. Here is none, so the run stops where it stands and is kept.",
        args: &[
            "run",
            "--on-ask",
            "fail",
            "--model",
            "scripted:{{SCRIPT}}",
            "Keep my shopping list",
        ],
        code: 6,
        says: &[
            "replays a file",
            "write_file … done",
            "get_current_time … done",
            "edit_file … failed",
            "edit_file … done",
            "file_info … done",
            "delete_file needs approval",
            "toolcrib resume run_",
        ],
        files: &[(LIST, Some(LIST_TEXT)), (OLD_LIST, Some("- last week's list\n"))],
    },
    Part {
        about: "Somebody approves, in another process. The call runs, and the model asks a question of its own.",
        args: &["resume", "--on-ask", "fail", "--approve"],
        code: 6,
        says: &["delete_file … done", "the model asks: When do you go shopping?"],
        files: &[(OLD_LIST, None)],
    },
    Part {
        about: "The answer goes back to the model, which is done.",
        args: &["resume", "--answer", "Saturday"],
        code: 0,
        says: &["Your list is in tour/shopping.md"],
        files: &[(LIST, Some(LIST_TEXT))],
    },
];

impl Tour {
    /// The run, from `number` on.
    pub(super) fn whole_run(&self, number: usize) -> Result<()> {
        println!("\n── {number}. a whole run {}", "─".repeat(79));
        let script = tree::root().join(SCRIPT).display().to_string();
        for part in PARTS {
            let words = |script: &str| -> Vec<String> {
                part.args.iter().map(|word| word.replace("{{SCRIPT}}", script)).collect()
            };
            let shown: Vec<String> = words(SCRIPT).iter().map(|word| quoted(word)).collect();
            println!("\n{}\n\n$ toolcrib {}\n", part.about, shown.join(" "));
            let args = words(&script);
            let args: Vec<&str> = args.iter().map(String::as_str).collect();
            let output = self.toolcrib(&args, "")?;
            let (out, err) =
                (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
            println!("what happened (stderr)\n{}", indented(&err));
            if !out.trim().is_empty() {
                println!("what the model says (stdout)\n{}", indented(&out));
            }
            let code = output.status.code().context("it was killed")?;
            ensure!(code == part.code, "exit code {code}, expected {}", part.code);
            for word in part.says {
                ensure!(out.contains(word) || err.contains(word), "{word:?} is not said");
            }
            for (path, expected) in part.files {
                self.check_file(path, *expected)?;
            }
        }
        println!("checked: what the model was sent in each round, the exit codes, and the files");
        Ok(())
    }
}

/// A word as one types it.
fn quoted(word: &str) -> String {
    if word.contains(' ') { format!("\"{word}\"") } else { word.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_is_there_and_names_what_is_checked() {
        let text = std::fs::read_to_string(tree::root().join(SCRIPT)).unwrap();
        for word in [LIST, OLD_LIST, "ask_user", "When do you go shopping?"] {
            assert!(text.contains(word), "{word}");
        }
    }
}
