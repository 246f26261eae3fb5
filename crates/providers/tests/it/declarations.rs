//! Tests of tool declarations: each provider's rules, and the warnings about features that it
//! cannot express.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::{
    BoxFuture, CallCtx, Entry, Handler, ProviderSpec, ToolError, ToolName, ToolOutput, ToolSpec,
};
use toolcrib_providers::schema::Strict;
use toolcrib_providers::{Declarations, Format, Options, declare, lint};

const STRICT: Options = Options { strict: true, rules: None };
const LOOSE: Options = Options { strict: false, rules: None };

/// The schema as DeepSeek's strict mode gets it; `None` = the tool is not strict.
fn deepseek(property: Value) -> Option<Value> {
    let schema = json!({
        "type": "object", "properties": {"p": property},
        "$defs": {"D": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}},
    });
    let options = Options { rules: Some(Strict::DeepSeek), ..STRICT };
    let made = one(Format::OpenAiChat, schema, options).value;
    let function = &made[0]["function"];
    let strict = function.get("strict").is_some();
    strict.then(|| function["parameters"]["properties"]["p"].clone())
}

#[test]
fn deepseek_refused_openai_strict_schemas() {
    let nil = json!({"type": "null"});
    let closed = |properties: Value| {
        let names: Vec<&String> = properties.as_object().unwrap().keys().collect();
        json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
    };
    let d = closed(json!({"x": {"type": "integer"}}));
    for (property, expected) in [
        (
            json!({"type": "string", "format": "uuid"}),
            Some(json!({"type": ["string", "null"], "format": "uuid"})),
        ),
        (
            json!({"type": "string", "format": "date"}),
            Some(json!({"type": ["string", "null"], "description": "(format: \"date\")"})),
        ),
        (
            json!({"type": "string", "minLength": 1}),
            Some(json!({"type": ["string", "null"], "description": "(minLength: 1)"})),
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "maxItems": 2, "minItems": 1}),
            Some(json!({"anyOf": [
                {"type": "array", "items": {"type": "string"}, "description": "(maxItems: 2) (minItems: 1)"}, nil,
            ]})),
        ),
        (json!({"enum": ["a"]}), Some(json!({"type": ["string", "null"], "enum": ["a", null]}))),
        (json!({"const": 1}), Some(json!({"type": ["integer", "null"], "enum": [1, null]}))),
        (
            json!({"anyOf": [{"$ref": "#/$defs/D"}, {"type": "string"}]}),
            Some(json!({"anyOf": [d, {"type": "string"}, nil]})),
        ),
        (json!({"$ref": "#/$defs/D"}), Some(json!({"anyOf": [d, nil]}))),
        (json!({"type": "object", "properties": {}, "additionalProperties": false}), None),
        (json!({"type": ["array", "null"], "items": {"type": "string"}}), None),
        (
            json!({"type": "integer", "minimum": 0}),
            Some(json!({"type": ["integer", "null"], "minimum": 0})),
        ),
    ] {
        assert_eq!(deepseek(property.clone()), expected, "{property}");
    }
}

struct Dummy(Arc<ToolSpec>);

impl Handler for Dummy {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.0
    }

    fn call<'a>(
        &'a self,
        _: &'a CallCtx,
        _: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::text(""))))
    }
}

pub(crate) fn spec(name: &str, description: &str, schema: Value) -> ToolSpec {
    ToolSpec::new(ToolName::remote(name).unwrap(), description, schema)
}

pub(crate) fn entry(spec: ToolSpec) -> Entry {
    Entry::Local(Arc::new(Dummy(Arc::new(spec))))
}

fn one(format: Format, schema: Value, options: Options) -> Declarations {
    declare(format, &[entry(spec("t", "Does.", schema))], &options)
}

/// The schema in the declaration, and the warnings.
fn check(format: Format, options: Options, schema: Value, expected: Value, warnings: &[&str]) {
    let made = one(format, schema.clone(), options);
    let at = match format {
        Format::OpenAiChat => "/0/function/parameters",
        Format::OpenAiResponses => "/0/parameters",
        Format::Anthropic => "/0/input_schema",
        Format::Gemini => "/0/functionDeclarations/0/parameters",
        Format::Text => "",
    };
    assert_eq!(made.value.pointer(at), Some(&expected), "{schema}");
    let said: Vec<String> =
        made.warnings.iter().map(|w| format!("{} {}", w.path, w.message)).collect();
    assert_eq!(said.len(), warnings.len(), "{schema}: {said:?}");
    for (said, expected) in said.iter().zip(warnings) {
        assert!(said.contains(expected), "{schema}: {said}");
    }
}

