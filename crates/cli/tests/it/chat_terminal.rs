//! `toolcrib chat` at a terminal: key input and displayed output.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::support::{Terminal, TestEnv};

fn chat(env: &TestEnv, turns: &str, more: &[&str]) -> Terminal {
    let model = env.script("script", turns);
    let mut terminal = Terminal::start(env.command(&[&["chat", "--model", &model], more].concat()));
    terminal.sees("› ");
    terminal
}

/// Presses Ctrl-D at the prompt.
#[track_caller]
fn leave(mut terminal: Terminal) {
    terminal.sees("› ");
    terminal.types("\u{4}");
    assert_eq!(terminal.ends(), 0);
}

const DELETES_TWO: &str = "
  - calls:
      - {tool: delete_file, args: {path: notes.md}}
      - {tool: delete_file, args: {path: more.md}}
  - say: Both were asked for.
";

#[test]
fn a_key_approves_a_call_and_its_line_is_shown() {
    let env = TestEnv::new();
    let turns = "
  - say: I **delete** it.
    calls: [{tool: delete_file, args: {path: notes.md}}]
  - say: It is gone.
";
    let mut terminal = chat(&env, turns, &[]);
    terminal.types("clean up\r");
    terminal.sees("script.yaml (scripted: replays a file)");
    terminal.sees("I **delete** it.");
    terminal.sees("asks to run delete_file: delete notes.md");
    terminal.sees("\"path\": \"notes.md\"");
    terminal.sees("Run it?");
    assert!(env.read("notes.md").is_some());
    terminal.types("y");
    terminal.sees("✓ delete_file notes.md");
    terminal.sees("It is gone.");
    assert_eq!(env.read("notes.md"), None);
    terminal.sees("› ");
    terminal.types("/explain\r");
    terminal.sees("approved by command line");
    leave(terminal);
}

#[test]
fn cards_come_one_by_one_and_what_is_allowed_for_the_run_is_not_asked_again() {
    let env = TestEnv::new();
    env.write("more.md", "x");
    let mut terminal = chat(&env, DELETES_TWO, &[]);
    terminal.types("clean up\r");
    terminal.sees("Run it?");
    terminal.types("r");
    terminal.sees("Both were asked for.");
    assert_eq!(terminal.text().matches("Run it?").count(), 1);
    assert_eq!((env.read("notes.md"), env.read("more.md")), (None, None));
    terminal.sees("› ");
    terminal.types("/exit\r");
    assert_eq!(terminal.ends(), 0);
}

#[test]
fn a_note_goes_to_the_model_and_other_arguments_are_run() {
    let env = TestEnv::new();
    env.write("more.md", "x");
    env.write("third.md", "x");
    let turns = "
  - calls: [{tool: delete_file, args: {path: notes.md}}]
  - expect: {results: [{tool: delete_file, outcome: denied, contains: keep that one}]}
    calls: [{tool: delete_file, args: {path: more.md}}]
  - expect: {results: [{tool: delete_file, outcome: succeeded, contains: third.md}]}
    say: As you like.
";
    let mut terminal = chat(&env, turns, &[]);
    terminal.types("clean up\r");
    terminal.sees("Run it?");
    terminal.types("n");
    terminal.sees("Why?");
    terminal.types("keep that one\r");
    terminal.sees("Run it?");
    terminal.types("e");
    terminal.sees("New arguments as JSON:");
    terminal.types("{\"path\": \"third.md\"}\r");
    terminal.sees("As you like.");
    assert!(env.read("notes.md").is_some() && env.read("more.md").is_some());
    assert_eq!(env.read("third.md"), None);
    leave(terminal);
}

#[test]
fn arguments_are_edited_where_the_person_likes_it() {
    let env = TestEnv::new();
    env.write("more.md", "x");
    let edit =
        "#!/bin/sh\ngrep -q notes.md \"$2\" || exit 1\necho '{\"path\": \"more.md\"}' > \"$2\"\n";
    env.write("edit.sh", edit);
    let turns = "
  - calls: [{tool: delete_file, args: {path: notes.md}}]
  - say: Done.
";
    let model = env.script("script", turns);
    let mut command = env.command(&["chat", "--model", &model]);
    command.env("EDITOR", "sh ./edit.sh --wait").env("PATH", "/usr/bin:/bin");
    let mut terminal = Terminal::start(command);
    terminal.sees("› ");
    terminal.types("clean up\r");
    terminal.sees("Run it?");
    terminal.types("e");
    terminal.sees("✓ delete_file notes.md");
    terminal.sees("Done.");
    assert!(env.read("notes.md").is_some());
    assert_eq!(env.read("more.md"), None);
    leave(terminal);
}

