//! A test case of a table: its name, the action, and the expected result.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::fixture::FixtureBuilder;

type Done = Box<dyn FnOnce(FixtureBuilder) -> Pin<Box<dyn Future<Output = Value>>> + Send>;

/// A test case; see [`case`].
pub(crate) struct TestCase {
    point: &'static str,
    done: Done,
    expected: Value,
}

/// Creates a test case: `done` starts with a fresh folder and returns the result; [`difference`]
/// compares it with `expected`.
pub(crate) fn case<F>(
    point: &'static str,
    done: impl FnOnce(FixtureBuilder) -> F + Send + 'static,
    expected: Value,
) -> TestCase
where
    F: Future<Output = Value> + 'static,
{
    TestCase { point, done: Box::new(move |start| Box::pin(done(start))), expected }
}

/// Real time after which a test case counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs every test case in a separate runtime, and reports the failed ones.
pub(crate) fn run_cases(rows: Vec<TestCase>) {
    let count = rows.len();
    for row in &rows {
        // An expectation that an empty result satisfies tests nothing.
        let anything = [Value::Null, Value::Object(Map::new())].into_iter();
        let tests =
            anything.map(|nothing| difference(&row.expected, &nothing, "")).all(|f| f.is_some());
        assert!(tests || row.expected.is_null(), "{} expects nothing", row.point);
    }
    let failed: Vec<String> = rows.into_iter().filter_map(|row| row.run().err()).collect();
    assert!(
        failed.is_empty(),
        "{} of {count} rows do not hold:\n{}",
        failed.len(),
        failed.join("\n")
    );
}

impl TestCase {
    fn run(self) -> Result<(), String> {
        let Self { point, done, expected } = self;
        let (send, receive) = mpsc::channel();
        thread::spawn(move || {
            let got = catch_unwind(AssertUnwindSafe(|| on_a_runtime(done)));
            let _ = send.send(got.map_err(|panic| words(&*panic)));
        });
        let got = receive.recv_timeout(PATIENCE).unwrap_or_else(|_| Err("it hangs".to_owned()));
        let got = got.map_err(|fault| format!("- {point}: {fault}"))?;
        match difference(&expected, &got, "") {
            None => Ok(()),
            Some(fault) => Err(format!("- {point}: {fault}\n  whole: {}", shortened(&got))),
        }
    }
}

/// Runs on one thread, so that a test case can pause the clock.
fn on_a_runtime(done: Done) -> Value {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(4)
        .build()
        .unwrap();
    runtime.block_on(async { done(FixtureBuilder::new()).await })
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().cloned();
    text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
        .unwrap_or_else(|| "it broke".to_owned())
}

fn shortened(value: &Value) -> String {
    let text = value.to_string();
    let count = text.chars().count();
    if count <= 2000 {
        return text;
    }
    let (head, tail) = (text.chars().take(1000), text.chars().skip(count - 1000));
    head.chain(" … ".chars()).chain(tail).collect()
}

/// Returns the first difference between `got` and the expected value. Additional members are
/// ignored, unless `null` is expected of them; `…` in a text matches any text; lists are compared
/// item by item; the text `…` matches any present value.
pub(crate) fn difference(expected: &Value, got: &Value, at: &str) -> Option<String> {
    let differs = || Some(format!("{at}: expected {expected}, got {}", shortened(got)));
    match (expected, got) {
        (Value::Object(wanted), Value::Object(found)) => wanted.iter().find_map(|(key, wanted)| {
            difference(wanted, found.get(key).unwrap_or(&Value::Null), &format!("{at}/{key}"))
        }),
        (Value::Array(wanted), Value::Array(found)) if wanted.len() == found.len() => wanted
            .iter()
            .zip(found)
            .enumerate()
            .find_map(|(i, (wanted, found))| difference(wanted, found, &format!("{at}/{i}"))),
        (Value::String(pattern), found) if pattern == "…" && !found.is_null() => None,
        (Value::String(pattern), Value::String(text)) if fits(pattern, text) => None,
        (Value::Number(wanted), Value::Number(found)) if wanted.as_f64() == found.as_f64() => None,
        _ if expected == got => None,
        _ => differs(),
    }
}

fn fits(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('…');
    let Some(mut rest) = parts.next().and_then(|first| text.strip_prefix(first)) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else { return rest.is_empty() };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::difference;
    use serde_json::{Value, json};

    /// A comparison that accepts everything would make every test case worthless.
    #[test]
    fn the_comparison_refuses_what_differs() {
        let check = |expected: Value, got: Value, same: bool| {
            assert_eq!(difference(&expected, &got, "").is_none(), same, "{expected} {got}");
        };
        check(json!({"a": 1}), json!({"a": 1, "b": 2}), true);
        check(json!({"a": 1, "b": null}), json!({"a": 1}), true);
        check(json!({"a": 1, "b": null}), json!({"a": 1, "b": 2}), false);
        check(json!({"a": 1}), json!({}), false);
        check(json!({"a": {}}), json!({"a": []}), false);
        check(json!([1, 2]), json!([1]), false);
        check(json!([1]), json!([1, 2]), false);
        check(json!("File … found"), json!("File not found"), true);
        check(json!("File … found"), json!("File not found: x"), false);
        check(json!("a…b…c"), json!("a-b-b-c"), true);
        check(json!("…"), json!({"any": 1}), true);
        check(json!("…"), Value::Null, false);
        check(json!("a"), json!("ab"), false);
        check(json!(true), json!(false), false);
    }
}