fn read_file() -> Value {
    json!({
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The path."},
            "limit": {"type": "integer", "minimum": 1},
            "mode": {"type": "string", "enum": ["text", "bytes"]},
        },
        "required": ["path"],
    })
}

#[test]
fn the_envelopes() {
    let tools = [entry(spec("read_file", "Reads.", read_file()))];
    let value = |format| declare(format, &tools, &LOOSE).value;
    assert_eq!(
        value(Format::OpenAiChat),
        json!([{"type": "function", "function": {
        "name": "read_file", "description": "Reads.", "parameters": read_file()}}])
    );
    assert_eq!(
        value(Format::OpenAiResponses),
        json!([{"type": "function",
        "name": "read_file", "description": "Reads.", "parameters": read_file(), "strict": false}])
    );
    assert_eq!(
        value(Format::Anthropic),
        json!([{
        "name": "read_file", "description": "Reads.", "input_schema": read_file()}])
    );
    let gemini = value(Format::Gemini);
    let function = &gemini[0]["functionDeclarations"][0];
    assert_eq!(function["name"], "read_file");
    assert_eq!(function["parameters"]["type"], "OBJECT");
    assert_eq!(
        function["parameters"]["properties"]["limit"],
        json!({"type": "INTEGER", "minimum": 1})
    );
    let text = value(Format::Text);
    assert!(text.as_str().unwrap().contains("{\"name\":\"read_file\",\"description\":\"Reads.\""));
    for format in Format::ALL {
        assert!(declare(format, &tools, &LOOSE).warnings.is_empty());
        assert_eq!(declare(format, &[], &LOOSE).value, Value::Null, "never an empty list");
    }
}

#[test]
fn openai_strict_mode() {
    check(
        Format::OpenAiChat,
        STRICT,
        read_file(),
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string", "description": "The path."},
                "limit": {"type": ["integer", "null"], "minimum": 1},
                "mode": {"type": ["string", "null"], "enum": ["text", "bytes", null]},
            },
            "required": ["path", "limit", "mode"],
            "additionalProperties": false,
        }),
        &[],
    );
    let made = one(Format::OpenAiChat, read_file(), STRICT);
    assert_eq!(made.value[0]["function"]["strict"], true);
    let object = |p: Value| json!({"type": "object", "properties": {"p": p}, "required": ["p"]});
    let strict = |p: Value| json!({"type": "object", "properties": {"p": p}, "required": ["p"], "additionalProperties": false});
    check(
        Format::OpenAiChat,
        STRICT,
        object(json!({"type": "string", "minLength": 2, "description": "Text."})),
        strict(json!({"type": "string", "description": "Text. (minLength: 2)"})),
        &["/properties/p `minLength` was moved"],
    );
    check(
        Format::OpenAiChat,
        STRICT,
        object(
            json!({"type": "array", "items": {"type": "object", "properties": {"q": {"type": "boolean"}}}, "uniqueItems": true}),
        ),
        strict(
            json!({"type": "array", "items": {"type": "object", "properties": {"q": {"type": ["boolean", "null"]}},
            "required": ["q"], "additionalProperties": false}, "description": "(uniqueItems: true)"}),
        ),
        &["uniqueItems"],
    );
    check(
        Format::OpenAiChat,
        STRICT,
        json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/P", "description": "Near."}}, "required": ["p"],
            "$defs": {"P": {"type": "integer", "description": "Far."}}}),
        strict(json!({"type": "integer", "description": "Near."})),
        &[],
    );
}

/// A schema that strict mode cannot express is sent without it, unchanged, and never as another
/// schema.
#[test]
fn what_has_no_strict_form_is_sent_as_it_is() {
    for p in [
        json!({"type": "object", "additionalProperties": {"type": "string"}}),
        json!({"type": "object"}),
        json!({"type": ["string", "null"]}),
        json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        json!({"type": "array", "prefixItems": [{"type": "string"}], "items": false}),
        json!({}),
        json!({"allOf": [{"type": "string"}, {"minLength": 1}]}),
        json!({"$ref": "#"}),
        json!({"$ref": "#/nowhere"}),
    ] {
        let schema = json!({"type": "object", "properties": {"p": p}});
        let made = one(Format::OpenAiChat, schema.clone(), STRICT);
        let function = &made.value[0]["function"];
        assert_eq!(function["parameters"], schema);
        assert!(function.get("strict").is_none());
        assert_eq!(made.warnings.len(), 1, "{schema}");
        assert!(made.warnings[0].message.contains("without strict mode"), "{:?}", made.warnings);
    }
    let remote = [entry(spec("github__search", "Searches.", read_file()))];
    let made = declare(Format::OpenAiResponses, &remote, &STRICT);
    assert_eq!(made.value[0]["strict"], false, "remote schemas are never forced into strict mode");
    assert_eq!(made.value[0]["parameters"], read_file());
}

