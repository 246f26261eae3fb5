//! Conversions by schema, defaults and warnings.

use serde_json::{Value, json};

use super::super::{ChangeKind as K, Decoded, Limits, decode_value};
use super::{ok, open, refused, repaired, run, schema};

/// Checks a property `v` of the given schema: `sent` becomes `expected`, by this kind of change, or
/// stays valid (no kind), or is rejected (`None`).
#[track_caller]
fn property(of: &Value, sent: Value, expected: Option<(Value, &[K])>) {
    let schema = schema(json!({"type":"object","properties":{"v":of},"required":["v"]}));
    let text = json!({ "v": sent }).to_string();
    match expected {
        Some((value, [])) => ok(&text, &schema, json!({ "v": value })),
        Some((value, kinds)) => repaired(&text, &schema, json!({ "v": value }), kinds),
        None => drop(refused(&text, &schema, &["v"])),
    }
}

#[test]
fn numbers() {
    let integer = json!({"type":"integer"});
    let number = json!({"type":"number"});
    property(&integer, json!("5"), Some((json!(5), &[K::ToNumber])));
    property(&integer, json!(" 5 "), Some((json!(5), &[K::ToNumber])));
    property(&integer, json!("-12"), Some((json!(-12), &[K::ToNumber])));
    property(&integer, json!("9223372036854775807"), Some((json!(i64::MAX), &[K::ToNumber])));
    property(&integer, json!(5.0), Some((json!(5), &[K::ToNumber])));
    property(&integer, json!(-0.0), Some((json!(0), &[K::ToNumber])));
    property(&number, json!("5"), Some((json!(5), &[K::ToNumber])));
    property(&number, json!("5.5"), Some((json!(5.5), &[K::ToNumber])));
    property(&number, json!("5.50"), Some((json!(5.5), &[K::ToNumber])));
    property(&number, json!("-0.25"), Some((json!(-0.25), &[K::ToNumber])));
    property(&number, json!(5.0), Some((json!(5.0), &[])));
    for text in
        ["05", "+5", "5.5", "1e3", "-0", "", "five", "0x5", "5,000", "99999999999999999999", "١"]
    {
        property(&integer, json!(text), None);
    }
    for text in ["1e3", ".5", "5.", "NaN", "1.00000000000000000001", "-0", "0.1234567890123456789"]
    {
        property(&number, json!(text), None);
    }
    for other in [json!(5.5), json!(true), json!(null), json!([5]), json!({"a":5})] {
        property(&integer, other, None);
    }
    // A whole float that is exact stays one where fractions are allowed, and is never rounded.
    property(&integer, json!(1e300), Some((json!(1e300), &[])));
}

#[test]
fn booleans_and_strings() {
    let boolean = json!({"type":"boolean"});
    for (text, value) in [("true", true), ("True", true), ("false", false), ("False", false)] {
        property(&boolean, json!(text), Some((json!(value), &[K::ToBoolean])));
    }
    for other in [json!("yes"), json!("TRUE"), json!(1), json!(0), json!("1"), json!("")] {
        property(&boolean, other, None);
    }
    let string = json!({"type":"string"});
    property(&string, json!(12345), Some((json!("12345"), &[K::ToString])));
    property(&string, json!(-7), Some((json!("-7"), &[K::ToString])));
    property(&string, json!("5"), Some((json!("5"), &[])));
    for other in [json!(5.5), json!(5.0), json!(true), json!(["a"]), json!({"a":1})] {
        property(&string, other, None);
    }
}

