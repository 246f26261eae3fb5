//! Tests of scripts in CPython: the same tools, through the same invoker.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    Answer, ApproverReply, Batch, Decision, DecisionRecord, ErrorType, Invoker as _, Outcome,
};

use crate::tool_chain_support::{Gave, Place, Process, echo, long, risky};

fn yes() -> ApproverReply {
    ApproverReply::Decided { decision: Decision::approve(), by: "ann".into() }
}

fn record(decision: Decision) -> DecisionRecord {
    DecisionRecord { decision, decided_by: "ann".into(), decided_at: 0 }
}

async fn answer(process: &Process, code: &str, level: &str) -> Answer {
    process.answer(process.batch_of(json!({"code": code, "level": level}))).await
}

async fn full(process: &Process, code: &str) -> Gave {
    Gave::of(answer(process, code, "full").await)
}

fn yeses() -> Vec<ApproverReply> {
    std::iter::repeat_with(yes).take(40).collect()
}

fn engine(gave: &Gave) -> String {
    gave.data("/engine").as_str().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn scripts_call_tools_from_all_of_python() {
    let place = Place::new().await;
    let tools = [Arc::new(echo("echo")), Arc::new(long("long", &"word ".repeat(2000)))];
    let process = place.process(&[&tools[0], &tools[1]], yeses(), None).await;
    let code = "import asyncio, statistics\nclass N:\n    def __init__(self, n): self.n = n\ndef numbers():\n    yield from range(1, 4)\nrs = await asyncio.gather(*[echo(n=n) for n in numbers()])\nprint('printed')\nstatistics.mean(r.structured['n'] for r in rs)";
    let gave = full(&process, code).await;
    assert_eq!((gave.value(), tools[0].runs()), (json!(2), 3), "{}", gave.text());
    assert!(engine(&gave).starts_with("CPython "), "{}", engine(&gave));
    assert!(gave.text().starts_with("printed\nValue: 2\n"), "{}", gave.text());
    assert_eq!(gave.trace(), ["echo ok", "echo ok", "echo ok"]);
    let gave =
        full(&process, "r = await tools.long()\nreturn [len(materialize(r)), r.ref[:4]]").await;
    assert_eq!(gave.value(), json!([10_000, "art_"]));
    let gave = full(&process, "search('echo')[0]['name'] + describe('echo')[:9]").await;
    assert_eq!(gave.value(), "echoasync def");
}

#[tokio::test]
async fn what_goes_wrong_is_said_as_in_every_script() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], yeses(), None).await;
    let check = async |code: &str, words: &[&str], trace: &[&str]| {
        let gave = full(&process, code).await;
        assert_eq!(gave.data("/status"), "error", "{code}");
        for words in words {
            assert!(gave.text().contains(words), "{code}: {}", gave.text());
        }
        assert_eq!(gave.trace(), trace, "{code}");
    };
    check("x = 1\nif x\n    pass", &["line 2", "SyntaxError", "^"], &[]).await;
    check("await tools.ecko(n=1)", &["line 1", "Unknown tool: 'ecko'. Did you mean echo?"], &[])
        .await;
    check(
        "x = 1\nawait echo(n='many')",
        &["line 2", "TypeError", "1. echo error"],
        &["echo error"],
    )
    .await;
    check("await echo(n=lambda: 1)", &["echo: n is of the type function"], &[]).await;
    check("await tool_chain(code='1')", &["Recursive tool_chain"], &["tool_chain denied"]).await;
    check(
        "await echo(n=1)\nimport os\nos.kill(os.getpid(), 9)",
        &["did not come to an end"],
        &["echo ok"],
    )
    .await;
    check("import socket\nsocket.create_connection(('127.0.0.1', 9))", &["Error"], &[]).await;
    let gave = full(
        &process,
        "try:\n    for n in range(60): await echo(n=n)\nexcept BaseException:\n    print('caught')",
    )
    .await;
    assert!(gave.text().contains("Chain budget exhausted: max_tool_calls=50"), "{}", gave.text());
    let batch = process.batch_of(
        json!({"code": "await echo(n=1)\nwhile True: pass", "level": "full", "timeout": 1}),
    );
    let gave = Gave::of(process.answer(batch).await);
    assert_eq!(
        (gave.data("/status"), gave.trace()),
        (json!("timeout"), vec!["echo ok".to_owned()])
    );
}