#[test]
fn ctrl_c_stops_the_turn_and_the_next_one_is_answered() {
    let env = TestEnv::new();
    let turns = "
  - {delay_ms: 3000, say: Here I am.}
  - say: Here I am.
";
    // The first turn of the script is used up only if the model was called before the keys arrived.
    let mut terminal = chat(&env, turns, &[]);
    terminal.types("think\r");
    terminal.sees("Thinking…");
    terminal.types("\u{3}");
    terminal.sees("· stopped");
    terminal.sees("› ");
    terminal.types("hello?\r");
    terminal.sees("Here I am.");
    leave(terminal);
}

#[test]
fn ctrl_c_at_a_card_stops_the_turn_and_leaves_the_keyboard_to_the_prompt() {
    let env = TestEnv::new();
    env.write("more.md", "x");
    let mut terminal = chat(&env, &format!("{DELETES_TWO}  - say: I heard you.\n"), &[]);
    terminal.types("clean up\r");
    terminal.sees("Run it?");
    terminal.types("\u{3}");
    terminal.sees("(not asked any more)");
    terminal.sees("stopped");
    terminal.sees("› ");
    terminal.types("yes or no\r");
    terminal.sees("yes or no");
    assert!(env.read("notes.md").is_some() && env.read("more.md").is_some());
    terminal.sees("Both were asked for.");
    terminal.sees("› ");
    terminal.types("\u{3}");
    terminal.sees("Ctrl-C once more leaves");
    terminal.sees("› ");
    terminal.types("\u{3}");
    assert_eq!(terminal.ends(), 130);
}

/// Regression: the reader of a question that had timed out stayed active and swallowed the next
/// line.
#[test]
fn a_question_that_timed_out_takes_no_key_any_more() {
    let env = TestEnv::new();
    let turns = "
  - calls: [{tool: delete_file, args: {path: notes.md}}]
  - expect: {results: [{tool: delete_file, outcome: expired}]}
    say: Nobody decided.
  - expect: {last_user_contains: yes indeed}
    say: Understood.
";
    let mut terminal = chat(&env, turns, &["--on-ask", "wait:1s"]);
    terminal.types("clean up\r");
    terminal.sees("Run it?");
    terminal.sees("(not asked any more)");
    terminal.sees("⊘ delete_file notes.md");
    terminal.sees("Nobody decided.");
    terminal.sees("› ");
    terminal.types("yes indeed\r");
    terminal.sees("Understood.");
    assert!(env.read("notes.md").is_some());
    leave(terminal);
}

#[test]
fn what_is_typed_while_it_works_is_given_to_it_at_the_next_boundary() {
    let env = TestEnv::new();
    let turns = "
  - calls: [{tool: ask_user, args: {question: Which?, options: [red, blue]}}]
  - {delay_ms: 1500, calls: [{tool: get_current_time}]}
  - expect: {last_user_contains: and be quick}
    say: At once.
";
    let mut terminal = chat(&env, turns, &[]);
    terminal.types("go\r");
    terminal.sees("2) blue");
    terminal.sees("Your answer");
    terminal.types("2\r");
    terminal.sees("your answer: blue");
    terminal.sees("Thinking…");
    terminal.types("and be quick\r");
    terminal.sees("is given to it next");
    terminal.sees("At once.");
    leave(terminal);
}

#[test]
fn the_history_is_readable_by_its_owner_alone() {
    let env = TestEnv::new();
    let mut terminal = chat(&env, "\n  - say: Hello.\n", &[]);
    terminal.types("first \\\rsecond\r");
    terminal.sees("Hello.");
    leave(terminal);
    let path = env.outside().join("home/state/history");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&path).unwrap().contains("second"));
    let mut terminal =
        chat(&env, "\n  - expect: {last_user_contains: second}\n    say: Again.\n", &[]);
    terminal.types("\u{1b}[A\r");
    terminal.sees("Again.");
    leave(terminal);
}
