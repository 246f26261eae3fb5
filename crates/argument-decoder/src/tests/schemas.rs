//! The check at registration.

use serde_json::{Map, Value, json};

use super::super::{Schema, SchemaError};
use super::{ok, refused, run, schema};

#[track_caller]
fn wrong(document: Value, part: &str) {
    let error = Schema::check(&document).expect_err("a wrong schema");
    assert!(error.to_string().contains(part), "{error}");
}

#[track_caller]
fn right(document: Value) {
    let checked = Schema::check(&document).expect("a right schema");
    checked.validator().expect("a checked schema compiles");
}

#[test]
fn ordinary_schemas() {
    right(json!({}));
    right(json!({"type":["object","null"]}));
    right(
        json!({"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":true,"b":false}}),
    );
    right(
        json!({"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"x":{"type":"string"}},"properties":{"a":{"$ref":"#/definitions/x"},"b":{"items":[{},{}]}}}),
    );
    right(
        json!({"$schema":"http://json-schema.org/draft-04/schema#","type":"object","properties":{"id":{"type":"string"},"n":{"maximum":5,"exclusiveMaximum":true}}}),
    );
    right(
        json!({"$id":"https://example.com/tool","type":"object","x-order":3,"nullable":true,"properties":{"$ref":{"type":"string"},"type":{},"required":{"type":"boolean"}}}),
    );
    right(
        json!({"type":"object","dependentRequired":{"a":["b"]},"dependentSchemas":{"a":{"required":["b"]}},"if":{"required":["a"]},"then":{"required":["c"]},"not":{"required":["z"]},"propertyNames":{"pattern":"^[a-z]+$"}}),
    );
    right(
        json!({"type":"object","properties":{"a b/c~d%é":{"$ref":"#/properties/x%20y"},"x y":{"type":"string"}}}),
    );
    right(
        json!({"type":"object","x-types":{"t":{"type":"string"}},"properties":{"a":{"$ref":"#/x-types/t"}}}),
    );
}

#[test]
fn not_a_schema_of_an_object() {
    for document in [
        json!(true),
        json!(null),
        json!([]),
        json!("x"),
        json!({"type":"array"}),
        json!({"type":["string"]}),
        json!({"type":5}),
    ] {
        wrong(document, "must be an object");
    }
}

#[test]
fn against_the_meta_schema() {
    for property in [
        json!({"type":"text"}),
        json!({"type":[]}),
        json!({"type":["string","string"]}),
        json!({"description":5}),
        json!({"required":"a"}),
        json!({"required":[1]}),
        json!({"required":["a","a"]}),
        json!({"minLength":-1}),
        json!({"minLength":1.5}),
        json!({"multipleOf":0}),
        json!({"anyOf":[]}),
        json!({"anyOf":{}}),
        json!({"items":5}),
        json!({"properties":[]}),
        json!({"enum":"a"}),
        json!({"pattern":5}),
        json!({"uniqueItems":"yes"}),
        json!({"minimum":"1"}),
        json!("string"),
        json!(null),
        json!({"$ref":5}),
        json!({"additionalProperties":"no"}),
    ] {
        wrong(json!({"type":"object","properties":{"p":property}}), "not valid JSON Schema");
    }
    wrong(
        json!({"$schema":"https://example.com/unknown","type":"object"}),
        "not valid JSON Schema",
    );
}

#[test]
fn references() {
    for remote in
        ["https://example.com/s.json", "other.json#/x", "file:///etc/passwd", "/x", "urn:x:y"]
    {
        wrong(json!({"properties":{"a":{"$ref":remote}}}), "remote references are not fetched");
    }
    for lost in ["#/$defs/none", "#none", "#/properties/a/$ref", "#/%zz"] {
        wrong(json!({"properties":{"a":{"$ref":lost}}}), "has no target");
    }
    wrong(
        json!({"properties":{"a":{"$id":"https://example.com/inner","$ref":"#/x"}}}),
        "remote references",
    );
    wrong(json!({"properties":{"a":{"$ref":"#/x-bad"}},"x-bad":{"type":"text"}}), "");
}

#[test]
fn cycles_without_descent() {
    for document in [
        json!({"$ref":"#"}),
        json!({"allOf":[{"$ref":"#"}]}),
        json!({"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/y"}]},"y":{"not":{"$ref":"#/$defs/x"}}}}),
        json!({"if":{"$ref":"#/$defs/x"},"$defs":{"x":{"dependentSchemas":{"a":{"oneOf":[{"$ref":"#/$defs/x"}]}}}}}),
        json!({"then":{"else":{"$ref":"#/then"}}}),
    ] {
        wrong(document, "refers back to itself");
    }
    let tree = schema(
        json!({"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#"}},"n":{"type":"integer"}}}),
    );
    assert_eq!(tree.max_depth(), usize::MAX);
    ok(r#"{"kids":[{"n":1,"kids":[]}]}"#, &tree, json!({"kids":[{"n":1,"kids":[]}]}));
}