#[tokio::test]
async fn what_the_interpreter_lacks_runs_in_all_of_python_if_nothing_was_called_before() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], yeses(), None).await;
    let auto = async |code: &str| Gave::of(answer(&process, code, "auto").await);
    let gave = auto("1 + 1").await;
    assert!(engine(&gave).starts_with("monty "), "{}", engine(&gave));
    let gave =
        auto("import statistics\nr = await echo(n=4)\nstatistics.mean([r.structured['n'], 2])")
            .await;
    assert_eq!((gave.value(), engine(&gave).starts_with("CPython ")), (json!(3), true));
    let gave = auto("await echo(n=1)\nimport statistics").await;
    assert!(
        engine(&gave).starts_with("monty ") && gave.text().contains("level \"full\""),
        "{}",
        gave.text()
    );
    assert_eq!(gave.trace(), ["echo ok"]);
}

#[tokio::test]
async fn running_all_of_python_is_asked_about_and_can_be_switched_off() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], Vec::new(), None).await;
    for level in ["full", "auto"] {
        let Answer::Suspended(request) = answer(&process, "1", level).await else { panic!() };
        assert_eq!(
            (request.operation.as_str(), request.tool.as_str()),
            ("tool_chain.full", "tool_chain")
        );
    }
    let mut place = Place::new().await;
    place.world.setup.full = false;
    let process = place.process(&[&echo], yeses(), None).await;
    let outcome: Box<Outcome> = match answer(&process, "1", "full").await {
        Answer::Done(outcome) => outcome,
        Answer::Suspended(request) => panic!("{request:?}"),
    };
    assert_eq!(outcome.error_type(), Some(ErrorType::ValidationError));
    let gave = Gave::of(answer(&process, "import statistics", "auto").await);
    assert!(engine(&gave).starts_with("monty "), "{}", gave.text());
}

/// It cannot be suspended: the call waits, the decision comes from elsewhere, and nothing runs
/// twice.
#[tokio::test]
async fn a_script_in_python_waits_for_a_person_where_it_is() {
    for decision in [Decision::approve(), Decision::Deny { note: None }] {
        let place = Place::new().await;
        let (echo, send) = (Arc::new(echo("echo")), Arc::new(risky("send")));
        let process = place.process(&[&echo, &send], vec![yes()], None).await;
        let code = "first = await echo(n=1)\ntry:\n    r = (await send(n=2)).text\nexcept PermissionError as error:\n    r = 'no'\n[first.text, r]";
        let decides = async {
            loop {
                let pending = process.engine.approvals().pending().await.unwrap();
                if let Some(request) = pending.into_iter().find(|one| one.tool.as_str() == "send") {
                    return process.engine.decide(request.id, record(decision.clone())).await;
                }
                tokio::task::yield_now().await;
            }
        };
        let (answer, decided) = tokio::join!(answer(&process, code, "full"), decides);
        let gave = Gave::of(answer);
        let approved = decision == Decision::approve();
        let (text, status) = if approved { ("n is 2", "send ok") } else { ("no", "send denied") };
        assert_eq!(gave.value(), json!(["n is 1", text]), "{}", gave.text());
        assert_eq!(gave.trace(), ["echo ok", status]);
        assert_eq!((echo.runs(), send.runs()), (1, u32::from(approved).try_into().unwrap()));
        // The caller that decided receives the outcome of the script.
        let theirs: Value = Gave::of(decided.unwrap().unwrap()).value();
        assert_eq!(theirs, gave.value());
    }
}

