//! Scripts that call tools (`tool_chain`), with the real tools and in the form that a scripted
//! model sends.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::{self, Server, SlowTool, TestEnv, end, of_type};

/// Returns the result of a script outside of a run.
fn chain(env: &TestEnv, code: &str, more: &[&str]) -> (Value, i32) {
    env.call("tool_chain", &json!({"code": code}), more)
}

#[test]
fn a_script_reads_searches_computes_and_writes() {
    let env = TestEnv::new();
    for n in 1..=12 {
        env.write(&format!("data/{n}.txt"), format!("{}\n", n * n));
    }
    let code = "import asyncio\nfiles = await asyncio.gather(*[read_file(path=f'data/{n}.txt') for n in range(1, 13)])\nprint(files[2].text)\ntotal = sum(int(f.structured['text'] if f.structured and 'text' in f.structured else ''.join(c for c in f.text.splitlines()[0] if c.isdigit())) for f in files)\nawait write_file(path='sum.txt', content=str(total))\ntotal";
    let (answer, exit) = chain(&env, code, &["--policy", "auto"]);
    assert_eq!(exit, 0, "{answer}");
    assert!(env.read("sum.txt").is_some(), "{answer}");
    assert!(answer["result"].as_str().unwrap().contains("[chain: 13 tool calls in"), "{answer}");
}

#[test]
fn http_and_the_shell_are_called_like_the_others() {
    let (env, server) = (TestEnv::new(), Server::start());
    env.run(&["tool", "enable", "execute_shell_command"]).code(0);
    let url = server.url("/page.html");
    let code = format!(
        "page = await fetch_url(url='{url}')\nout = await execute_shell_command(command='echo $((6 * 7))')\n[len(page.text) > 0, out.text]"
    );
    let net = ["--policy", "auto", "--allow-net", &server.target()];
    let (answer, exit) = chain(&env, &code, &net);
    let result = answer["result"].as_str().unwrap();
    assert!(exit == 0 && result.contains("42") && result.contains("true"), "{answer}");
    // The result contains text of the page and of the command.
    assert_eq!(answer["trust"], "external", "{answer}");
}

#[test]
fn what_the_owner_denies_is_denied_in_a_script_too() {
    let env = TestEnv::new();
    env.run(&["rules", "add", "deny", "write_file"]).code(0);
    let code = "try:\n    await write_file(path='x', content='y')\nexcept PermissionError as e:\n    print('no:', e)\nawait read_file(path='notes.md')\n1";
    let (answer, _) = chain(&env, code, &["--policy", "auto"]);
    assert!(env.read("x").is_none(), "{answer}");
    assert!(!answer["result"].as_str().unwrap().contains("write_file ok"), "{answer}");
    // The reverse: no script at all.
    env.run(&["rules", "add", "deny", "run_chain"]).code(0);
    let (answer, exit) = chain(&env, "1", &[]);
    assert_eq!((answer["error_type"].as_str(), exit), (Some("tool_not_available"), 5), "{answer}");
}

/// Returns a script that reads two files and deletes one: another process decides about the
/// deletion.
fn turns() -> String {
    let code = "a = await read_file(path='notes.md')\\nb = await delete_file(path='notes.md')\\nc = await list_dir()\\nprint('all done')";
    format!(
        "  - calls: [{{tool: run_chain, args: {{code: \"{code}\"}}}}]\n  - expect: {{results: [{{tool: tool_chain, outcome: succeeded, contains: all done}}]}}\n    say: Gone.\n"
    )
}

#[test]
fn a_model_chains_tools_and_its_run_waits_for_a_person_in_the_middle() {
    let env = TestEnv::new();
    let events =
        support::lines(&env.play(&turns(), &["--json", "--on-ask", "fail"]).code(6).stdout);
    let paused = of_type(&events, "run-paused");
    let run = paused[0]["run"].as_str().unwrap();
    assert!(
        paused[0]["waiting"].to_string().contains("inside a script, call 2 of at most 50"),
        "{paused:?}"
    );
    assert!(env.read("notes.md").is_some());
    let ended = env.run(&["resume", run, "--approve"]).code(0);
    assert_eq!(ended.stdout, "Gone.\n");
    assert!(env.read("notes.md").is_none());
    // Each of its calls ran once.
    let calls = support::json(&env.run(&["history", "--json"]).code(0).stdout);
    let count =
        |tool: &str| calls.as_array().unwrap().iter().filter(|call| call["tool"] == tool).count();
    for tool in ["tool_chain", "read_file", "delete_file", "list_dir"] {
        assert_eq!(count(tool), 1, "{tool}: {calls}");
    }
}

#[test]
fn a_script_waits_in_the_inbox_and_goes_on_with_the_decision() {
    let env = TestEnv::new();
    let code = "await delete_file(path='notes.md')\nprint('all done')";
    let (answer, exit) = chain(&env, code, &["--on-ask", "fail"]);
    assert_eq!(exit, 6, "{answer}");
    let inbox = support::json(&env.run(&["approve", "list", "--json"]).code(0).stdout);
    let id = inbox[0]["id"].as_str().unwrap_or_else(|| panic!("{inbox}")).to_owned();
    let ended = env.run(&["approve", "yes", &id]).code(0);
    assert!(ended.stdout.contains("all done"), "{ended:#?}");
    assert!(env.read("notes.md").is_none());
}

