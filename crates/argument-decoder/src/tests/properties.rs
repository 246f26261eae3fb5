//! Properties of every text.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::super::{Decoded, Limits, decode, decode_value};
use super::{Schema, open, run, schema};

/// Returns a tool whose schema uses every keyword that the decoder follows.
fn tool() -> Schema {
    schema(json!({"type":"object","properties":{
        "a":{"type":"integer","default":1},"b":{"type":"string"},"c":{"type":"array","items":{"type":"boolean"}},
        "d":{"anyOf":[{"type":"integer"},{"type":"null"},{"$ref":"#"}]},"e":{"enum":["X","y"]},"f":{"type":"number"}}}))
}

fn key() -> impl Strategy<Value = String> {
    prop_oneof!["[a-f]", "\\PC{0,6}"]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_filter("finite", |f| f.is_finite()).prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[0-9.]{1,4}|true|False|\\[1\\]|\\{\\}|x".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

fn object() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((key(), value()), 0..5).prop_map(|entries| entries.into_iter().collect())
}

/// Generates text that is nearly JSON.
fn soup() -> impl Strategy<Value = String> {
    let tokens = prop::sample::select(vec![
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "\"",
        "'",
        "\\",
        "\\u",
        "d83d",
        "//",
        "/*",
        "*/",
        "\n",
        " ",
        "true",
        "None",
        "1",
        "-",
        ".5",
        "e9",
        "a",
        "\"a\"",
        "\"a\":",
        "```",
        "json",
        "\u{feff}",
        "é",
        "\0",
        "null",
        "NaN",
        "\\n",
        "\\d",
        "\"b\":\"x\"",
    ]);
    prop::collection::vec(tokens, 0..24).prop_map(|tokens| tokens.concat())
}

/// Returns whether `part` is `whole` without some of its last members: the content of text
/// truncated between two members.
fn is_front_of(part: &Value, whole: &Value) -> bool {
    let (Some(part), Some(whole)) = (part.as_object(), whole.as_object()) else { return false };
    part.len() <= whole.len() && part.iter().zip(whole).all(|(a, b)| a == b)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_have_an_outcome(bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        let _ = decode(&bytes, &tool(), &Limits::DEFAULT);
    }

    #[test]
    fn near_json_has_an_outcome(text in soup()) {
        let (free, strict) = (run(&text, &open()), run(&text, &tool()));
        // The decoder reads strict JSON like a strict parser.
        if let Ok(Value::Object(expected)) = serde_json::from_str::<Value>(&text) {
            match free {
                Decoded::Ok { value, .. } => prop_assert_eq!(value, Value::Object(expected)),
                Decoded::Repaired { .. } | Decoded::ParseError { .. } => {} // duplicate keys
                other => prop_assert!(false, "{:?}", other),
            }
        }
        if let Decoded::Ok { value, .. } = strict {
            prop_assert!(tool().validator().unwrap().is_valid(&value));
        }
    }

    #[test]
    fn valid_json_is_read_as_serde_reads_it(map in object()) {
        let expected = Value::Object(map);
        for text in [expected.to_string(), serde_json::to_string_pretty(&expected).unwrap()] {
            prop_assert_eq!(run(&text, &open()), Decoded::Ok { value: expected.clone(), warnings: Vec::new() });
        }
    }

    #[test]
    fn what_was_decoded_decodes_to_itself(map in object()) {
        let tool = tool();
        if let Some(value) = run(&Value::Object(map).to_string(), &tool).value() {
            prop_assert!(tool.validator().unwrap().is_valid(value));
            match run(&value.to_string(), &tool) {
                Decoded::Ok { value: again, .. } => prop_assert_eq!(&again, value),
                other => prop_assert!(false, "{:?}", other),
            }
            match decode_value(value.clone(), &tool, &Limits::DEFAULT) {
                Decoded::Ok { value: again, .. } => prop_assert_eq!(&again, value),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn a_prefix_is_never_read_as_something_else(map in object()) {
        let members = map.len();
        let whole = Value::Object(map);
        let text = whole.to_string();
        for (end, _) in text.char_indices().skip(1) {
            let prefix = &text[..end];
            let Some(part) = run(prefix, &open()).value().cloned() else { continue };
            prop_assert!(is_front_of(&part, &whole), "{} of {}", prefix, text);
            // Only after a complete member can the last brace be the only missing part.
            prop_assert!(end + 1 == text.len() || text[end..].starts_with(','), "{} of {}", prefix, text);
            if members <= 1 {
                prop_assert_eq!(&part, &whole);
            }
        }
    }

    #[test]
    fn repairs_undo_the_ways_of_other_languages(map in prop::collection::vec(("[a-z]{1,5}", "[a-z ]{0,8}", any::<bool>()), 1..4)) {
        let expected: Map<String, Value> = map.iter().map(|(key, text, flag)| (key.clone(), json!([text, flag]))).collect();
        let members: Vec<String> = expected.iter().map(|(key, pair)| {
            format!("{key}: ['{}', {},]", pair[0].as_str().unwrap(), if pair[1] == json!(true) { "True" } else { "False" })
        }).collect();
        let text = format!("```python\n{{{}, }}\n```", members.join(", // next\n"));
        let decoded = run(&text, &open());
        prop_assert_eq!(decoded.value(), Some(&Value::Object(expected)), "{:?}", decoded);
    }
}
