//! Tests of `tool_chain` through the engine: permitted calls, and replies to scripts.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    ApproverReply, Batch, Call, Decision, ErrorType, Invoker as _, Label, Origin, RunLimits,
    RunSpec, ToolError,
};
use toolcrib_testkit::ScriptedTool;

use crate::tool_chain_support::{Gave, Place, echo, long, risky};

#[tokio::test]
async fn scripts_call_tools_and_return_data() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], Vec::new(), None).await;
    let check = async |code: &str, value: Value, calls: usize| {
        let gave = process.script(code).await;
        assert_eq!(gave.value(), value, "{code}: {}", gave.text());
        assert_eq!(gave.trace(), vec!["echo ok"; calls], "{code}");
        assert!(gave.text().contains(&format!("[chain: {calls} tool calls in ")), "{code}");
    };
    check("r = await echo(n=3)\nr.structured['n'] * 2", json!(6), 1).await;
    check("r = await echo(4)\nr.text", json!("n is 4"), 1).await;
    check("r = await tools.echo(n=5)\n[r.text, r.ref]", json!(["n is 5", null]), 1).await;
    check(
        "import asyncio\nrs = await asyncio.gather(*[echo(n=i) for i in range(20)])\nsum(r.structured['n'] for r in rs)",
        json!(190),
        20,
    )
    .await;
    check(
        "async def double(n):\n    r = await echo(n=n)\n    return r.structured['n'] * 2\nawait double(21)",
        json!(42),
        1,
    )
    .await;
    check("f = echo\n(await f(n=1)).text", json!("n is 1"), 1).await;
    check("r = await echo(n='7')\nr.text", json!("n is 7"), 1).await;
    check(
        "return_value = {'a': (await echo(n=1)).structured}\nreturn_value",
        json!({"a": {"n": 1}}),
        1,
    )
    .await;
    check("1 + 1", json!(2), 0).await;
    let printed = process.script("print('before')\nr = await echo(n=1)\nprint(r.text)").await;
    assert!(printed.text().starts_with("before\nn is 1\n"), "{}", printed.text());
}

#[tokio::test]
async fn what_is_wrong_is_said_with_the_line() {
    let place = Place::new().await;
    let (echo, failing) = (
        Arc::new(echo("echo")),
        Arc::new(
            ScriptedTool::new("failing")
                .fails(ToolError::new(ErrorType::NetworkError, "The server is not there.")),
        ),
    );
    let process = place.process(&[&echo, &failing], Vec::new(), None).await;
    let check = async |code: &str, words: &[&str], trace: &[&str]| {
        let gave = process.script(code).await;
        assert_eq!(gave.data("/status"), "error", "{code}");
        assert!(gave.result().is_error);
        for words in words {
            assert!(gave.text().contains(words), "{code}: {}", gave.text());
        }
        assert_eq!(gave.trace(), trace, "{code}");
    };
    check("x = 1\nif x\n    pass", &["line 2", "SyntaxError", "^"], &[]).await;
    check("await ecko(n=1)", &["line 1", "Unknown tool: 'ecko'. Did you mean echo?"], &[]).await;
    check(
        "await tools.ecko(n=1)",
        &["line 1", "AttributeError: Unknown tool: 'ecko'. Did you mean echo?"],
        &[],
    )
    .await;
    check("describe('ecko')", &["Unknown tool: 'ecko'. Did you mean echo?"], &[]).await;
    check("zzz()", &["NameError: name 'zzz' is not defined"], &[]).await;
    check(
        "x = 1\ny = await echo(n='many')",
        &[
            "line 2",
            "y = await echo(n='many')",
            "TypeError",
            "n",
            "Calls that the script made",
            "1. echo error",
        ],
        &["echo error"],
    )
    .await;
    check("await echo()", &["TypeError", "n"], &["echo error"]).await;
    check("await echo(1, 'm', 3)", &["takes 2 positional arguments but 3 were given"], &[]).await;
    check("await echo(n=lambda: 1)", &["TypeError: echo: n is of the type"], &[]).await;
    check(
        "await echo(n=1)\nawait failing()",
        &["line 2", "RuntimeError", "The server is not there.", "1. echo ok", "2. failing error"],
        &["echo ok", "failing error"],
    )
    .await;
    check(
        "await tool_chain(code='1')",
        &["Recursive tool_chain calls are not allowed."],
        &["tool_chain denied"],
    )
    .await;
    check("open('/etc/passwd')", &["PermissionError"], &[]).await;
    let gave = process
        .script("try:\n    await failing()\nexcept RuntimeError as e:\n    x = str(e)\nx")
        .await;
    assert_eq!(gave.value(), "The server is not there.");
    // The model sees the error, although the script continued.
    assert!(gave.text().contains("1. failing error"), "{}", gave.text());
}