#[test]
fn embedded_json_and_lists() {
    let strings = json!({"type":"array","items":{"type":"string"}});
    let integers = json!({"type":"array","items":{"type":"integer"}});
    property(&strings, json!(r#"["a","b"]"#), Some((json!(["a", "b"]), &[K::ParsedString])));
    property(
        &integers,
        json!(r#"["1",2]"#),
        Some((json!([1, 2]), &[K::ParsedString, K::ToNumber])),
    );
    property(&strings, json!("a"), Some((json!(["a"]), &[K::ToArray])));
    property(&integers, json!(7), Some((json!([7]), &[K::ToArray])));
    property(&json!({"type":"array"}), json!(true), Some((json!([true]), &[K::ToArray])));
    for other in ["a,b", "a;b", "a\nb", "", " ", "[a", "['a']", "[\"a\"", "{\"a\":1}"] {
        property(&strings, json!(other), None);
    }
    property(&integers, json!("x"), None);
    property(&strings, json!({"0":"a"}), None);
    property(&strings, json!(null), None);
    let object = json!({"type":"object","properties":{"n":{"type":"integer"}}});
    property(
        &object,
        json!(r#"{"n":"3"}"#),
        Some((json!({"n":3}), &[K::ParsedString, K::ToNumber])),
    );
    for other in ["[1]", "n=3", "{'n':3}", "{\"n\":3", ""] {
        property(&object, json!(other), None);
    }
}

#[test]
fn enums() {
    let case = json!({"type":"string","enum":["GET","POST"]});
    property(&case, json!("get"), Some((json!("GET"), &[K::EnumCase])));
    property(&case, json!("GET"), Some((json!("GET"), &[])));
    property(&case, json!(" GET "), Some((json!("GET"), &[K::EnumCase])));
    property(&case, json!("gets"), None);
    property(&case, json!("G ET"), None);
    property(&json!({"enum":["a","A","b"]}), json!("B"), Some((json!("b"), &[K::EnumCase])));
    property(&json!({"enum":["ab","Ab"]}), json!("AB"), None);
    property(&json!({"enum":[1,2]}), json!("2"), Some((json!(2), &[K::ToNumber])));
    property(&json!({"const":"On"}), json!("on"), Some((json!("On"), &[K::EnumCase])));
    property(
        &json!({"type":"string","enum":["1","2"]}),
        json!(2),
        Some((json!("2"), &[K::ToString])),
    );
}

#[test]
fn with_two_candidates_nothing_is_converted() {
    property(&json!({"type":["integer","array"]}), json!("5"), None);
    property(&json!({"type":["boolean","array"]}), json!("true"), None);
    property(
        &json!({"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]}),
        json!("5"),
        None,
    );
    property(&json!({"type":["integer","string"]}), json!("5"), Some((json!("5"), &[])));
    property(&json!({"type":["integer","boolean"]}), json!("5"), Some((json!(5), &[K::ToNumber])));
    property(&json!({"type":["integer","null"]}), json!("null"), None);
}

#[test]
fn alternatives() {
    let optional = json!({"anyOf":[{"type":"integer"},{"type":"null"}]});
    property(&optional, json!("5"), Some((json!(5), &[K::ToNumber])));
    property(&optional, json!(5.0), Some((json!(5), &[K::ToNumber])));
    property(&optional, json!(null), Some((json!(null), &[])));
    let either = json!({"anyOf":[{"type":"integer"},{"type":"number"}]});
    property(&either, json!("5"), Some((json!(5), &[K::ToNumber])));
    property(&either, json!(5.0), Some((json!(5.0), &[])));
    property(
        &json!({"oneOf":[{"type":"integer"},{"type":"boolean"}]}),
        json!("true"),
        Some((json!(true), &[K::ToBoolean])),
    );
    let tagged = json!({"oneOf":[
        {"type":"object","properties":{"kind":{"const":"a"},"n":{"type":"integer"}},"required":["kind","n"]},
        {"type":"object","properties":{"kind":{"const":"b"},"n":{"type":"string"}},"required":["kind","n"]}]});
    property(
        &tagged,
        json!({"kind":"a","n":"5"}),
        Some((json!({"kind":"a","n":5}), &[K::ToNumber])),
    );
    property(
        &tagged,
        json!({"kind":"b","n":5}),
        Some((json!({"kind":"b","n":"5"}), &[K::ToString])),
    );
    property(&tagged, json!({"kind":"c","n":5}), None);
    let nested = json!({"anyOf":[{"type":"null"},{"anyOf":[{"type":"null"},{"type":"array","items":{"type":"integer"}}]}]});
    property(&nested, json!(["1"]), Some((json!([1]), &[K::ToNumber])));
    let with_null = json!({"anyOf":[{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a"]},{"type":"boolean"}]});
    property(&with_null, json!({"a":"x","b":null}), Some((json!({"a":"x"}), &[K::NullRemoved])));
}

#[test]
fn every_depth_and_reference() {
    let tree = schema(json!({
        "type":"object",
        "properties":{"root":{"$ref":"#/$defs/Node"},"map":{"type":"object","additionalProperties":{"type":"integer"}},
            "pair":{"type":"array","prefixItems":[{"type":"integer"},{"type":"boolean"}]}},
        "$defs":{"Node":{"type":"object","properties":{"n":{"type":"integer"},"next":{"$ref":"#/$defs/Node"},
            "all":{"allOf":[{"$ref":"#/$defs/Int"},{"minimum":2}]}}},"Int":{"$anchor":"int","type":"integer"}}}));
    repaired(
        r#"{"root":{"n":"1","next":{"n":"2","all":"3"}}}"#,
        &tree,
        json!({"root":{"n":1,"next":{"n":2,"all":3}}}),
        &[K::ToNumber; 3],
    );
    repaired(
        r#"{"map":{"x":"1"},"pair":["2","true"]}"#,
        &tree,
        json!({"map":{"x":1},"pair":[2,true]}),
        &[K::ToNumber, K::ToNumber, K::ToBoolean],
    );
    let anchored = schema(
        json!({"type":"object","properties":{"a":{"$ref":"#int"}},"$defs":{"x":{"$anchor":"int","type":"integer"}}}),
    );
    repaired(r#"{"a":"1"}"#, &anchored, json!({"a":1}), &[K::ToNumber]);
    let decoded = run(r#"{"root":{"next":{"n":"2"}}}"#, &tree);
    let Decoded::Repaired { changes, .. } = decoded else { panic!() };
    assert_eq!(changes[0].path, "/root/next/n");
    assert_eq!(changes[0].note, "\"2\" was read as 2");
}

#[test]
fn null_is_absence_where_it_is_no_value() {
    let tool = schema(json!({"type":"object","properties":{
        "path":{"type":"string"},"limit":{"type":"integer","default":10},"note":{"type":["string","null"]},
        "options":{"type":"object","properties":{"deep":{"type":"boolean"}}}},"required":["path"],"additionalProperties":false}));
    repaired(
        r#"{"path":"a","limit":null,"note":null,"options":{"deep":null}}"#,
        &tool,
        json!({"path":"a","note":null,"options":{},"limit":10}),
        &[K::NullRemoved; 2],
    );
    refused(r#"{"path":null}"#, &tool, &["path", "string"]);
    refused(r#"{"path":"a","other":null}"#, &tool, &["other", "unknown parameter"]);
}

#[test]
fn wrappers() {
    let tool = schema(
        json!({"type":"object","properties":{"path":{"type":"string"},"n":{"type":"integer"}},"required":["path"]}),
    );
    for outer in ["arguments", "parameters", "input", "args"] {
        repaired(
            &format!("{{\"{outer}\":{{\"path\":\"a\",\"n\":\"1\"}}}}"),
            &tool,
            json!({"path":"a","n":1}),
            &[K::Unwrapped, K::ToNumber],
        );
    }
    repaired(r#"{"arguments":"{\"path\":\"a\"}"}"#, &tool, json!({"path":"a"}), &[K::Unwrapped]);
    for text in [
        r#"{"arguments":{"path":"a","x":1}}"#,
        r#"{"arguments":{"path":"a"},"n":1}"#,
        r#"{"data":{"path":"a"}}"#,
        r#"{"arguments":"path"}"#,
    ] {
        refused(text, &tool, &["path"]);
    }
    let own = schema(
        json!({"type":"object","properties":{"input":{"type":"object"},"path":{"type":"string"}}}),
    );
    ok(r#"{"input":{"path":"a"}}"#, &own, json!({"input":{"path":"a"}}));
    let free = schema(
        json!({"type":"object","properties":{"path":{}},"additionalProperties":{"type":"object"}}),
    );
    ok(r#"{"input":{"path":"a"}}"#, &free, json!({"input":{"path":"a"}}));
    ok(r#"{"input":{"path":"a"}}"#, &open(), json!({"input":{"path":"a"}}));
    ok(r#"{"input":{}}"#, &open(), json!({"input":{}}));
}

#[test]
fn a_wrapper_that_names_this_call_is_taken_off() {
    let tool = json!({"type":"object","properties":{"path":{"type":"string"}},"required":["path"]});
    let tool = schema(tool).with_name("read_file");
    for text in [
        r#"{"name":"read_file","arguments":{"path":"a"}}"#,
        r#"{"tool":"read_file","input":"{\"path\":\"a\"}"}"#,
        r#"{"type":"function","name":"read_file","parameters":{"path":"a"}}"#,
        r#"{"read_file":{"path":"a"}}"#,
    ] {
        repaired(text, &tool, json!({"path":"a"}), &[K::Unwrapped]);
    }
    for text in [
        r#"{"name":"delete_file","arguments":{"path":"a"}}"#,
        r#"{"delete_file":{"path":"a"}}"#,
        r#"{"name":"read_file","arguments":{"path":"a"},"input":{"path":"b"}}"#,
        r#"{"name":"read_file","arguments":{"other":"a"}}"#,
        r#"{"name":"read_file","arguments":{"path":"a"},"more":1}"#,
    ] {
        refused(text, &tool, &["path"]);
    }
}

#[test]
fn defaults() {
    let tool = schema(json!({"type":"object","properties":{
        "n":{"type":"integer","default":3},"o":{"type":"object","properties":{"d":{"default":[1]}}},
        "list":{"type":"array","items":{"type":"object","properties":{"x":{"default":0}}}}},"required":["n"]}));
    ok("{}", &tool, json!({"n":3}));
    ok(
        r#"{"n":1,"o":{},"list":[{},{"x":2}]}"#,
        &tool,
        json!({"n":1,"o":{"d":[1]},"list":[{"x":0},{"x":2}]}),
    );
    let clashing =
        schema(json!({"type":"object","properties":{"a":{},"b":{"default":1}},"maxProperties":1}));
    ok(r#"{"a":1}"#, &clashing, json!({"a":1}));
    let wrong =
        schema(json!({"type":"object","properties":{"a":{"type":"integer","default":"x"}}}));
    ok("{}", &wrong, json!({}));
}

#[test]
fn unknown_parameters_are_kept_and_warned_of() {
    let tool = schema(
        json!({"type":"object","properties":{"path":{"type":"string"},"file_name":{},"o":{"type":"object","properties":{"deep":{}}}}}),
    );
    let warnings = |text: &str, schema: &_| match run(text, schema) {
        Decoded::Ok { warnings, .. } | Decoded::Repaired { warnings, .. } => warnings,
        other => panic!("{other:?}"),
    };
    ok(r#"{"pth":1}"#, &tool, json!({"pth":1}));
    assert_eq!(
        warnings(r#"{"pth":1}"#, &tool),
        ["unknown parameter \"pth\" was ignored; did you mean \"path\"?"]
    );
    assert_eq!(
        warnings(r#"{"fileName":1}"#, &tool),
        ["unknown parameter \"fileName\" was ignored; did you mean \"file_name\"?"]
    );
    assert_eq!(warnings(r#"{"zzzzzz":1}"#, &tool), ["unknown parameter \"zzzzzz\" was ignored"]);
    assert_eq!(
        warnings(r#"{"o":{"deap":1}}"#, &tool),
        ["unknown parameter \"deap\" in /o was ignored; did you mean \"deep\"?"]
    );
    assert_eq!(warnings(r#"{"path":"x"}"#, &tool), [""; 0]);
    for open in [
        json!({"type":"object"}),
        json!({"type":"object","properties":{"a":{}},"additionalProperties":true}),
        json!({"type":"object","properties":{"a":{}},"patternProperties":{"^x":{}}}),
        json!({"type":"object","anyOf":[{"properties":{"pth":{}}}]}),
    ] {
        assert_eq!(warnings(r#"{"pth":1}"#, &schema(open)), [""; 0]);
    }
    let many: Vec<String> = (0..100).map(|i| format!("\"k{i}\":1")).collect();
    assert_eq!(warnings(&format!("{{{}}}", many.join(",")), &tool).len(), 10);
}

#[test]
fn arguments_sent_as_a_value() {
    let tool = schema(json!({"type":"object","properties":{"n":{"type":"integer"}}}));
    let run = |value: Value| decode_value(value, &tool, &Limits::DEFAULT);
    assert_eq!(run(json!({"n":"5"})).value(), Some(&json!({"n":5})));
    assert_eq!(
        run(json!("{\"n\":5}")),
        Decoded::Ok { value: json!({"n":5}), warnings: Vec::new() }
    );
    assert!(matches!(run(json!(null)), Decoded::Repaired { value, .. } if value == json!({})));
    assert!(matches!(run(json!([1])), Decoded::ValidationError { .. }));
    assert!(matches!(run(json!({"n":"x"})), Decoded::ValidationError { .. }));
    let deep = (0..120).fold(json!(1), |inner, _| json!({ "a": inner }));
    assert!(matches!(run(deep), Decoded::ValidationError { .. }));
}
