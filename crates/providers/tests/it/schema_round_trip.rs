//! Property tests of schema conversion: any definition without lint warnings survives the trip to
//! every provider and back, and a strict schema accepts exactly what the original accepts.

use proptest::prelude::*;
use serde_json::{Map, Value, json};
use toolcrib_core::ToolSpec;
use toolcrib_providers::{Format, Options, declare, import, lint, schema};

use super::declarations::{entry, spec};

/// Schemas as tools have them, with keywords that some provider does not take mixed in rarely
/// enough that many pass.
fn any_schema() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        6 => Just(json!({"type": "string"})),
        2 => "[a-z]{1,6}".prop_map(|d| json!({"type": "string", "description": d})),
        1 => Just(json!({"type": "string", "format": "date-time"})),
        1 => Just(json!({"type": "string", "format": "uri"})),
        1 => Just(json!({"type": "string", "minLength": 1, "maxLength": 5})),
        1 => Just(json!({"type": "string", "pattern": "^a"})),
        2 => prop::collection::btree_set("[a-z]{1,3}", 1..4).prop_map(|e| json!({"type": "string", "enum": e})),
        1 => Just(json!({"type": ["string", "null"]})),
        1 => Just(json!({"type": ["string", "null"], "enum": ["a", null]})),
        1 => Just(json!({"const": "x"})),
    ];
    let number = prop_oneof![
        3 => Just(json!({"type": "integer"})),
        2 => (0i64..9).prop_map(|n| json!({"type": "integer", "minimum": n})),
        1 => Just(json!({"type": "number", "exclusiveMaximum": 1.5})),
        1 => Just(json!({"type": "integer", "enum": [1, 2]})),
        2 => Just(json!({"type": "boolean"})),
        1 => Just(json!({"type": "integer", "default": 3})),
        1 => Just(json!({"type": ["integer", "string"]})),
        1 => Just(json!({})),
    ];
    let leaf = prop_oneof![3 => text, 2 => number];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            4 => object(inner.clone()),
            3 => inner.clone().prop_map(|i| json!({"type": "array", "items": i})),
            1 => Just(json!({"type": "array"})),
            1 => prop::collection::vec(inner.clone(), 1..3).prop_map(|b| json!({"anyOf": b})),
            1 => inner.clone().prop_map(|i| json!({"anyOf": [i, {"type": "null"}]})),
            1 => inner.clone().prop_map(|i| json!({"oneOf": [i]})),
            1 => inner.prop_map(|i| json!({"type": "object", "additionalProperties": i})),
        ]
    })
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let properties = prop::collection::btree_map("[a-z_]{1,4}", (inner, any::<bool>()), 0..4);
    (properties, 0u8..6).prop_map(|(properties, closed)| {
        let required: Vec<&String> =
            properties.iter().filter(|(_, (_, r))| *r).map(|(name, _)| name).collect();
        let mut schema = json!({"type": "object"});
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["properties"] = properties
            .iter()
            .map(|(k, (v, _))| (k.clone(), v.clone()))
            .collect::<Map<_, _>>()
            .into();
        if closed == 0 {
            schema["additionalProperties"] = false.into();
        }
        schema
    })
}

fn any_spec() -> impl Strategy<Value = ToolSpec> {
    ("[a-z][a-z0-9_]{0,20}", "[A-Za-z é\"\n<]{0,40}", object(any_schema())).prop_map(
        |(name, description, schema)| spec(&name.replace("__", "_"), &description, schema),
    )
}

/// One form for schemas of one meaning.
fn meaning(schema: &Value, closed_matters: bool) -> Value {
    let Some(map) = schema.as_object() else { return schema.clone() };
    let mut out = Map::new();
    for (key, value) in map {
        match (key.as_str(), value) {
            ("required", Value::Array(names)) if !names.is_empty() => {
                let mut names: Vec<String> = names.iter().map(Value::to_string).collect();
                names.sort();
                out.insert(key.clone(), json!(names));
            }
            ("properties", Value::Object(inner)) if !inner.is_empty() => {
                let mut sorted: Vec<_> =
                    inner.iter().map(|(k, v)| (k.clone(), meaning(v, closed_matters))).collect();
                sorted.sort_by(|a, b| a.0.cmp(&b.0));
                out.insert(key.clone(), Value::Object(sorted.into_iter().collect()));
            }
            ("required" | "properties", _) => {}
            ("items", inner) if *inner == json!({}) => {}
            ("items" | "additionalProperties", inner @ Value::Object(_)) => {
                out.insert(key.clone(), meaning(inner, closed_matters));
            }
            ("additionalProperties", Value::Bool(false)) if !closed_matters => {}
            ("const", only) => {
                out.insert("enum".to_owned(), json!([only]));
                out.entry("type").or_insert_with(|| "string".into());
            }
            ("anyOf" | "oneOf", Value::Array(branches)) => {
                let branches: Vec<Value> =
                    branches.iter().map(|b| meaning(b, closed_matters)).collect();
                out.insert(key.clone(), json!(branches));
            }
            (_, value) => {
                out.insert(key.clone(), value.clone());
            }
        }
    }
    simplify(out)
}