#[test]
fn anthropic_strict_mode_keeps_optional_properties() {
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}});
    check(
        Format::Anthropic,
        STRICT,
        schema,
        json!({
        "type": "object", "properties": {"n": {"type": "integer", "description": "(minimum: 1)"}},
        "required": [], "additionalProperties": false}),
        &["minimum"],
    );
    let many: Vec<Entry> =
        (0..25).map(|i| entry(spec(&format!("t{i}"), "Does.", read_file()))).collect();
    let made = declare(Format::Anthropic, &many, &STRICT);
    let strict = made.value.as_array().unwrap().iter().filter(|t| t["strict"] == true).count();
    assert_eq!(strict, 20);
}

#[test]
fn gemini_takes_a_subset() {
    let object = |p: Value| json!({"type": "object", "properties": {"p": p}});
    let ported = |p: Value| json!({"type": "OBJECT", "properties": {"p": p}});
    for (p, expected, warnings) in [
        (json!({"type": ["string", "null"]}), json!({"type": "STRING", "nullable": true}), &[][..]),
        (
            json!({"type": "array"}),
            json!({"type": "ARRAY", "items": {"type": "STRING"}}),
            &["STRING"][..],
        ),
        (
            json!({"type": "array", "items": {"type": "integer"}}),
            json!({"type": "ARRAY", "items": {"type": "INTEGER"}}),
            &[][..],
        ),
        (json!({"const": "a"}), json!({"type": "STRING", "enum": ["a"]}), &[][..]),
        (
            json!({"type": "integer", "enum": [1, 2]}),
            json!({"type": "INTEGER", "description": "(enum: [1,2])"}),
            &["enum"][..],
        ),
        (
            json!({"type": ["string", "integer"]}),
            json!({"anyOf": [{"type": "STRING"}, {"type": "INTEGER"}]}),
            &[][..],
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"type": "STRING", "nullable": true}),
            &[][..],
        ),
        (
            json!({"oneOf": [{"type": "string"}, {"type": "boolean"}]}),
            json!({"anyOf": [{"type": "STRING"}, {"type": "BOOLEAN"}]}),
            &["oneOf"][..],
        ),
        (
            json!({"type": "string", "format": "uri"}),
            json!({"type": "STRING", "description": "(format: \"uri\")"}),
            &["format"][..],
        ),
        (
            json!({"type": "string", "format": "date-time"}),
            json!({"type": "STRING", "format": "date-time"}),
            &[][..],
        ),
        (
            json!({"type": "integer", "exclusiveMinimum": 0}),
            json!({"type": "INTEGER", "minimum": 1}),
            &[][..],
        ),
        (
            json!({"type": "object", "properties": {"q": {"type": "number"}}, "additionalProperties": false}),
            json!({"type": "OBJECT", "properties": {"q": {"type": "NUMBER"}}}),
            &["additionalProperties"][..],
        ),
        (
            json!({"allOf": [{"type": "string"}, {"minLength": 1}]}),
            json!({"type": "STRING", "minLength": 1}),
            &[][..],
        ),
        (
            json!({"$ref": "#"}),
            json!({"type": "OBJECT", "properties": {"p": {"type": "OBJECT", "description": "(as # above)"}}}),
            &["recursion"][..],
        ),
        (
            json!({"not": {"type": "string"}, "type": "string"}),
            json!({"type": "STRING", "description": "(not: {\"type\":\"string\"})"}),
            &["not"][..],
        ),
    ] {
        check(Format::Gemini, LOOSE, object(p), ported(expected), warnings);
    }
    let nothing = one(Format::Gemini, json!({"type": "object", "properties": {}}), LOOSE);
    assert!(nothing.value[0]["functionDeclarations"][0].get("parameters").is_none());
    assert!(nothing.warnings.is_empty());
}

