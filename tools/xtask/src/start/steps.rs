//! The answers that the tour feeds in, and what has to come of them.

/// One answer of a model.
pub(super) struct Step {
    /// Its format, as `--format` takes it.
    pub(super) format: &'static str,
    /// What it is there to show.
    pub(super) about: &'static str,
    /// The file it comes from.
    pub(super) file: &'static str,
    /// The response body; `{{PORT}}` stands for the port of the local server.
    pub(super) body: &'static str,
    /// What each call has to come to, in the order of the calls.
    pub(super) results: &'static [Expect],
    /// What files have to be afterwards; `None` = not there.
    pub(super) files: &'static [(&'static str, Option<&'static str>)],
}

impl Step {
    /// What the model asks for, one call a line.
    pub(super) fn asks(&self) -> String {
        self.results.iter().map(|expect| expect.asks).collect::<Vec<_>>().join("\n")
    }

    /// What was made sure of, in words.
    pub(super) fn checked(&self) -> String {
        let files: Vec<&str> = self.files.iter().map(|(path, _)| *path).collect();
        let on_disk = if files.is_empty() {
            String::new()
        } else {
            format!("; on disk: {}", files.join(", "))
        };
        format!(
            "one result for each of {} calls, in order, each as expected{on_disk}",
            self.results.len()
        )
    }
}

/// What has to come of one call.
pub(super) struct Expect {
    /// Its id.
    pub(super) id: &'static str,
    /// What the model asks for, in short.
    pub(super) asks: &'static str,
    /// The type of its error; `None` = success.
    error: Option<&'static str>,
    /// Words that its result has.
    pub(super) words: &'static str,
}

impl Expect {
    /// How the wire form begins.
    pub(super) fn status(&self) -> String {
        match self.error {
            None => "\"status\":\"success\"".to_owned(),
            Some(error) => format!("\"status\":\"error\",\"error_type\":\"{error}\""),
        }
    }
}

const fn ok(id: &'static str, asks: &'static str, words: &'static str) -> Expect {
    Expect { id, asks, error: None, words }
}

const fn refused(
    id: &'static str,
    asks: &'static str,
    error: &'static str,
    words: &'static str,
) -> Expect {
    Expect { id, asks, error: Some(error), words }
}

/// What the first step writes, and `undo` brings back.
pub(super) const PLAN: &str = "# Plan\n\n1. buy oats\n2. water the plants\n";

/// The tour.
pub(super) const STEPS: &[Step] = &[
    Step {
        format: "openai-chat",
        about: "Three calls at once. The arguments of the first have a trailing comma, which has one reading and is repaired.",
        file: "tools/xtask/tour/openai-chat.json",
        body: include_str!("../../tour/openai-chat.json"),
        results: &[
            ok("call_write", "write_file plan.md", "plan.md"),
            ok("call_read", "read_file notes.md", "water the plants"),
            ok("call_http", "http_request GET /status.json of the local server", "green"),
        ],
        files: &[("plan.md", Some(PLAN))],
    },
    Step {
        format: "openai-responses",
        about: "A recorded stream: the arguments arrive in pieces, and nothing runs before the end of the answer was seen.",
        file: "tools/xtask/tour/openai-responses.sse",
        body: include_str!("../../tour/openai-responses.sse"),
        results: &[
            ok("call_edit", "edit_file hello.py", "hello.py"),
            ok("call_find", "find_files **/*.csv", "data/prices.csv"),
            ok("call_time", "get_current_time in Lisbon", "20"),
        ],
        files: &[("hello.py", Some("print(\"Good morning, world\")\n"))],
    },
    Step {
        format: "anthropic",
        about: "A page with orders to the model and a forged control token in it, an address that no tool may reach, and a name that no tool has.",
        file: "tools/xtask/tour/anthropic.json",
        body: include_str!("../../tour/anthropic.json"),
        results: &[
            ok("toolu_page", "fetch_url /page.html of the local server", "\"neutralised\""),
            refused(
                "toolu_metadata",
                "fetch_url http://169.254.169.254/ (where clouds keep credentials)",
                "policy_denied",
                "169.254.169.254",
            ),
            refused("toolu_unknown", "read_fil notes.md", "tool_not_found", "read_file"),
        ],
        files: &[],
    },
    Step {
        format: "gemini",
        about: "Deleting asks under the default preset, and here is nobody to ask. A path that leaves the workspace is refused. Writing inside runs.",
        file: "tools/xtask/tour/gemini.json",
        body: include_str!("../../tour/gemini.json"),
        results: &[
            refused("fc-delete", "delete_file old.log", "approval_denied", ""),
            refused("fc-outside", "read_file ../outside.txt", "path_not_allowed", ""),
            ok("fc-write", "write_file lists/shopping.md", "lists/shopping.md"),
        ],
        files: &[
            ("old.log", Some("nothing happened\n")),
            ("lists/shopping.md", Some("- oats\n- apples\n")),
        ],
    },
    Step {
        format: "text",
        about: "A model without function calling: its calls stand in its text.",
        file: "tools/xtask/tour/text.txt",
        body: include_str!("../../tour/text.txt"),
        results: &[
            ok("1", "write_file plan.md", "plan.md"),
            ok("2", "file_info hello.py", "hello.py"),
        ],
        files: &[("plan.md", Some("# Plan\n\nNothing to do today.\n"))],
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn bodies_that_are_json_stay_json_with_a_port() {
        for step in STEPS.iter().filter(|step| step.file.ends_with(".json")) {
            let body = step.body.replace("{{PORT}}", "8080");
            assert!(serde_json::from_str::<Value>(&body).is_ok(), "{}", step.file);
            for expect in step.results {
                assert!(body.contains(&format!("\"{}\"", expect.id)), "{}", expect.id);
            }
        }
    }

    #[test]
    fn every_file_of_the_recorded_stream_is_an_event() {
        let step = STEPS.iter().find(|step| step.file.ends_with(".sse")).unwrap();
        for event in step.body.trim_end().split("\n\n") {
            let data = event.lines().nth(1).and_then(|line| line.strip_prefix("data: ")).unwrap();
            let value: Value = serde_json::from_str(data).unwrap();
            assert_eq!(
                format!("event: {}", value["type"].as_str().unwrap()),
                event.lines().next().unwrap()
            );
        }
    }
}