fn simplify(mut out: Map<String, Value>) -> Value {
    // A choice of one, or of plain types, is a type.
    if let Some(Value::Array(branches)) = out.get("anyOf").cloned() {
        let mut flat: Vec<Value> = Vec::new();
        for branch in branches {
            match branch.get("anyOf") {
                Some(Value::Array(inner)) if branch.as_object().unwrap().len() == 1 => {
                    flat.extend(inner.clone());
                }
                _ => flat.push(branch),
            }
        }
        let mut null = false;
        let mut kept: Vec<Value> = Vec::new();
        for mut branch in flat {
            if let Some(Value::Array(kinds)) = branch.get("type").cloned() {
                let others: Vec<&Value> = kinds.iter().filter(|k| *k != "null").collect();
                null |= others.len() < kinds.len();
                if let (true, Some(Value::Array(choices))) =
                    (others.len() < kinds.len(), branch.get_mut("enum"))
                {
                    choices.retain(|c| !c.is_null());
                }
                if let [only] = others.as_slice() {
                    branch["type"] = (*only).clone();
                } else if branch.as_object().unwrap().len() == 1 {
                    kept.extend(others.iter().map(|k| json!({"type": k})));
                    continue;
                } else {
                    branch["type"] = json!(others);
                }
            }
            if branch == json!({"type": "null"}) { null = true } else { kept.push(branch) }
        }
        out.remove("anyOf");
        if let [only] = kept.as_slice() {
            let mut only = only.as_object().unwrap().clone();
            only.extend(out);
            out = only;
        } else if kept.iter().all(|b| b.as_object().unwrap().len() == 1 && b.get("type").is_some())
        {
            out.insert("type".to_owned(), kept.iter().map(|b| b["type"].clone()).collect());
        } else {
            out.insert("anyOf".to_owned(), kept.into());
        }
        if null {
            let kinds = match out.get("type").cloned() {
                Some(Value::Array(kinds)) => kinds,
                Some(kind) => vec![kind],
                None => vec![],
            };
            out.insert("type".to_owned(), kinds.into_iter().chain(["null".into()]).collect());
            if let Some(Value::Array(choices)) = out.get_mut("enum") {
                choices.push(Value::Null);
            }
        }
    }
    for key in ["type", "enum"] {
        if let Some(Value::Array(list)) = out.get_mut(key) {
            list.sort_by_key(Value::to_string);
            list.dedup();
        }
    }
    let mut sorted: Vec<_> = out.into_iter().collect();
    sorted.sort_by(|a, b| a.0.cmp(&b.0));
    Value::Object(sorted.into_iter().collect())
}

fn check(spec: &ToolSpec, format: Format, options: Options) -> Result<bool, TestCaseError> {
    if !lint(spec, format, &options).is_empty() {
        return Ok(false);
    }
    let made = declare(format, &[entry(spec.clone())], &options);
    prop_assert!(made.warnings.is_empty());
    let back = import(format, &made.value).unwrap();
    prop_assert_eq!(back.len(), 1);
    let name = made.names.original(&back[0].name);
    prop_assert_eq!(name, Some(spec.name.as_str()));
    prop_assert_eq!(&back[0].description, &spec.description);
    // Strict mode closes every object; that alone it cannot take back.
    let closed = !back[0].strict;
    prop_assert_eq!(
        meaning(&back[0].schema, closed),
        meaning(&spec.input_schema, closed),
        "{} {:?}: {}",
        format,
        options,
        made.value
    );
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_the_lint_accepts_survives(spec in any_spec()) {
        for format in Format::ALL {
            for strict in [false, true] {
                check(&spec, format, Options { strict, rules: None })?;
            }
        }
    }
}