/// The process is killed while one of its calls runs: the others are not made again, and that one
/// is not repeated.
#[test]
fn a_run_that_was_killed_within_a_script_makes_no_call_twice() {
    let env = TestEnv::new();
    let slow = SlowTool::new(&env);
    let code = "await write_file(path='log.txt', content='once\\\\n', mode='append')\\nx = 'none'\\ntry:\\n    x = (await slow()).text\\nexcept RuntimeError as e:\\n    x = str(e)\\nawait write_file(path='after.txt', content='after')\\nprint(x)";
    let turns = format!(
        "  - calls: [{{tool: tool_chain, args: {{code: \"{code}\"}}}}]\n  - expect: {{results: [{{tool: tool_chain, outcome: succeeded}}]}}\n    say: Over.\n"
    );
    let model = env.script("script", &turns);
    let mut command = env.command(&[
        "run", "--model", &model, "--tools", "mine", "--json", "--policy", "auto", "Do it",
    ]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut first = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
    let run = support::json(&first)["run"].as_str().unwrap().to_owned();
    slow.started();
    child.kill().unwrap();
    child.wait().unwrap();
    let ended = end(env.command(&["resume", &run]), b"").code(0);
    assert_eq!(ended.stdout, "Over.\n", "{ended:#?}");
    assert_eq!((env.read("log.txt").as_deref(), slow.runs()), (Some("once\n"), 1));
    assert_eq!(env.read("after.txt").as_deref(), Some("after"));
}

#[test]
fn a_script_that_is_kept_is_a_tool() {
    let env = TestEnv::new();
    let script = "# description: Count the lines of some files.\n# parameters: {\"paths\": {\"type\": \"array\", \"items\": {\"type\": \"string\"}}}\n# required: [\"paths\"]\nfiles = [await read_file(path=p) for p in args['paths']]\nlen(files)\n";
    env.own("tools/count_lines.py", script);
    env.own("tools/wrong.py", "1\n");
    let (answer, exit) = env.call("count_lines", &json!({"paths": ["notes.md", "notes.md"]}), &[]);
    assert_eq!(exit, 0, "{answer}");
    assert!(answer["result"].as_str().unwrap().starts_with("2\n"), "{answer}");
    let (answer, _) = env.call("count_lines", &json!({}), &[]);
    assert_eq!(answer["error_type"], "validation_error");
    // A script of a workspace asks, regardless of its declarations.
    env.write(".toolcrib/tools/theirs.py", script);
    let (answer, exit) = env.call("theirs", &json!({"paths": []}), &[]);
    assert_eq!((answer["outcome"].as_str(), exit), (Some("denied"), 5), "{answer}");
    let (answer, _) = env.call("wrong", &json!({}), &[]);
    assert!(answer.to_string().contains("# description"), "{answer}");
}

#[test]
fn what_is_wrong_with_a_script_is_said_with_its_line() {
    let env = TestEnv::new();
    let check = |code: &str, words: &[&str], trace: &[&str]| {
        let (answer, _) = chain(&env, code, &[]);
        let result = answer["result"].as_str().unwrap();
        for words in words.iter().chain(trace) {
            assert!(result.contains(words), "{code}: {result}");
        }
        let calls = format!("[chain: {} tool calls in ", trace.len());
        assert!(result.contains(&calls), "{code}: {result}");
    };
    check("x = 1\nif x\n    pass", &["line 2", "    if x\n        ^", "SyntaxError"], &[]);
    check("x = 1\nawait read_fil(path='a')", &["line 2", "Did you mean read_file"], &[]);
    check("await tools.list_dirs()", &["line 1", "Did you mean list_dir"], &[]);
    check(
        "x = 1\nawait read_file(path=['notes.md'], limit='many')",
        &["line 2", "TypeError", "limit"],
        &["1. read_file error"],
    );
    check(
        "await list_dir()\nawait read_file(nonsense=1)",
        &["line 2", "TypeError"],
        &["1. list_dir ok", "2. read_file error"],
    );
    // Its process ends in the middle.
    let bomb = "await list_dir()\nx = []\nwhile True: x.append('a' * 1000000)";
    check(bomb, &["more memory than it may have"], &["1. list_dir ok"]);
}

/// Tools are found by meaning, not only by words.
#[test]
fn a_script_finds_tools_as_find_tools_does() {
    let env = TestEnv::new();
    let code = "[t['name'] for t in search('put text into a document')][:5]";
    let (answer, exit) = chain(&env, code, &[]);
    let found = answer["result"].to_string();
    assert!(exit == 0 && found.contains("write_file"), "{answer}");
    let (answer, exit) = chain(&env, "search('zxqv')", &[]);
    assert_eq!((answer["outcome"].as_str(), exit), (Some("succeeded"), 0), "{answer}");
}
