//! Tests of many concurrent scripts in CPython: files, images, and saved chains.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::sync::watch;
use toolcrib_code_mode::{ChainError, SavedChains, check_syntax};
use toolcrib_core::{
    Answer, ApproverReply, Batch, Call, Decision, Invoker as _, Origin, ToolOutput,
};
use toolcrib_testkit::ScriptedTool;

use crate::tool_chain_support::{Gave, Place, Process, echo};

/// Scripts that run at the same time (`FULL_AT_ONCE`).
const PLACES: usize = 4;
/// More than the slots of both levels.
const SCRIPTS: usize = 17;

fn yeses(count: usize) -> Vec<ApproverReply> {
    let yes = || ApproverReply::Decided { decision: Decision::approve(), by: "ann".into() };
    std::iter::repeat_with(yes).take(count).collect()
}

async fn full(process: &Process, code: &str) -> Gave {
    let batch = process.batch_of(json!({"code": code, "level": "full"}));
    Gave::of(process.answer(batch).await)
}

/// Each script waits in a call until all slots are taken. An earlier form of this test never ended.
#[tokio::test]
async fn the_places_of_scripts_in_python_are_bounded_and_all_of_them_end() {
    let place = Place::new().await;
    let (at_work, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (full_house, is_full) = watch::channel(false);
    let full_house = Arc::new(full_house);
    let gate = ScriptedTool::new("gate").takes(json!({"type": "object", "properties": {}}));
    let gate = Arc::new(gate.does({
        let (at_work, most) = (Arc::clone(&at_work), Arc::clone(&most));
        move |_, _| {
            let (at_work, most) = (Arc::clone(&at_work), Arc::clone(&most));
            let (full_house, mut is_full) = (Arc::clone(&full_house), is_full.clone());
            Box::pin(async move {
                let now = at_work.fetch_add(1, Ordering::SeqCst) + 1;
                most.fetch_max(now, Ordering::SeqCst);
                if now >= PLACES {
                    full_house.send_replace(true);
                }
                is_full.wait_for(|full| *full).await.unwrap();
                at_work.fetch_sub(1, Ordering::SeqCst);
                Ok(ToolOutput::text("through"))
            })
        }
    }));
    let process = place.process(&[&gate], yeses(SCRIPTS), None).await;
    let scripts = (0..SCRIPTS).map(|n| {
        let code = format!("r = await gate()\n[r.text, {n}]");
        let (engine, batch) =
            (process.engine.clone(), process.batch_of(json!({"code": code, "level": "full"})));
        tokio::spawn(async move { engine.invoke(batch).await.pop().unwrap() })
    });
    let scripts: Vec<_> = scripts.collect();
    for (n, script) in scripts.into_iter().enumerate() {
        let gave = Gave::of(script.await.unwrap());
        assert_eq!(gave.value(), json!(["through", n]), "{}", gave.text());
    }
    assert_eq!((gate.runs(), most.load(Ordering::SeqCst)), (SCRIPTS, PLACES));
}

#[tokio::test]
async fn files_and_pictures_of_a_script_in_python_come_back() {
    let place = Place::new().await;
    let echo = Arc::new(echo("echo"));
    let process = place.process(&[&echo], yeses(2), None).await;
    let code = "r = await echo(n=1)\nopen('t.csv', 'w').write('a,b')\nopen('p.png', 'wb').write(b'\\x89PNG')\nr.structured['n']";
    let gave = full(&process, code).await;
    assert_eq!((gave.value(), gave.media()), (json!(1), 1), "{}", gave.text());
    let (picture, table) = (gave.data("/files/0"), gave.data("/files/1"));
    assert_eq!((&picture["path"], &table["path"]), (&json!("p.png"), &json!("t.csv")));
    assert_eq!((&table["media_type"], &table["bytes"]), (&json!("text/csv"), &json!(3)));
    assert!(table["artifact"].as_str().unwrap().starts_with("art_"), "{table}");
    assert!(gave.text().contains("File t.csv: 3 bytes, text/csv, stored as art_"));
    let gave = full(&process, "1").await;
    assert_eq!((gave.media(), gave.data("/files")), (0, json!([])));
}

/// Regression: a script whose first lines were valid was saved, regardless of the rest.
#[tokio::test]
async fn the_whole_of_a_script_is_checked_before_it_is_kept() {
    let place = Place::new().await;
    let check = async |code: &str, words: &[&str]| {
        let code = format!("# description: D\n{code}");
        match check_syntax(&place.world.setup, &code).await {
            Ok(()) => assert!(words.is_empty(), "{code} was taken"),
            Err(ChainError::Definition(said)) => {
                assert!(!words.is_empty(), "{code}: {said}");
                for part in words {
                    assert!(said.contains(part), "{code}: {said}");
                }
            }
            Err(error) => panic!("{code}: {error}"),
        }
    };
    check("r = await echo(n=args['n'])\nr.text", &[]).await;
    check("x = 1\nif x\n    pass", &["line 3", "^"]).await;
    check("# level: full\nclass A(dict): pass\nreturn [x async for x in args]", &[]).await;
    check("# level: full\nx = 1\nif x\n    pass", &["line 4", "^", "SyntaxError"]).await;
    check("class A(dict):\n    pass", &["# level: full"]).await;
    check("# level: auto\nclass A(dict):\n    pass", &[]).await;
    check("# level: auto\nif x\n    pass", &["line 3", "^"]).await;
    check("# level: most\n1", &["not one of expression, full, auto"]).await;
    check(&"(".repeat(50_000), &["("]).await;
    // No part of it has run.
    check("# level: full\nimport os\nos._exit(1)", &[]).await;
    check("1 / 0", &[]).await;
}

#[tokio::test]
async fn a_script_that_is_kept_runs_where_it_says() {
    let place = Place::new().await;
    let kept = tempfile::tempdir().unwrap();
    let code = |level: &str| {
        format!(
            "# description: Means.\n# parameters: {{\"n\": {{}}}}\n# level: {level}\nimport statistics\nstatistics.mean([args['n'], 4])"
        )
    };
    for level in ["full", "auto", "expression"] {
        std::fs::write(kept.path().join(format!("mean_{level}.py")), code(level)).unwrap();
    }
    let process = place.process(&[], yeses(2), None).await;
    let source = SavedChains::new("kept", kept.path(), false, &place.world.setup);
    process.engine.catalog().attach(&source).await.unwrap();
    let call = async |tool: &str| {
        let calls = vec![Call::new(tool, json!({"n": 2}))];
        process.answer(Batch { run: Some(process.run), ..Batch::new(Origin::Model, calls) }).await
    };
    for tool in ["mean_full", "mean_auto"] {
        let gave = Gave::of(call(tool).await);
        assert_eq!(gave.value(), json!(3), "{}", gave.text());
        assert!(gave.data("/engine").as_str().unwrap().starts_with("CPython "));
    }
    let gave = Gave::of(call("mean_expression").await);
    assert_eq!(gave.data("/status"), "error");
    // As for `tool_chain` at that level, a person is asked.
    let Answer::Suspended(request) = call("mean_full").await else { panic!("it was not asked") };
    assert_eq!(request.operation.as_str(), "mean_full.full");
}