#[test]
fn the_plain_form_is_changed_only_where_a_request_would_fail() {
    let array = json!({"type": "object", "properties": {"p": {"type": "array"}}});
    check(
        Format::OpenAiChat,
        LOOSE,
        array.clone(),
        json!({"type": "object", "properties": {"p": {"type": "array", "items": {}}}}),
        &[],
    );
    check(Format::Anthropic, LOOSE, array.clone(), array, &[]);
    check(Format::OpenAiChat, LOOSE, json!({}), json!({"type": "object", "properties": {}}), &[]);
    let union = json!({"type": "object", "oneOf": [
        {"properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "string"}}, "required": ["b"]}]});
    let flat =
        json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}});
    check(Format::OpenAiChat, LOOSE, union.clone(), flat.clone(), &["`oneOf` at the root"]);
    check(Format::Anthropic, LOOSE, union.clone(), flat, &["`oneOf` at the root"]);
    let made = one(Format::Anthropic, union, LOOSE);
    let description = made.value[0]["description"].as_str().unwrap();
    assert!(description.starts_with("Does. The arguments must fit oneOf: [{"), "{description}");
    check(
        Format::Anthropic,
        LOOSE,
        json!({"type": "object", "properties": {"a b": {"type": "string"}, "c": {"type": "string"}}, "required": ["a b", "c"]}),
        json!({"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"],
            "description": "(also takes the property \"a b\": {\"type\":\"string\"})"}),
        &["/properties/a b the property's name"],
    );
    check(
        Format::OpenAiChat,
        LOOSE,
        json!({"type": "object", "properties": {"p": {"$ref": "https://example.org/s.json"}}}),
        json!({"type": "object", "properties": {"p": {"description": "($ref: \"https://example.org/s.json\")"}}}),
        &["$ref"],
    );
}

#[test]
fn descriptions_and_lists_over_the_limit_are_warned_about() {
    let long = spec("t", &"é".repeat(1_025), read_file());
    assert!(lint(&long, Format::OpenAiChat, &LOOSE)[0].message.contains("1025 characters"));
    assert!(lint(&long, Format::Anthropic, &LOOSE).is_empty());
    let made = declare(Format::OpenAiChat, &[entry(long)], &LOOSE);
    let text = made.value[0]["function"]["description"].as_str().unwrap();
    assert_eq!(text.chars().count(), 1_024);
    assert!(text.ends_with('…'));
    let many: Vec<Entry> =
        (0..129).map(|i| entry(spec(&format!("t{i}"), "Does.", read_file()))).collect();
    let warnings = declare(Format::OpenAiChat, &many, &LOOSE).warnings;
    assert!(warnings[0].message.contains("129 tools"), "{warnings:?}");
    assert!(declare(Format::Anthropic, &many, &LOOSE).warnings.is_empty());
}

#[test]
fn names_are_mapped_and_doubles_left_out() {
    let tools = [
        entry(spec("3d__print", "Prints.", read_file())),
        entry(spec("read_file", "Reads.", read_file())),
        entry(spec("read_file", "Reads again.", read_file())),
    ];
    let made = declare(Format::Gemini, &tools, &LOOSE);
    let functions = made.value[0]["functionDeclarations"].as_array().unwrap();
    assert_eq!(functions.len(), 2);
    let wire = functions[0]["name"].as_str().unwrap();
    assert!(wire.starts_with("_3d__print_"), "{wire}");
    assert_eq!(made.names.original(wire), Some("3d__print"));
    assert_eq!(made.names.original("unknown"), None);
    assert!(made.warnings[0].message.contains("second tool"));
    let Entry::Local(handler) = &tools[0] else { unreachable!() };
    assert!(lint(handler.spec(), Format::Gemini, &LOOSE)[0].message.contains("name on the wire"));
}

#[test]
fn providers_own_tools_are_declared_only_where_they_exist() {
    let own = |provider: &str, declaration: Value, types: &[&str]| ProviderSpec {
        provider: provider.to_owned(),
        declaration,
        call_types: types.iter().map(|t| (*t).to_owned()).collect(),
    };
    let tools = [
        Entry::Hosted {
            spec: Arc::new(spec("web_search", "Searches.", json!({"type": "object"}))),
            providers: vec![
                own("openai-responses", json!({"type": "web_search"}), &[]),
                own("gemini", json!({"googleSearch": {}}), &[]),
            ],
        },
        Entry::ProviderDefined {
            providers: vec![own(
                "openai-responses",
                json!({"type": "apply_patch"}),
                &["apply_patch_call"],
            )],
            handler: Arc::new(Dummy(Arc::new(spec("edit_file", "Edits.", read_file())))),
        },
        entry(spec("read_file", "Reads.", read_file())),
    ];
    let responses = declare(Format::OpenAiResponses, &tools, &LOOSE);
    let kinds: Vec<&Value> =
        responses.value.as_array().unwrap().iter().map(|t| &t["type"]).collect();
    assert_eq!(kinds, ["function", "web_search", "apply_patch"]);
    assert_eq!(responses.names.original("apply_patch_call"), Some("edit_file"));
    let gemini = declare(Format::Gemini, &tools, &LOOSE).value;
    assert_eq!(gemini[1], json!({"googleSearch": {}}));
    assert_eq!(declare(Format::Anthropic, &tools, &LOOSE).value.as_array().unwrap().len(), 1);
}
