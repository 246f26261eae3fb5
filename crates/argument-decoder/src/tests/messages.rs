//! The texts of validation errors.

use serde_json::{Value, json};

use super::{holds, refused, schema};

#[test]
fn each_problem_names_path_expectation_and_cure() {
    let tool = schema(
        json!({"type":"object","additionalProperties":false,"required":["path"],"properties":{
        "path":{"type":"string","description":"Path of the file to read"},
        "mode":{"enum":["text","binary"]},
        "options":{"type":"object","properties":{"limit":{"type":"integer","minimum":1,"maximum":9},"names":{"type":"array","items":{"type":"string"},"minItems":1,"uniqueItems":true}}}}}),
    );
    for (text, parts) in [
        (
            "{}",
            &[
                "path: expected this required parameter (string: Path of the file to read), got nothing. Add it.",
            ][..],
        ),
        (
            r#"{"pth":"x"}"#,
            &[
                "You sent \"pth\"; name it \"path\".",
                "pth: expected only path, mode, options, got an unknown parameter. Did you mean \"path\"?",
            ],
        ),
        (
            r#"{"path":"x","mode":"hex"}"#,
            &[
                "mode: expected one of [\"text\",\"binary\"], got the string \"hex\". Send one of these values exactly.",
            ],
        ),
        (
            r#"{"path":"x","options":{"limit":"many"}}"#,
            &[
                "options.limit: expected integer, got the string \"many\". Send a whole number without quotes.",
            ],
        ),
        (
            r#"{"path":"x","options":{"limit":10}}"#,
            &["options.limit: expected a number of at most 9, got the number 10."],
        ),
        (
            r#"{"path":"x","options":{"limit":0}}"#,
            &["options.limit: expected a number of at least 1, got the number 0."],
        ),
        (
            r#"{"path":"x","options":{"names":[]}}"#,
            &["options.names: expected at least 1 items, got an array []."],
        ),
        (
            r#"{"path":"x","options":{"names":["a",{}]}}"#,
            &["options.names[1]: expected string, got an object {}."],
        ),
        (
            r#"{"path":"x","options":{"names":["a","a"]}}"#,
            &["options.names: expected items that all differ"],
        ),
        (r#"{"path":"x","odd name":1}"#, &["\"odd name\": expected only"]),
    ] {
        let message = refused(text, &tool, parts);
        assert!(
            message.ends_with("Nothing was done. Correct this and call the tool again."),
            "{message}"
        );
    }
}

#[test]
fn alternatives_follow_the_one_that_was_meant() {
    let tool = schema(json!({"type":"object","properties":{
        "when":{"anyOf":[{"type":"string","format":"date"},{"type":"null"}]},
        "what":{"oneOf":[
            {"type":"object","properties":{"kind":{"const":"a"},"n":{"type":"integer"}},"required":["kind","n"]},
            {"type":"object","properties":{"kind":{"const":"b"},"s":{"type":"string"}},"required":["kind","s"]}]}}}));
    refused(
        r#"{"when":"soon"}"#,
        &tool,
        &["when: expected text in the format date, got the string \"soon\". Send a date such as"],
    );
    refused(
        r#"{"when":[1]}"#,
        &tool,
        &["when: expected one of these forms: string; or null; got an array [1]."],
    );
    refused(
        r#"{"what":{"kind":"a","n":"x"}}"#,
        &tool,
        &["what.n: expected integer, got the string \"x\"."],
    );
    refused(r#"{"what":{"kind":"b"}}"#, &tool, &["what.s: expected this required parameter"]);
    refused(
        r#"{"what":{"kind":"c"}}"#,
        &tool,
        &["what: expected one of these forms: what.kind \"a\""],
    );
}

#[test]
fn a_missing_parameter_behind_a_reference_is_described() {
    let tool = schema(json!({"type":"object","properties":{"o":{"$ref":"#/$defs/O"}},
        "$defs":{"O":{"type":"object","properties":{"deep":{"type":"boolean","description":"Whether to descend"}},"required":["deep"]}}}));
    refused(
        r#"{"o":{}}"#,
        &tool,
        &["o.deep: expected this required parameter (boolean: Whether to descend)"],
    );
}

#[test]
fn texts_stay_short() {
    let wide: Value = (0..300)
        .map(|i| {
            (format!("parameter_{i}"), json!({"type":"integer","description":"d".repeat(500)}))
        })
        .collect::<serde_json::Map<_, _>>()
        .into();
    let tool = schema(json!({"type":"object","properties":wide,"additionalProperties":false}));
    let big = "x".repeat(200_000);
    let sent: serde_json::Map<String, Value> =
        (0..300).map(|i| (format!("parameter_{i}"), json!(big[..1_000]))).collect();
    let message =
        refused(&Value::Object(sent).to_string(), &tool, &["more problems", "parameter_0"]);
    assert!(message.lines().count() <= 7, "{message}");
    refused(
        &json!({ "parameter_1": big }).to_string(),
        &tool,
        &["parameter_1: expected integer, got the string \"xxx", "…"],
    );
    let long_name = "é".repeat(20_000);
    refused(&json!({ long_name: 1 }).to_string(), &tool, &["unknown parameter", "…"]);
    let many: Vec<u32> = (0..30_000).collect();
    let list = schema(
        json!({"type":"object","properties":{"l":{"type":"array","items":{"type":"boolean"}}}}),
    );
    refused(
        &json!({ "l": many }).to_string(),
        &list,
        &["l[0]: expected boolean, got the number 0."],
    );
    let options: Vec<String> = (0..1_000).map(|i| format!("option {i}")).collect();
    let choice = schema(json!({"type":"object","properties":{"o":{"enum":options}}}));
    let message = refused(r#"{"o":"x"}"#, &choice, &["o: expected one of [\"option 0\""]);
    holds(&message, &["…"]);
}