/// The property above is meaningful only if the lint accepts many of the definitions.
#[test]
fn the_lint_accepts_many() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut accepted = [0; 5];
    for _ in 0..200 {
        let spec = any_spec().new_tree(&mut runner).unwrap().current();
        for (i, format) in Format::ALL.into_iter().enumerate() {
            let strict = format == Format::OpenAiChat;
            accepted[i] +=
                usize::from(check(&spec, format, Options { strict, rules: None }).unwrap());
        }
    }
    assert!(accepted.iter().all(|n| *n > 40), "{accepted:?}");
}

/// A value that fits a schema.
fn sample(schema: &Value, seed: &mut u64) -> Value {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
    let pick = (*seed >> 33) as usize;
    if let Some(Value::Array(choices)) = schema.get("enum") {
        return choices[pick % choices.len()].clone();
    }
    if let Some(only) = schema.get("const") {
        return only.clone();
    }
    if let Some(Value::Array(branches)) = schema.get("anyOf") {
        return sample(&branches[pick % branches.len()], seed);
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds[pick % kinds.len()].as_str().unwrap().to_owned(),
        Some(kind) => kind.as_str().unwrap().to_owned(),
        None => "null".to_owned(),
    };
    match kind.as_str() {
        "object" => {
            let mut object = Map::new();
            let required = schema.get("required").cloned().unwrap_or(json!([]));
            for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
                if required.as_array().unwrap().contains(&json!(name)) || !pick.is_multiple_of(3) {
                    object.insert(name.clone(), sample(inner, seed));
                }
            }
            object.into()
        }
        "array" => json!([sample(&schema["items"], seed)]),
        "string" if schema.get("format").is_some() => "2026-01-01T00:00:00Z".into(),
        "string" => "abc".into(),
        "integer" => 9.into(),
        "number" => json!(1.25),
        "boolean" => pick.is_multiple_of(2).into(),
        _ => Value::Null,
    }
}

/// Returns the value as strict mode writes it: null for absent members.
fn with_nulls(value: &Value, schema: &Value) -> Value {
    match (value, schema.get("properties")) {
        (Value::Object(object), Some(Value::Object(properties))) => properties
            .iter()
            .map(|(name, inner)| {
                let given = object.get(name).map_or(Value::Null, |v| with_nulls(v, inner));
                (name.clone(), given)
            })
            .collect::<Map<_, _>>()
            .into(),
        (Value::Array(items), _) => {
            items.iter().map(|item| with_nulls(item, &schema["items"])).collect()
        }
        _ => value.clone(),
    }
}

fn has_union(schema: &Value) -> bool {
    schema.to_string().contains("anyOf")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// Never a wrong schema: each value that the real schema accepts, the strict one accepts in its
    /// own form.
    #[test]
    fn a_strict_schema_takes_what_the_real_one_takes(schema in object(any_schema()), mut seed in any::<u64>()) {
        let Ok(strict) = schema::strict(&schema, schema::Strict::OpenAi) else { return Ok(()) };
        prop_assume!(!has_union(&schema));
        let value = sample(&schema, &mut seed);
        prop_assume!(jsonschema::is_valid(&schema, &value));
        let spelled = with_nulls(&value, &strict.schema);
        prop_assert!(jsonschema::is_valid(&strict.schema, &spelled), "{} {} {}", schema, strict.schema, spelled);
    }

    /// A looser form is allowed, a tighter one is not: Gemini's and the plain forms take every
    /// value of the real schema.
    #[test]
    fn other_forms_are_never_tighter(schema in object(any_schema()), mut seed in any::<u64>()) {
        prop_assume!(!has_union(&schema));
        let value = sample(&schema, &mut seed);
        prop_assume!(jsonschema::is_valid(&schema, &value));
        for rules in [schema::NonStrict::OpenAi, schema::NonStrict::Anthropic, schema::NonStrict::Text] {
            prop_assert!(jsonschema::is_valid(&schema::plain(&schema, rules).schema, &value));
        }
        let gemini = schema::gemini(&schema);
        let narrowed = gemini.losses.iter().any(|loss| loss.message.contains("STRING"));
        if !narrowed && !gemini.schema.is_null() {
            let back = schema::from_gemini(&gemini.schema);
            prop_assert!(jsonschema::is_valid(&back, &value), "{} {} {}", schema, back, value);
        }
    }
}
