//! `toolcrib sandbox shell` at a terminal: keys reach a shell in the sandbox, which gets the size
//! of the window, and the audit contains the person's commands.

use crate::support::{self, Terminal, TestEnv};

/// Starts a shell in this environment; returns `None` if this host provides no sandbox for
/// programs.
#[expect(clippy::print_stderr, reason = "what is not tried is said aloud")]
fn shell(env: &TestEnv) -> Option<Terminal> {
    let status = support::json(&env.run(&["sandbox", "status", "--json"]).stdout);
    if status[0]["strongest"] != "namespace" {
        eprintln!("NOT TRIED: this host gives no namespaces");
        return None;
    }
    let mut terminal = Terminal::start(env.command(&["sandbox", "shell"]));
    terminal.sees("a shell in the sandbox of programs (level ");
    Some(terminal)
}

#[test]
fn a_person_works_in_the_shell_and_the_audit_knows_it() {
    let env = TestEnv::new();
    env.write("notes.md", "buy oats\n");
    let Some(mut terminal) = shell(&env) else { return };
    // The shell computes the sum: an echo of the keys alone would not show it.
    terminal.types("cat notes.md; echo sum-$((40 + 2)); stty size\r");
    terminal.sees("buy oats");
    terminal.sees("sum-42");
    terminal.sees("24 80");
    terminal.types("echo made > made.txt; ls / | head -n 1\r");
    terminal.types("cat ~/.bashrc /etc/shadow; echo looked-$((1 + 1))\r");
    terminal.sees("looked-2");
    // Ctrl-C ends the program, not the shell. Keys that are typed before the prompt returns are
    // lost, so the test sets a prompt that the typed keys themselves do not show. Bash drops an
    // interrupt that arrives while it starts a program (5.2: 1 of 10), so the keys are pressed
    // repeatedly.
    terminal.types("PS1='re''ady> '\r");
    terminal.sees("ready> ");
    terminal.types("echo begun-$((3 + 3)); sleep 600\r");
    terminal.sees("begun-6");
    terminal.types_until("\u{3}", "ready> ");
    terminal.types("echo alive-$((2 + 2))\r");
    terminal.sees("alive-4");
    terminal.types("exit 7\r");
    assert_eq!(terminal.ends(), 7);
    assert_eq!(env.read("made.txt").as_deref(), Some("made\n"));
    let records =
        support::lines(&env.run(&["audit", "tail", "--json", "-n", "100"]).code(0).stdout);
    let text = records.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n");
    assert!(text.contains("terminal.command"), "{text}");
    for command in ["cat notes.md; echo sum-$((40 + 2)); stty size", "sleep 600", "exit 7"] {
        assert!(text.contains(command), "{command}: {text}");
    }
}

#[test]
fn a_program_in_the_background_does_not_keep_the_shell_open() {
    let env = TestEnv::new();
    let Some(mut terminal) = shell(&env) else { return };
    terminal.types("sleep 600 & echo started-$((1 + 1))\r");
    terminal.sees("started-2");
    // All output of the shell arrives, including its last output before the end.
    terminal.types("seq 1 20000; exit 3\r");
    terminal.sees("19999");
    terminal.sees("20000");
    assert_eq!(terminal.ends(), 3);
}

#[test]
fn a_shell_needs_a_terminal_and_tools_that_are_on() {
    let env = TestEnv::new();
    env.run(&["sandbox", "shell"]).code(2).says(&["a shell needs a terminal", "sandbox exec"]);
    env.run(&["stop-tools"]).code(0);
    let mut terminal = Terminal::start(env.command(&["sandbox", "shell"]));
    terminal.sees("all tools are off");
    assert_eq!(terminal.ends(), 5);
}
