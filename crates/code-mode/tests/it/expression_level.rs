//! Tests of the level `expression`.

use serde_json::json;
use toolcrib_core::ErrorType;

use crate::support::World;

#[tokio::test]
async fn what_a_model_is_shown_of_a_value_of_output_and_of_exceptions() {
    let world = World::new().await;
    let check = async |code: &str, expected: &str, is_error: bool| {
        let said = world.expression(code).await;
        assert_eq!(said.text(), expected, "{code}");
        assert_eq!(said.output().is_error, is_error, "{code}");
        assert_eq!(said.data("/level"), "expression");
        assert_ne!(said.data("/sandbox"), "none");
    };
    check("2349 * 17 / 100", "399.33", false).await;
    check("x = 20\nx + 1", "21", false).await;
    check("'ä' * 2", "'ää'", false).await;
    check("print('a', 1)\n[1, {'b': (2,)}]", "a 1\nValue: [1, {'b': (2,)}]", false).await;
    check("print('a')", "a", false).await;
    check("x = 1", "(The code printed nothing, and its last line has no value.)", false).await;
    check("2 ** 100", "1267650600228229401496703205376", false).await;
    check(
        "print('before')\n1 / 0",
        "before\nTraceback (most recent call last):\n  File \"<code>\", line 2, in <module>\n    1 / 0\n    ~~~~~\nZeroDivisionError: division by zero",
        true,
    )
    .await;
    check(
        "def f(:",
        "Traceback (most recent call last):\n  File \"<code>\", line 1\n    def f(:\n          ~\nSyntaxError: Expected a parameter or the end of the parameter list",
        true,
    )
    .await;
    check(
        "import json, math, re, datetime, collections, itertools, functools, dataclasses, typing, asyncio, base64, binascii, unicodedata",
        "(The code printed nothing, and its last line has no value.)",
        false,
    )
    .await;
}

#[tokio::test]
async fn what_it_lacks_is_said_with_the_way_out() {
    let world = World::new().await;
    let check = async |code: &str, expected: &str| {
        let text = world.expression(code).await.text();
        assert!(text.contains(expected), "{code}: {text}");
        assert!(text.contains("call again with level \"full\""), "{code}: {text}");
    };
    check("class A(B): pass", "does not have class inheritance").await;
    check("def f():\n    yield 1", "does not have yield").await;
    check("x = 1\ndel x", "does not have the 'del' statement").await;
    check("import numpy", "No module named 'numpy'").await;
    check("import math\nmath.foo", "no attribute 'foo'").await;
    check("open('/etc/passwd').read()", "does not have open").await;
    check("import os\nos.environ['HOME']", "does not have os.environ").await;
    check("import datetime\ndatetime.datetime.now()", "does not have datetime.now").await;
    check("bytearray(3)", "name 'bytearray' is not defined").await;
}

#[tokio::test]
async fn each_call_starts_empty() {
    let world = World::new().await;
    assert_eq!(world.expression("x = 1\nx").await.text(), "1");
    assert!(world.expression("x").await.text().ends_with("NameError: name 'x' is not defined"));
}

#[tokio::test]
async fn long_output_and_long_values_are_bounded_and_counted() {
    let world = World::new().await;
    let said = world.expression("for i in range(100000): print('line', i)").await;
    let whole: String = (0..100_000).map(|i| format!("line {i}\n")).collect();
    assert_eq!(world.kept("text/plain"), [whole.into_bytes()]);
    assert!(said.text().starts_with("line 0\n"));
    let said = world.expression("'x' * 1000000").await;
    assert_eq!(said.data("/value/bytes"), 1_000_002);
    assert!(said.text().ends_with("(The first 262144 of 1000002 bytes; print a part of it.)"));
}

#[tokio::test]
async fn twenty_at_once_keep_apart() {
    let world = std::sync::Arc::new(World::new().await);
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..20 {
        let world = std::sync::Arc::clone(&world);
        calls.spawn(async move {
            let said = world.expression(&format!("x = {number}\nx * x")).await;
            assert_eq!(said.text(), (number * number).to_string());
        });
    }
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
}

#[tokio::test]
async fn a_stopped_call_ends_its_code() {
    let world = World::new().await;
    let context = world.context();
    context.cancel.cancel();
    let args = json!({"code": "while True: pass", "level": "expression"});
    let error = world.tool.call(&context, &args).await.unwrap_err();
    assert_eq!(error.error_type, ErrorType::Cancelled);
}

#[tokio::test]
async fn an_executable_that_is_no_worker_is_an_error_that_says_so() {
    let check = async |program: &str, kind| {
        let world = World::with(|setup| setup.worker = program.into()).await;
        assert_eq!(world.expression("1").await.error().0, kind, "{program}");
    };
    check("/bin/true", ErrorType::SandboxError).await;
    check("/bin/cat", ErrorType::SandboxError).await;
    check("/no/such/file", ErrorType::SandboxError).await;
}
