//! Repairs of the text: inputs with one reading, and inputs with none.

use serde_json::json;

use super::super::ChangeKind as K;
use super::{ok, open, refused, repaired, run, unreadable};

#[test]
fn json_as_written() {
    let any = open();
    for text in ["", " ", "\n\t", "{}", " {} ", "\u{a0}"] {
        ok(text, &any, json!({}));
    }
    ok(
        r#"{"a":1,"b":[true,null,-0.5e3],"c":{"d":"x\n\u00e9\ud83d\ude00\/"}}"#,
        &any,
        json!({"a":1,"b":[true,null,-500.0],"c":{"d":"x\n\u{e9}\u{1f600}/"}}),
    );
    ok(
        r#"{"a":18446744073709551615,"b":-9223372036854775808}"#,
        &any,
        json!({"a":u64::MAX,"b":i64::MIN}),
    );
    ok(r#"{"":{"a/b":"//","c":"/* */"}}"#, &any, json!({"":{"a/b":"//","c":"/* */"}}));
}

#[test]
fn surroundings() {
    let any = open();
    let one = json!({"a": 1});
    repaired("\u{feff}{\"a\":1}", &any, one.clone(), &[K::ByteOrderMark]);
    repaired("\u{feff}", &any, json!({}), &[K::ByteOrderMark]);
    repaired("\u{a0}{\"a\":1}\u{2003}", &any, one.clone(), &[K::Whitespace]);
    for text in [
        "```json\n{\"a\":1}\n```",
        "```\n{\"a\":1}\n```\n",
        "~~~json\n{\"a\":1}\n~~~",
        "  ```JSON {\"a\":1}```",
        "````\n{\"a\":1}\n````",
    ] {
        repaired(text, &any, one.clone(), &[K::CodeFence]);
    }
    repaired(
        "```json\n{\"a\":\"```js\\nx\\n```\"}\n```",
        &any,
        json!({"a":"```js\nx\n```"}),
        &[K::CodeFence],
    );
    for text in ["```json\n{\"a\":1}\n```\n```json\n{\"a\":2}\n```", "```json\n```", "``````"] {
        unreadable(text, &["not valid JSON"]);
    }
}

#[test]
fn double_encoding() {
    let any = open();
    let one = json!({"a": "x\"y"});
    let mut text = one.to_string();
    for encodings in 1..=3 {
        text = serde_json::to_string(&text).unwrap();
        repaired(&text, &any, one.clone(), &vec![K::DoubleEncoded; encodings]);
    }
    refused(
        &serde_json::to_string(&text).unwrap(),
        &any,
        &["must be one JSON object", "the string"],
    );
    repaired(r#"'{"a":1}'"#, &any, json!({"a":1}), &[K::SingleQuotes, K::DoubleEncoded]);
    repaired("`{\"a\":1}`", &any, json!({"a":1}), &[K::TemplateLiteral, K::DoubleEncoded]);
    repaired(
        r#""{'a': True}""#,
        &any,
        json!({"a":true}),
        &[K::DoubleEncoded, K::SingleQuotes, K::PythonLiteral],
    );
    unreadable(r#""{\"a\": 12""#, &["of the text inside the JSON string"]);
    for text in [r#""hello""#, r#""""#, r#""null""#, r#""[1]""#] {
        refused(text, &any, &["must be one JSON object"]);
    }
}

#[test]
fn null_and_other_roots() {
    let any = open();
    repaired("null", &any, json!({}), &[K::NullArguments]);
    repaired("None", &any, json!({}), &[K::PythonLiteral, K::NullArguments]);
    for (text, got) in [("[1,2]", "an array"), ("5", "the number 5"), ("true", "the boolean true")]
    {
        refused(text, &any, &["must be one JSON object", got]);
    }
}

#[test]
fn syntax_of_other_languages() {
    let any = open();
    repaired(r#"{"a":1,}"#, &any, json!({"a":1}), &[K::TrailingComma]);
    repaired(r#"{"a":[1,2 , ]}"#, &any, json!({"a":[1,2]}), &[K::TrailingComma]);
    repaired(
        r#"{"a":True,"b":False,"c":None}"#,
        &any,
        json!({"a":true,"b":false,"c":null}),
        &[K::PythonLiteral; 3],
    );
    repaired(r#"{'a': 'x "y" \'z\''}"#, &any, json!({"a":"x \"y\" 'z'"}), &[K::SingleQuotes; 2]);
    repaired(r#"{path: "x", $b_1: 2}"#, &any, json!({"path":"x","$b_1":2}), &[K::UnquotedKey; 2]);
    repaired("{\"a\":1, // note\n /* b */ \"c\":2}", &any, json!({"a":1,"c":2}), &[K::Comment; 2]);
    repaired("{\"a\":1} // done", &any, json!({"a":1}), &[K::Comment]);
    for text in [
        "[1,,2]",
        "{\"a\":[,1]}",
        "{\"a\":[1,,2]}",
        "{\"a\":TRUE}",
        "{\"a\":yes}",
        "{\"a\":1 /* b }",
        "{\"a\":1 / 2}",
        "{a-b:1}",
        "{\"a\"=1}",
        "{\"a\":'it's'}",
        "{\"a\":[1 2]}",
        "{\"a\":\"x\"y\"}",
        "{1:2}",
        "{\"a\":x y}",
        "{\"a\":}",
        "{:1}",
        "}",
        "{\"a\":1]",
        "{\"a\":[1}}",
        "\0{}",
    ] {
        unreadable(text, &["not valid JSON", "line 1, column"]);
    }
}

#[test]
fn more_than_the_object() {
    unreadable(r#"{"a":1}{"b":2}"#, &["a second value", "separate call"]);
    unreadable(r#"{"a":1},{"b":2}"#, &["a second value"]);
    unreadable("let x = {city} in it", &["\"let\""]);
    unreadable(r#"Sure, no parameters: {}"#, &["\"Sure\"", "without any words"]);
}

/// Errors with one reading, by class, each with similar inputs that have two.
#[test]
fn slips_with_one_reading_are_repaired_and_reported() {
    let any = open();
    let one = json!({"a": 1});
    let two = json!({"a": 1, "b": 2});
    let texts = json!({"a": "x"});
    for (text, value, kinds) in [
        // Words around the object.
        (r#"Sure: {"a":1}"#, &one, &[K::SurroundingText][..]),
        (r#"{"a":1} I hope this helps."#, &one, &[K::SurroundingText]),
        ("```json\n{\"a\":1}", &one, &[K::SurroundingText]),
        ("{\"a\":1}\n```", &one, &[K::SurroundingText]),
        ("Here: ```json\n{\"a\":1}\n```", &one, &[K::SurroundingText; 2]),
        (r#"[{"a":1}]"#, &one, &[K::ArrayOfOne]),
        ("{\"a\":1}\n{\"a\":1}", &one, &[K::RepeatedObject]),
        (r#"{"a":1},{"a":1}"#, &one, &[K::RepeatedObject]),
        (r#"{\"a\": \"x\"}"#, &texts, &[K::EscapedQuotes]),
        ("{\n  \\\"a\\\": \\\"x\\\"\n}", &texts, &[K::EscapedQuotes]),
        // Commas, colons and braces.
        (r#"{"a":1},"#, &one, &[K::ExtraComma]),
        (r#"{,"a":1}"#, &one, &[K::ExtraComma]),
        (r#"{"a":1,,"b":2}"#, &two, &[K::ExtraComma]),
        (r#"{"a":1,,}"#, &one, &[K::ExtraComma, K::TrailingComma]),
        (r#"{"a":1 "b":2}"#, &two, &[K::MissingComma]),
        ("{\"a\":1\n\"b\":2}", &two, &[K::MissingComma]),
        (r#"{"a":1"b":2}"#, &two, &[K::MissingComma]),
        (r#"{"a":[{"b":1} {"b":2}]}"#, &json!({"a":[{"b":1},{"b":2}]}), &[K::MissingComma]),
        (r#"{"a" "x"}"#, &texts, &[K::MissingColon]),
        (r#"{"a" 1}"#, &one, &[K::MissingColon]),
        (r#"{"a":1}}"#, &one, &[K::ExtraBrace]),
        (r#""a":1}"#, &one, &[K::MissingBrace]),
        (r#""a": {"b":1}}"#, &json!({"a":{"b":1}}), &[K::MissingBrace]),
        // Syntax of other languages.
        ("{\u{201c}a\u{201d}: \u{201c}x\u{201d}}", &texts, &[K::TypographicQuotes; 2]),
        ("{\"a\": \u{2018}x\u{2019}}", &texts, &[K::TypographicQuotes]),
        ("{\"a\": `x`}", &texts, &[K::TemplateLiteral]),
        (r#"{"a": r"C:\new\x"}"#, &json!({"a": r"C:\new\x"}), &[K::RawString]),
        (r#"dict(a=1, b=2)"#, &two, &[K::PythonDict]),
        (r#"{"a": dict(b=dict())}"#, &json!({"a":{"b":{}}}), &[K::PythonDict; 2]),
        (r#"{"a":1, "b":undefined}"#, &one, &[K::UndefinedRemoved]),
        ("{\"a\":1 # note\n}", &one, &[K::Comment]),
        (r#"{"a":"\x78"}"#, &texts, &[K::HexEscape]),
        // Numbers.
        (r#"{"a":+1}"#, &one, &[K::NumberSyntax]),
        (r#"{"a":1_000}"#, &json!({"a":1000}), &[K::NumberSyntax]),
        (r#"{"a":.5}"#, &json!({"a":0.5}), &[K::NumberSyntax]),
        (r#"{"a":-.5}"#, &json!({"a":-0.5}), &[K::NumberSyntax]),
        (r#"{"a":1e-400}"#, &json!({"a":0.0}), &[K::Underflow]),
    ] {
        repaired(text, &any, value.clone(), kinds);
    }
}

#[test]
fn what_has_two_readings_stays_refused() {
    for text in [
        // Two objects, or text that is not words.
        r#"{"a":1} or {"a":2}"#,
        r#"{"a":1}{"a":1}{"a":1}"#,
        r#"[{"a":1},{"a":1}"#,
        r#"search({"a":1})"#,
        r#"x = {"a":1}"#,
        r#""a" is {"b":1}"#,
        r#"Sure: {"a":"x""#,
        r#"{"a":1}}}"#,
        r#"{"a":1}]"#,
        r#"{"a":1}, "b":2"#,
        r#""a":1"#,
        // A value may be missing between two commas of a list.
        r#"{"a":[1,,2]}"#,
        r#"{"a":[,1]}"#,
        // Two consecutive texts or numbers may be one.
        r#"{"a":["x" "y"]}"#,
        r#"{"a":[1 2]}"#,
        r#"{"a":"x""b":"y"}"#,
        r#"{"a":"he said "b" twice"}"#,
        r#"{"a":"he said "b c": d"}"#,
        r#"{a "x"}"#,
        r#"{"a" x}"#,
        "{\"a\": \u{201c}x\u{201c}y\u{201d}}",
        "{\"a\": \u{201c}x}",
        "{\"a\": `x ${y}`}",
        r#"{"a": r"x\"}"#,
        r#"{"a": f"x"}"#,
        r#"{"a": dict([("b", 1)])}"#,
        r#"{"a":[undefined]}"#,
        r#"{"a":"\xe9"}"#,
        r#"{"a":"\x4"}"#,
        r#"{"a":"\d\x41"}"#,
        r#"{"a":1__0}"#,
        r#"{"a":_1}"#,
        r#"{"a":1_}"#,
        r#"{"a":+01}"#,
        r#"{\"a\": "x"}"#,
    ] {
        unreadable(text, &["not valid JSON"]);
    }
}

#[test]
fn a_number_beyond_64_bits_names_its_parameter() {
    for number in [
        "18446744073709551616",
        "-9223372036854775809",
        "123456789012345678901234567890",
        "1e400",
        "-1e400",
    ] {
        let text = format!("{{\"a\":[{{\"id\":{number}}}]}}");
        refused(&text, &open(), &["/a/0/id", number, "as a string"]);
        unreadable(format!("{{\"a\":{number}"), &["not valid JSON"]);
    }
}

/// Each object would be read once more for every object before it.
#[test]
fn many_objects_in_a_row_are_refused_at_once() {
    unreadable(r#"{"a":1}"#.repeat(200_000), &["not valid JSON"]);
    unreadable("{\"a\":1 ".repeat(200_000), &["not valid JSON"]);
}

#[test]
fn control_characters() {
    let any = open();
    repaired("{\"a\":\"x\n\ty\"}", &any, json!({"a":"x\n\ty"}), &[K::ControlCharacter]);
    repaired(
        "{\"a\":\"\u{1b}[0m\r\n\"}",
        &any,
        json!({"a":"\u{1b}[0m\r\n"}),
        &[K::ControlCharacter],
    );
}

#[test]
fn backslashes() {
    let any = open();
    for (text, value) in [
        (r#"{"a":"\d+"}"#, r"\d+"),
        (r#"{"a":"^\w+\.\s*(\S|\-)$"}"#, r"^\w+\.\s*(\S|\-)$"),
        (r#"{"a":"C:\Windows\System32"}"#, r"C:\Windows\System32"),
        (r#"{"a":"say \"\d\""}"#, r#"say "\d""#),
        (r#"{"a":"\d\u"}"#, ""),
    ] {
        if value.is_empty() {
            unreadable(text, &["hexadecimal"]);
        } else {
            repaired(text, &any, json!({ "a": value }), &[K::InvalidEscape]);
        }
    }
    for text in [
        r#"{"a":"C:\Users\new"}"#,
        r#"{"a":"C:\temp\dir"}"#,
        r#"{"a":"\d\n"}"#,
        r#"{"a":"\n\d"}"#,
        r#"{"a":"\\server\share"}"#,
        r#"{"a":"it\'s"}"#,
        r#"{"a":"\0"}"#,
        r#"{"a":"\u00e9\d"}"#,
        r#"{"a":"\/\d"}"#,
        r#"{"a":"\a"}"#,
        r#"{"a":"\1"}"#,
        r#"{"a":"\ "}"#,
        "{\"a\":\"x\\\ny\"}",
        r#"{'a':'\"\d'}"#,
    ] {
        unreadable(text, &["two backslashes"]);
    }
    repaired(
        r#"{'a':'it\'s \d'}"#,
        &any,
        json!({"a": r"it's \d"}),
        &[K::SingleQuotes, K::InvalidEscape, K::SingleQuotes],
    );
}

#[test]
fn numbers_are_never_guessed() {
    for (text, fix) in [
        ("NaN", "finite"),
        ("Infinity", "finite"),
        ("-Infinity", "finite"),
        ("01", "leading zeros"),
        ("-007", "leading zeros"),
        ("5.", "both sides"),
        ("0x1F", "decimal"),
        ("1e", "not a JSON number"),
        ("1.2.3", "not a JSON number"),
        ("12abc", "not a JSON number"),
        ("-", "not a JSON number"),
        ("--1", "not a JSON number"),
        ("1,000", "double quotes"),
        ("2024-01-01", "not a JSON number"),
        ("5m", "not a JSON number"),
    ] {
        unreadable(format!("{{\"a\":{text}}}"), &[fix]);
    }
    ok(r#"{"a":0e-400,"b":5e-324}"#, &open(), json!({"a":0.0,"b":5e-324}));
}

#[test]
fn text_that_was_cut() {
    let any = open();
    for (text, value) in [
        (r#"{"a":"x""#, json!({"a":"x"})),
        ("{\"a\":\"x\"\n", json!({"a":"x"})),
        (r#"{"a": true"#, json!({"a":true})),
        (r#"{"a": null"#, json!({"a":null})),
        (r#"{"a":{"b":"x"}"#, json!({"a":{"b":"x"}})),
        (r#"{"a":{"b":1}"#, json!({"a":{"b":1}})),
        (r#"{"a":["x",1]"#, json!({"a":["x",1]})),
    ] {
        repaired(text, &any, value, &[K::MissingBrace]);
    }
    for text in [
        r#"{"a": 12"#,
        "{\"a\": 12\n",
        r#"{"a": 1."#,
        r#"{"a": -"#,
        r#"{"a":"x"#,
        r#"{"a":"x\"#,
        r#"{"a":"x\u00"#,
        r#"{"a":["x""#,
        r#"{"a":["x","#,
        r#"{"a":"x","#,
        r#"{"a":"x","b"#,
        r#"{"a":"x","b""#,
        r#"{"a":"x","b":"#,
        "{",
        "{ ",
        "[",
        r#"{"a"#,
        r#"{"a""#,
        r#"{"a":"#,
        r#"{"a": tru"#,
        r#"{"a": Non"#,
        r#"{"a":{"b":"x""#,
        r#"{"a":[{"b":"x"}"#,
        r#"{"a":"x" // c"#,
        r#"{"a":"x" /* c */"#,
        r#"{'a':'x"#,
        r#""{\"a\":1}"#,
        "[{\"a\":true",
    ] {
        unreadable(text, &["not valid JSON"]);
    }
}

#[test]
fn duplicate_keys() {
    let any = open();
    repaired(r#"{"a":1,"b":2,"a":1}"#, &any, json!({"a":1,"b":2}), &[K::DuplicateKey]);
    repaired(r#"{"a":{"x":[1]},"a":{"x":[1]}}"#, &any, json!({"a":{"x":[1]}}), &[K::DuplicateKey]);
    unreadable(r#"{"path":"a.txt","path":"b.txt"}"#, &["\"path\" twice", "\"a.txt\"", "\"b.txt\""]);
    unreadable(r#"{"o":{"n":1,"n":1.0}}"#, &["\"n\" twice"]);
    unreadable(r#"{"a":"1","\u0061":1}"#, &["\"a\" twice"]);
    let long = "y".repeat(100_000);
    unreadable(format!("{{\"a\":\"{long}\",\"a\":1}}"), &["…"]);
}

#[test]
fn encodings_that_are_not_utf8() {
    unreadable(b"{\"a\":\"\xff\"}", &["0xFF", "byte 6"]);
    unreadable(b"{\"a\":\"\xc3\"}", &["UTF-8"]);
    unreadable(b"\xff\xfe{\0}\0", &["UTF-16"]);
    unreadable(b"\xfe\xff\0{\0}", &["UTF-16"]);
    unreadable(b"{\0}\0", &["U+0000"]);
    for text in [
        r#"{"a":"\ud800"}"#,
        r#"{"a":"\udc00"}"#,
        r#"{"a":"\ud800\u0041"}"#,
        r#"{"a":"\ud800x"}"#,
        "{\"a\":\"\\ud83d\\ud83d\"}",
    ] {
        unreadable(text, &["surrogate"]);
    }
    for text in [r#"{"a":"\u12"}"#, r#"{"a":"\u12G4"}"#, r#"{"a":"\u+123"}"#] {
        unreadable(text, &["hexadecimal"]);
    }
}

#[test]
fn places_and_paths_are_named() {
    unreadable("{\n  \"a\": 1,\n  \"b\": oops\n}", &["line 3, column 8", "byte 19", "\"oops\""]);
    unreadable("  \u{e9}", &["column 3 (byte 2)"]);
    let decoded = run(r#"{"a":[{"x/y":'z'}],}"#, &open());
    let super::Decoded::Repaired { changes, .. } = decoded else { panic!("{decoded:?}") };
    assert_eq!(changes[0].path, "/a/0/x~1y");
    assert_eq!(changes[1].path, "");
}

#[test]
fn the_wire_form() {
    let shown = |text: &str| serde_json::to_value(run(text, &open())).unwrap();
    assert_eq!(shown("{\"a\":1}"), json!({"outcome":"ok","value":{"a":1}}));
    assert_eq!(shown("{\"a\":1,}")["changes"][0]["kind"], "trailing_comma");
    assert_eq!(shown("{\"a\":1,}")["outcome"], "repaired");
    assert_eq!(shown("[]")["outcome"], "validation_error");
    assert_eq!(shown("{")["outcome"], "parse_error");
    assert!(shown("{")["error"].is_string());
}
