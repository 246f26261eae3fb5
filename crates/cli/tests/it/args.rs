//! `toolcrib args`: the decoder of the pipeline, used manually and as a filter.

use serde_json::{Value, json};

use crate::support::{self, TestEnv, feed};

fn env() -> TestEnv {
    let env = TestEnv::new();
    env.write("schema.json", schema().to_string());
    env
}

fn schema() -> Value {
    json!({"type": "object", "required": ["path"], "additionalProperties": false,
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer", "minimum": 1}}})
}

#[test]
fn by_hand() {
    let env = env();
    let args = ["args", "--schema", "schema.json"];
    let rows: [(&str, i32, Option<Value>, &str); 7] = [
        ("{\"path\": \"a\"}", 0, Some(json!({"path": "a"})), ""),
        (
            "{\"path\": \"a\", \"limit\": \"5\",}",
            0,
            Some(json!({"path": "a", "limit": 5})),
            "repaired: ",
        ),
        ("```json\n{'path': 'a', 'limit': None}\n```", 0, Some(json!({"path": "a"})), "repaired: "),
        ("{\"path\": 5.5, \"limit\": 0}", 1, None, "validation error: "),
        ("{\"limit\": 1, \"path\": \"a\"", 0, Some(json!({"path": "a", "limit": 1})), "repaired: "),
        ("{\"path\": \"a", 1, None, "parse error: "),
        ("{\"path\": \"a\", \"limit\": 1", 1, None, "parse error: "),
    ];
    for (raw, code, value, says) in rows {
        let ended = env.feed(&args, raw).code(code);
        let printed = (!ended.stdout.is_empty()).then(|| support::json(&ended.stdout));
        assert_eq!(printed, value, "{raw}");
        assert!(ended.stderr.starts_with(says), "{raw}: {}", ended.stderr);
        assert_eq!(says.is_empty(), ended.stderr.is_empty(), "{raw}: {}", ended.stderr);

        let machine = env.feed(&[&args[..], &["--json"]].concat(), raw).code(code);
        let reply = support::json(&machine.stdout);
        assert_eq!((reply.get("value").cloned(), machine.stderr.as_str()), (value, ""), "{raw}");
        let outcome = match says {
            "" => "ok",
            "repaired: " => "repaired",
            "validation error: " => "validation_error",
            _ => "parse_error",
        };
        assert_eq!(reply["outcome"], outcome, "{raw}");
        assert_eq!(reply.get("error").is_some(), code == 1, "{raw}");
    }
}

#[test]
fn a_schema_that_cannot_be_read() {
    let env = env();
    env.write("broken.json", "{");
    env.write("list.json", "[]");
    for (file, word) in [
        ("nowhere", "nowhere"),
        ("broken.json", "not valid JSON"),
        ("list.json", "must be an object"),
    ] {
        let ended = env.feed(&["args", "--schema", file], "{}").code(2).says(&[file, word]);
        assert_eq!(ended.stdout, "");
    }
    env.run(&["args"]).code(2).says(&["--schema"]);
}

#[test]
fn lines_are_answered_in_order_with_their_ids() {
    let env = env();
    let ids = [json!(1), json!("two"), json!({"three": [3]}), json!(null), json!(5.5)];
    let raws = ["{\"path\":\"a\"}", "{\"path\":\"a\",}", "{}", "{\"path\"", ""];
    let outcomes = ["ok", "repaired", "validation_error", "parse_error", "validation_error"];
    let input: Vec<Value> = (ids.iter().zip(raws))
        .map(|(id, raw)| json!({"id": id, "schema": schema(), "raw": raw}))
        .collect();
    let ended = env.feed(&["args", "--lines"], feed(&input)).code(0);
    let replies = support::lines(&ended.stdout);
    for ((reply, id), outcome) in replies.iter().zip(&ids).zip(outcomes) {
        assert_eq!((&reply["id"], &reply["outcome"]), (id, &json!(outcome)));
    }
    assert_eq!(replies.len(), 5);
}

#[test]
fn bytes_come_as_base64() {
    let env = env();
    let line = |raw: &str| json!({"id": 1, "schema": schema(), "raw_b64": raw});
    // {"path":"é"} with a byte order mark; and with the é in Latin-1, which is not valid UTF-8.
    let rows = [("77u/eyJwYXRoIjoiw6kifQ==", "repaired"), ("eyJwYXRoIjoi6SJ9", "parse_error")];
    for (raw, outcome) in rows {
        let ended = env.feed(&["args", "--lines"], feed(&[line(raw)])).code(0);
        let reply = support::json(&ended.stdout);
        assert_eq!(reply["outcome"], outcome, "{reply}");
    }
    let ended = env.feed(&["args", "--lines"], feed(&[line("?")])).code(2);
    assert!(support::json(&ended.stdout)["error"].as_str().unwrap().contains("raw_b64"));
}

#[test]
fn a_broken_line_does_not_stop_the_filter() {
    let env = env();
    let good = json!({"id": 9, "schema": schema(), "raw": "{\"path\":\"a\"}"}).to_string();
    let broken = [
        ("{", json!(null), "not JSON"),
        ("[1]", json!(null), "not a JSON object"),
        ("\u{1}", json!(null), "not JSON"),
        ("{\"id\": 1}", json!(1), "missing field `schema`"),
        ("{\"id\": 2, \"schema\": {}}", json!(2), "either raw or raw_b64"),
        ("{\"id\": 3, \"schema\": {}, \"raw\": 7}", json!(3), "invalid type"),
        ("{\"id\": 4, \"schema\": {\"type\": 7}, \"raw\": \"{}\"}", json!(4), "schema: "),
    ];
    let text: String = broken.iter().map(|(line, ..)| format!("{line}\n{good}\n\n")).collect();
    let ended = env.feed(&["args", "--lines"], text).code(2);
    let replies = support::lines(&ended.stdout);
    assert_eq!(replies.len(), 2 * broken.len());
    for (pair, (line, id, word)) in replies.chunks(2).zip(&broken) {
        assert_eq!(&pair[0]["id"], id);
        assert!(pair[0]["error"].as_str().unwrap().contains(word), "{line}: {}", pair[0]);
        assert_eq!((&pair[1]["id"], &pair[1]["outcome"]), (&json!(9), &json!("ok")));
    }
}

#[test]
fn an_answer_arrives_before_the_next_line_is_sent() {
    let env = env();
    let mut filter = env.filter(&["args", "--lines"]);
    for n in 0..3 {
        let line = json!({"id": n, "schema": schema(), "raw": format!("{{\"path\": \"{n}\"}}")});
        let reply = filter.ask(&line.to_string());
        assert_eq!(reply, json!({"id": n, "outcome": "ok", "value": {"path": n.to_string()}}));
    }
    assert_eq!(filter.end(), 0);
}