#[tokio::test]
async fn tools_are_found_and_shown_inside_the_script() {
    let place = Place::new().await;
    let process = place
        .process(&[&Arc::new(echo("echo")), &Arc::new(echo("lambda"))], Vec::new(), None)
        .await;
    let found = process.script("search('echo')").await;
    assert_eq!(found.data("/value/0/name"), "echo");
    assert_eq!(found.data("/value/0/about"), "A tool for tests.");
    assert_eq!(found.data("/tool_calls"), 0);
    let stub = process.script("describe('echo')").await;
    assert_eq!(
        stub.value(),
        "async def echo(n: int, unit: Literal[\"m\", \"km\"] = None) -> ToolResult:\n    \"\"\"A tool for tests.\n    n: a number\"\"\""
    );
    let renamed = process.script("(await lambda_(n=2)).text").await;
    assert_eq!((renamed.value(), renamed.trace()), (json!("n is 2"), vec!["lambda ok".to_owned()]));
}

#[tokio::test]
async fn the_fifty_first_call_ends_the_script_whatever_it_catches() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], Vec::new(), None).await;
    let code = "i = 0\nwhile True:\n    try:\n        i += 1\n        await echo(n=i)\n    except BaseException:\n        pass";
    let gave = process.script(code).await;
    assert!(gave.text().contains("Chain budget exhausted: max_tool_calls=50"), "{}", gave.text());
    assert_eq!((echo.runs(), gave.data("/tool_calls")), (50, json!(51)));
}

#[tokio::test]
async fn long_results_are_stored_and_passed_on_by_reference() {
    let place = Place::new().await;
    let text = "line\n".repeat(3000);
    let taker = Arc::new(ScriptedTool::new("take").takes(
        json!({"type": "object", "properties": {"data": {"type": "string"}, "deep": {"type": "object"}}}),
    ));
    let process = place.process(&[&Arc::new(long("long", &text)), &taker], Vec::new(), None).await;
    let gave = process
        .script("r = await long()\nawait take(data=r)\nawait take(deep={'a': [r]})\n[len(r.text), r.ref.startswith('art_'), r.structured, len(materialize(r))]")
        .await;
    // The preview and its mark.
    assert_eq!(gave.value(), json!([4097, true, null, text.len()]));
    let seen = taker.seen();
    assert_eq!(seen[0]["data"], text);
    assert_eq!(seen[1]["deep"]["a"][0], text);
    let strange = process.script("materialize('art_00000000000000000000000000000000')").await;
    assert!(
        strange.text().contains("is not a ref of a result of this script"),
        "{}",
        strange.text()
    );
}

#[tokio::test]
async fn calls_share_the_budget_the_labels_and_the_rules_of_their_parent() {
    let place = Place::new().await;
    let (echo, outside) = (
        Arc::new(echo("echo")),
        Arc::new(long("outside", "words").spec(|spec| spec.effect = toolcrib_core::Effect::Read)),
    );
    let process = place.process(&[&echo, &outside], Vec::new(), None).await;
    assert!(process.engine.labels(process.run).unwrap().get(Label::Untrusted).is_none());
    process.script("await outside()").await;
    assert!(process.engine.labels(process.run).unwrap().get(Label::Untrusted).is_some());
    // The chain and its call.
    assert_eq!(process.engine.usage(process.run).unwrap().calls, 2);

    let limits = RunLimits { calls: Some(3), ..RunLimits::default() };
    let run = process.engine.open_run(RunSpec { limits, ..RunSpec::default() }).unwrap();
    let calls = vec![Call::new("run_chain", json!({"code": "for i in range(9): await echo(n=i)"}))];
    let batch = Batch { run: Some(run), ..Batch::new(Origin::Model, calls) };
    let gave = Gave::of(process.answer(batch).await);
    assert!(gave.text().contains("all 3 calls of this run are used"), "{}", gave.text());
    assert_eq!(gave.trace(), ["echo ok", "echo ok", "echo denied"]);
}