/// Killed while it waited: it runs again, and its calls receive their recorded outcomes.
#[tokio::test]
async fn a_script_in_python_whose_process_died_makes_no_call_twice() {
    let place = Place::new().await;
    let (echo, send) = (Arc::new(echo("echo")), Arc::new(risky("send")));
    let process = place.process(&[&echo, &send], vec![yes()], None).await;
    let code = "a = await echo(n=1)\nb = await send(n=2)\n[a.text, b.text]";
    let (run, batch) = (process.run, process.batch_of(json!({"code": code, "level": "full"})));
    let engine = process.engine.clone();
    // In a separate runtime, which ends without cleanup, like a killed process.
    let mut killed = tokio::runtime::Builder::new_multi_thread();
    let killed = killed.worker_threads(1).enable_all().build().unwrap();
    let at_work = killed.spawn({
        let batch = batch.clone();
        async move { engine.invoke(batch).await }
    });
    let question = loop {
        let pending = process.engine.approvals().pending().await.unwrap();
        if let Some(request) = pending.into_iter().find(|one| one.tool.as_str() == "send") {
            break request.id;
        }
        tokio::task::yield_now().await;
    };
    place.kill(process).await;
    killed.shutdown_background();
    let _ = at_work.await;
    let process = place.process(&[&echo, &send], vec![yes()], Some(run)).await;
    let decided = process.engine.decide(question, record(Decision::approve())).await;
    let gave = Gave::of(decided.unwrap().unwrap());
    assert_eq!(gave.value(), json!(["n is 1", "n is 2"]), "{}", gave.text());
    let again = Gave::of(process.answer(Batch { is_replay: true, ..batch }).await);
    assert_eq!(again.value(), gave.value());
    assert_eq!((echo.runs(), send.runs()), (1, 1));
}

#[tokio::test]
async fn a_call_whose_caller_has_gone_is_not_made() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], yeses(), None).await;
    let code = "import asyncio\ntask = asyncio.create_task(echo(n=1))\nawait asyncio.sleep(0)\ntask.cancel()\n(await echo(n=2)).structured['n']";
    let gave = full(&process, code).await;
    assert_eq!((gave.value(), gave.trace()), (json!(2), vec!["echo ok".to_owned()]));
    // Without calls it waits only for its own clock.
    let code = "import asyncio\ntask = asyncio.create_task(echo(n=1))\nawait asyncio.sleep(0)\ntask.cancel()\nawait asyncio.sleep(0.01)\ntask.cancelled()";
    let gave = full(&process, code).await;
    assert_eq!((gave.value(), gave.trace().len(), echo.runs()), (json!(true), 0, 1));
}

#[tokio::test]
async fn tools_are_called_from_a_loop_that_the_script_made() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], yeses(), None).await;
    let code = "import asyncio\nasync def main(n):\n    a, b = await asyncio.gather(echo(n=n), echo(n=n + 1))\n    return a.structured['n'] + b.structured['n']\nfirst = asyncio.run(main(1))\n[first, asyncio.run(main(2))]";
    let gave = full(&process, code).await;
    assert_eq!((gave.value(), gave.trace().len()), (json!([3, 5]), 4), "{}", gave.text());
}

#[tokio::test]
async fn a_script_that_closes_its_channel_and_goes_on_is_ended_with_its_trace() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], yeses(), None).await;
    let gave =
        full(&process, "await echo(n=1)\nimport os, time\nos.close(3)\ntime.sleep(600)").await;
    assert_eq!((gave.data("/status"), gave.trace()), (json!("error"), vec!["echo ok".to_owned()]));
    assert!(gave.text().contains("did not come to an end"), "{}", gave.text());
}

#[tokio::test]
async fn nothing_is_asked_without_bound() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], yeses(), None).await;
    let check = async |code: &str, words: &str, lines: usize| {
        let gave = full(&process, code).await;
        assert_eq!((gave.data("/status"), gave.trace().len()), (json!("error"), lines), "{code}");
        assert!(gave.text().contains(words), "{code}: {}", gave.text());
    };
    let often = "it asked more than 1000 times";
    check("while True: describe('echo')", often, 0).await;
    let refused = "while True:\n    try: await tool_chain(code='1')\n    except RuntimeError: pass";
    check(refused, "Chain budget exhausted", 100).await;
    let many = "import asyncio\nawait asyncio.gather(*[echo(1, 2, 3) for n in range(1001)])";
    check(many, often, 0).await;
}