/// Returns a chain of definitions, each built from the next.
fn chain(length: usize, link: impl Fn(&str) -> Value) -> Value {
    let mut definitions = Map::new();
    for i in 0..length {
        definitions.insert(format!("d{i}"), link(&format!("#/$defs/d{}", i + 1)));
    }
    definitions.insert(format!("d{length}"), json!({"type":"object"}));
    json!({"$defs":definitions,"$ref":"#/$defs/d0"})
}

#[test]
fn schemas_that_multiply_are_bounded() {
    let laughs = |next: &str| json!({"allOf":[{"$ref":next},{"$ref":next}]});
    wrong(chain(40, laughs), "multiply too far");
    right(chain(5, laughs));
    wrong(chain(60, |next| json!({"$ref":next})), "multiply too far");
    wrong(chain(2_100, |next| json!({"properties":{"a":{"$ref":next}}})), "multiply too far");
    right(chain(200, |next| json!({"properties":{"a":{"$ref":next}}})));
    // Two paths to the same place: the work doubles with each level of the value.
    let doubling = schema(json!({"properties":{"a":{"$ref":"#/$defs/t"}},"$defs":{"t":{"anyOf":[
        {"properties":{"a":{"$ref":"#/$defs/t"}},"required":["x"]},{"properties":{"a":{"$ref":"#/$defs/t"}},"required":["y"]}]}}}));
    assert!((8..=40).contains(&doubling.max_depth()), "{}", doubling.max_depth());
    let deep = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    refused(&deep(90), &doubling, &["nested deeper than"]);
    run(&deep(doubling.max_depth()), &doubling);
    // Paths to different places do not multiply.
    let plain = schema(
        json!({"properties":{"a":{"$ref":"#"},"b":{"$ref":"#"}},"anyOf":[{"properties":{"c":{"$ref":"#"}}},{"properties":{"d":{"$ref":"#"}}}]}),
    );
    assert_eq!(plain.max_depth(), usize::MAX);
}

#[test]
fn size_and_depth() {
    let wide: Map<String, Value> = (0..20_001).map(|i| (format!("p{i}"), json!(true))).collect();
    wrong(json!({ "properties": wide }), "more than 20000 values");
    wrong(json!({"enum": vec![0; 20_001]}), "more than 20000 values");
    let deep = (0..70).fold(json!({}), |inner, _| json!({ "not": inner }));
    wrong(json!({"properties":{"a":deep}}), "deeper than 64");
    let data = (0..70).fold(json!([]), |inner, _| json!([inner]));
    wrong(json!({"properties":{"a":{"default":data}}}), "deeper than 64");
}

#[test]
fn patterns_run_in_linear_time() {
    let with = |pattern: &str| json!({"type":"object","properties":{"a":{"type":"string","pattern":pattern}}});
    right(with("^[a-z]+(-[a-z]+)*$"));
    right(with(r"^\d{4}-\d{2}$"));
    for pattern in ["(", "^(?!x)", r"(a)\1", "(?=x)y", "((a{1000}){1000}){1000}"] {
        wrong(with(pattern), "linear time");
    }
    wrong(json!({"patternProperties":{"(?<!a)b":{}}}), "linear time");
    wrong(with(&"a".repeat(5_000)), "linear time");
    let tool = schema(with("^(a+)+$"));
    let long = format!("{{\"a\":\"{}b\"}}", "a".repeat(20_000));
    refused(&long, &tool, &["pattern ^(a+)+$"]);
    assert!(matches!(Schema::check(&with("(")), Err(SchemaError::Pattern { .. })));
}

#[test]
fn formats_are_asserted() {
    let tool = |format: &str| {
        schema(json!({"type":"object","properties":{"a":{"type":"string","format":format}}}))
    };
    for (format, good, bad) in [
        ("date-time", "2026-01-31T09:30:00Z", "tomorrow"),
        ("date", "2026-01-31", "2026-13-01"),
        ("email", "a@example.com", "a"),
        ("uri", "https://example.com/x", "example com"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("ipv4", "127.0.0.1", "300.1.1.1"),
    ] {
        ok(&json!({ "a": good }).to_string(), &tool(format), json!({ "a": good }));
        refused(
            &json!({ "a": bad }).to_string(),
            &tool(format),
            &["a: expected text in the format", format],
        );
    }
    ok(r#"{"a":"anything"}"#, &tool("x-own"), json!({"a":"anything"}));
}