#[tokio::test]
async fn a_person_who_is_there_is_asked_inside_the_script() {
    let place = Place::new().await;
    let send = Arc::new(risky("send"));
    let by = |decision| ApproverReply::Decided { decision, by: "ann".into() };
    let asked = vec![by(Decision::approve()), by(Decision::Deny { note: Some("no".into()) })];
    let process = place.process(&[&send], asked, None).await;
    let code = "import asyncio\na = await send(n=1)\ntry:\n    await send(n=2)\nexcept PermissionError as e:\n    b = str(e)\n[a.text, b]";
    let gave = process.script(code).await;
    assert_eq!(
        gave.value(),
        json!([
            "n is 1",
            "Approval denied for tool 'send'. The send action was denied by the user: no. Do not retry it."
        ])
    );
    assert_eq!(gave.trace(), ["send ok", "send denied"]);
    assert_eq!(gave.media(), 0);
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_stopped_and_so_is_a_script() {
    let place = Place::new().await;
    let process = place
        .process(
            &[&Arc::new(ScriptedTool::new("hang").hangs().spec(|spec| {
                (spec.attempts, spec.timeout) = (1, std::time::Duration::from_millis(200));
            }))],
            Vec::new(),
            None,
        )
        .await;
    let gave = process
        .script("try:\n    await hang()\nexcept TimeoutError as e:\n    x = str(e)\nx")
        .await;
    assert_eq!(gave.value(), "Tool 'hang': Tool execution timed out after 0.2s");
    assert_eq!(gave.trace(), ["hang timeout"]);

    let process =
        place.process(&[&Arc::new(ScriptedTool::new("wait").hangs())], Vec::new(), None).await;
    let batch = process.batch_of(json!({"code": "await wait()", "timeout": 1}));
    let gave = Gave::of(process.answer(batch).await);
    assert_eq!(
        (gave.data("/status"), gave.trace()),
        (json!("timeout"), vec!["wait unknown".to_owned()])
    );
}

#[tokio::test]
async fn hostile_scripts_are_stopped_and_their_trace_is_there() {
    let place = Place::new().await;
    let process = place.process(&[&Arc::new(echo("echo"))], Vec::new(), None).await;
    let check = async |code: &str, status: &str, words: &str| {
        let code = format!("await echo(n=1)\n{code}");
        // A script that ends by itself gets enough time for a busy machine.
        let timeout = if status == "timeout" { 1 } else { 60 };
        let batch = process.batch_of(json!({"code": code, "timeout": timeout}));
        let gave = Gave::of(process.answer(batch).await);
        assert_eq!(gave.data("/status"), status, "{code}: {}", gave.text());
        assert!(gave.text().contains(words), "{code}: {}", gave.text());
        assert_eq!(gave.trace(), ["echo ok"], "{code}");
        assert_eq!(process.script("1 + 1").await.value(), 2, "after {code}");
    };
    check("while True: pass", "timeout", "timed out after 1s").await;
    check(
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        "timeout",
        "",
    )
    .await;
    check("2 ** 10 ** 8", "timeout", "").await;
    check("x = []\nwhile True: x.append('a' * 1000000)", "error", "more memory than it may have")
        .await;
    check("def f(): f()\nf()", "error", "RecursionError").await;
    check("while True: print('x' * 1000)", "timeout", "").await;
    check(
        "while True:\n    try: open('x')\n    except BaseException: pass",
        "error",
        "asked too often",
    )
    .await;
    check("while True: search('x')", "error", "asked too often").await;
}
