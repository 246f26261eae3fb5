//! Hostile sizes: linear time, bounded depth, bounded reports.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use serde_json::json;

use super::super::{Decoded, Limits, MAX_CHANGES, decode};
use super::{ok, open, refused, run, schema, unreadable};

#[test]
fn depth() {
    let nested = |levels: usize, open: &str, close: &str| {
        format!("{{\"a\":{}1{}}}", open.repeat(levels), close.repeat(levels))
    };
    assert!(run(&nested(99, "[", "]"), &open()).value().is_some());
    unreadable(nested(100, "[", "]"), &["more than 100 levels"]);
    unreadable(nested(10_000, "[", "]"), &["more than 100 levels"]);
    unreadable(nested(10_000, "{\"a\":", "}"), &["more than 100 levels"]);
    unreadable("[".repeat(1_000_000), &["more than 100 levels"]);
    let limits = Limits { max_depth: usize::MAX, ..Limits::DEFAULT };
    assert!(matches!(
        decode(nested(10_000, "[", "]"), &open(), &limits),
        Decoded::ParseError { .. }
    ));
    // JSON inside a string may be as deep as the limit at its place permits.
    let tool = schema(json!({"type":"object","properties":{"a":{"type":"array"}}}));
    let inside = |levels: usize| {
        json!({ "a": format!("{}{}", "[".repeat(levels), "]".repeat(levels)) }).to_string()
    };
    assert!(run(&inside(98), &tool).value().is_some());
    refused(&inside(5_000), &tool, &["a: expected array"]);
}

#[test]
fn size() {
    let limits = Limits { max_bytes: 10, ..Limits::DEFAULT };
    let Decoded::ParseError { message } = decode(r#"{"a":"0123456789"}"#, &open(), &limits) else {
        panic!()
    };
    assert!(message.contains("18 bytes") && message.contains("at most 10"), "{message}");
    let text = "x".repeat(2_000_000);
    ok(&json!({ "a": text }).to_string(), &open(), json!({ "a": text }));
}

#[test]
fn reports_are_bounded() {
    let text = format!("{{\"a\":[{}]}}", "'x',".repeat(10_000));
    let Decoded::Repaired { changes, .. } = run(&text, &open()) else { panic!() };
    assert_eq!(changes.len(), MAX_CHANGES + 1);
    assert!(
        changes[MAX_CHANGES].note.starts_with("9951 more changes"),
        "{}",
        changes[MAX_CHANGES].note
    );
    let key = "k".repeat(1_000_000);
    let Decoded::Repaired { changes, .. } = run(&format!("{{\"{key}\":'x'}}"), &open()) else {
        panic!()
    };
    assert!(changes[0].path.len() < 100);
}

/// A name, and a function that creates the text of a given size.
type Shape = (&'static str, fn(usize) -> String);

/// Returns the CPU time of the fastest of three runs: a busy machine has no influence.
fn time(text: &str, schema: &super::Schema) -> Duration {
    let once = |_| {
        let start = processor_time();
        std::hint::black_box(run(text, schema));
        processor_time() - start
    };
    (0..3).map(once).min().unwrap()
}

fn processor_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec.cast_unsigned(), now.tv_nsec.try_into().unwrap())
}

#[test]
fn time_is_linear_in_the_text() {
    let tool = schema(json!({"type":"object","properties":{
        "list":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"object","properties":{"n":{"type":"integer","default":1},"m":{"type":"integer"}}}]}},
        "text":{"type":"string"}}}));
    let shapes: [Shape; 16] = [
        ("long string", |n| format!("{{\"text\":\"{}\"}}", "x".repeat(n * 10))),
        ("escapes", |n| format!("{{\"text\":\"{}\"}}", "\\n\\u00e9".repeat(n))),
        ("invalid escapes", |n| format!("{{\"text\":\"{}\"}}", "\\d".repeat(n))),
        ("equal keys", |n| format!("{{{}\"a\":1}}", "\"a\":1,".repeat(n))),
        ("different keys", |n| {
            format!(
                "{{{}}}",
                (0..n).map(|i| format!("\"k{i}\":null")).collect::<Vec<_>>().join(",")
            )
        }),
        ("cut array", |n| format!("{{\"list\":[{}", "1,".repeat(n))),
        ("comments", |n| format!("{{{}\"a\":1}}", "/**/".repeat(n))),
        ("open comments", |n| format!("{{{}", "/*".repeat(n))),
        ("quotes", |n| format!("{{\"text\":{}", "\"".repeat(n))),
        ("fence marks", |n| "`".repeat(n)),
        ("backslashes", |n| format!("{{\"text\":\"{}", "\\".repeat(n))),
        ("encoded backslashes", |n| {
            serde_json::to_string(&format!("{{\"text\":\"{}\"}}", "\\\\".repeat(n))).unwrap()
        }),
        ("line breaks", |n| format!("{}x", "\n".repeat(n))),
        ("digits", |n| format!("{{\"a\":{}}}", "1".repeat(n))),
        ("conversions", |n| format!("{{\"list\":[{}1]}}", "\"1\",".repeat(n))),
        ("objects", |n| format!("{{\"list\":[{}1]}}", "{\"n\":\"1\",\"m\":null},".repeat(n))),
    ];
    for (name, shape) in shapes {
        let (small, large) = (shape(500), shape(5_000));
        // Ten times the text; a quadratic step would take a hundred times as long, on every
        // attempt.
        let is_linear =
            |_| time(&large, &tool) < time(&small, &tool).max(Duration::from_micros(200)) * 30;
        assert!((0..5).any(is_linear), "{name}: {} and {} bytes", small.len(), large.len());
    }
}

#[test]
fn nested_alternatives_cost_no_more_than_the_budget() {
    let mut inner = json!({"type":"integer"});
    for _ in 0..20 {
        inner = json!({"anyOf":[{"type":"array","items":inner},{"type":"object","additionalProperties":{"type":"integer"}},{"type":"boolean"}]});
    }
    let tool = schema(json!({"type":"object","properties":{"a":inner}}));
    let text = format!("{{\"a\":{}\"1\",\"x\"{}}}", "[".repeat(20), "]".repeat(20));
    let start = Instant::now();
    refused(&text, &tool, &["a"]);
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn many_duplicates() {
    let text = format!("{{{}\"a\":1}}", "\"a\":1,".repeat(50_000));
    let Decoded::Repaired { value, changes, .. } = run(&text, &open()) else { panic!() };
    assert_eq!(value, json!({"a":1}));
    assert_eq!(changes.len(), MAX_CHANGES + 1);
}

#[test]
fn defaults_do_not_fill_the_memory() {
    let default = "d".repeat(100_000);
    let tool = schema(
        json!({"type":"object","properties":{"l":{"type":"array","items":{"type":"object","properties":{"x":{"default":default}}}}}}),
    );
    let text = format!("{{\"l\":[{}{{}}]}}", "{},".repeat(5_000));
    let value = run(&text, &tool);
    let filled = value.value().unwrap()["l"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|item| item.get("x").is_some())
        .count();
    assert!((1..2_000).contains(&filled), "{filled}");
}

#[test]
fn the_stack_holds_the_longest_chains_of_schemas() {
    let mut definitions = serde_json::Map::new();
    for link in 0..14 {
        definitions.insert(
            format!("d{link}"),
            json!({"allOf":[{"$ref":format!("#/$defs/d{}", link + 1)}]}),
        );
    }
    definitions.insert(
        "d14".to_owned(),
        json!({"type":"object","properties":{"a":{"$ref":"#/$defs/d0"},"n":{"type":"integer"}}}),
    );
    let tool = schema(json!({"$ref":"#/$defs/d0","$defs":definitions}));
    let nested = |inner: &str| format!("{}{inner}{}", "{\"a\":".repeat(98), "}".repeat(98));
    assert!(run(&nested("{\"n\":\"1\"}"), &tool).value().is_some());
    refused(&nested("{\"n\":\"x\"}"), &tool, &["expected integer"]);
}
