//! `tool.toml`: accepted keys, defaults and errors.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::json;
use toolcrib_core::{Effect, Permission, Reach, Risk, Tier, Trust};

use super::*;
use crate::external_tools::parameters;

#[test]
fn what_is_not_said_is_the_strictest() {
    let spec = spec_of(PLAIN).unwrap();
    assert_eq!((spec.risk, spec.effect), (Risk::High, Effect::SideEffect));
    assert_eq!((spec.tier, spec.trust), (Tier::FirstParty, Trust::External));
    assert_eq!(spec.reach, Reach { outbound: true, ..Reach::default() });
    assert_eq!(spec.permissions, [Permission::Exec]);
    assert_eq!((spec.name.as_str(), &*spec.title), ("only", "Only"));
    assert_eq!(spec.timeout, Duration::from_secs(30));
    assert_eq!(
        *spec.input_schema,
        json!({"type": "object", "properties": {}, "additionalProperties": false})
    );
    assert_eq!(spec_of("description = \"x\"\neffect = \"pure\"").unwrap().reach, Reach::default());
}

#[test]
fn everything_that_can_be_said() {
    let spec = spec_of(
        r#"
        name = "weather"
        title = "The weather"
        description = " Tells the weather. "
        command = ["./run", "--fast"]
        risk = "safe"
        effect = "read"
        reach = ["outbound", "private_read"]
        timeout = "500ms"
        permissions = ["network", "location", "exec"]
        version = 3
        output = "markdown"
        group = "outside"
        lazy_schema = true
        [parameters]
        city = "string"
        [config]
        KEY = { description = "The key", secret = true }
        URL = { description = "Where", default = "http://x" }
        NOTE = "Anything"
        [[examples]]
        need = "Is it raining in Graz?"
        args = { city = "Graz" }
        "#,
    )
    .unwrap();
    assert_eq!((spec.name.as_str(), &*spec.title), ("weather", "The weather"));
    assert_eq!((&*spec.description, &*spec.version), ("Tells the weather.", "3"));
    assert_eq!((spec.risk, spec.effect), (Risk::Safe, Effect::Read));
    assert_eq!(spec.reach, Reach { outbound: true, exec: false, private_read: true });
    assert_eq!(spec.timeout, Duration::from_millis(500));
    let named = Permission::Named("location".into());
    assert_eq!(spec.permissions, [Permission::Exec, Permission::Network, named]);
    assert_eq!((spec.group.as_deref(), spec.lazy_schema), (Some("outside"), true));
    let keys: Vec<(&str, &str, bool, bool)> = spec
        .config
        .iter()
        .map(|key| (&*key.key, &*key.description, key.secret, key.required))
        .collect();
    assert_eq!(
        keys,
        [
            ("KEY", "The key", true, true),
            ("URL", "Where", false, false),
            ("NOTE", "Anything", false, true)
        ]
    );
    assert_eq!(spec.examples[0].args, json!({"city": "Graz"}));
}

#[test]
fn parameters_in_all_their_forms() {
    let check = |text: &str, wanted: Value| {
        let table: toml::Table = toml::from_str(text).unwrap();
        let schema = parameters::schema(table.get("parameters").cloned()).unwrap();
        assert_eq!(schema, wanted, "{text}");
    };
    let short = |properties: Value, required: Value| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    check(
        r#"parameters = { city = "string", days = "integer?", unit = ["c", "f"] }"#,
        short(
            json!({
                "city": {"type": "string"},
                "days": {"type": "integer"},
                "unit": {"type": "string", "enum": ["c", "f"]}
            }),
            json!(["city", "unit"]),
        ),
    );
    check(
        r#"parameters = { a = "string[]? : Some words: many", "b?" = [1, 2], c = { type = "number?", maximum = 1.5 }, d = { type = "integer", default = 3 }, e = { required = false } , f = {enum = [1979-05-27]}}"#,
        short(
            json!({
                "a": {"type": "array", "items": {"type": "string"}, "description": "Some words: many"},
                "b": {"type": "integer", "enum": [1, 2]},
                "c": {"type": "number", "maximum": 1.5},
                "d": {"type": "integer", "default": 3},
                "e": {},
                "f": {"enum": ["1979-05-27"]}
            }),
            json!(["f"]),
        ),
    );
    // A parameter may be named like a JSON Schema keyword.
    check(
        r#"parameters = { type = "string", properties = "object?" }"#,
        short(
            json!({"type": {"type": "string"}, "properties": {"type": "object"}}),
            json!(["type"]),
        ),
    );
    check(
        "[parameters]\nrequired = [\"x\"]\n[parameters.properties.x]\ntype = \"string\"",
        json!({"required": ["x"], "properties": {"x": {"type": "string"}}, "type": "object"}),
    );
    check(
        r##"parameters = '{"type": "object", "properties": {"x": {"$ref": "#/$defs/y"}}, "$defs": {"y": {}}}'"##,
        json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/y"}}, "$defs": {"y": {}}}),
    );
    check(r#"parameters = { type = "object" }"#, json!({"type": "object", "properties": {}}));
    check(
        r#"parameters = '{"x": "string"}'"#,
        short(json!({"x": {"type": "string"}}), json!(["x"])),
    );
}

#[test]
fn what_is_wrong_is_said_in_words_that_help() {
    let check = |more: &str, words: &str| {
        let fault = spec_of(&format!("{PLAIN}{more}")).expect_err(more);
        assert!(fault.contains(words), "{more}: {fault}");
        assert!(fault.len() < 400 && !fault.contains("/tmp"), "{fault}");
    };
    check("a = ", "tool.toml line 2: ");
    check("descripton = \"x\"", "unknown key \"descripton\"; did you mean \"description\"?");
    check("tier = \"innate\"", "unknown key \"tier\"");
    check("zzzzzzzzzz = 1", "there are name, title,");
    check("risk = \"none\"", "key \"risk\": \"none\" is not one of safe, high, critical");
    check("risk = 1", "key \"risk\" must be a text, not 1");
    check("effect = \"write\"", "side_effect");
    check("reach = [\"network\"]", "is not one of outbound, exec, private_read");
    check("reach = \"outbound\"", "must be an array of texts");
    for timeout in ["0", "-1", "nan", "1e300", "\"soon\"", "\"25h\"", "\"\"", "[]"] {
        check(&format!("timeout = {timeout}"), "key \"timeout\" must be seconds");
    }
    check("name = \"Not Good\"", "must be snake_case");
    check("command = \"./run\"", "key \"command\" must be an array of texts");
    check("command = []", "names no program");
    check("command = [\"./nothing\"]", "the program \"./nothing\" does not exist");
    check("command = [\"/no/such/place/prog\"]", "the program \"prog\" does not exist");
    check("command = [\"run\"]", "the file beside tool.toml is \"./run\"");
    check("command = [\"./tool.toml\"]", "not executable (chmod +x ./tool.toml)");
    check("version = 1.5", "key \"version\"");
    check("output = \"jsn\"", "\"jsn\" is unknown; did you mean \"json\"?");
    check("permissions = [\"\"]", "empty name");
    check("examples = [{ args = 1, nead = \"x\" }]", "did you mean \"need\"?");
    check("config = 1", "key \"config\" must be a table");
    check("config = { PATH = \"x\" }", "key \"config.PATH\": this name is taken");
    check("config = { TOOLCRIB_CONTEXT = \"x\" }", "taken");
    check("config = { \"a-b\" = \"x\" }", "name of a variable");
    check("config = { A = { secrt = true } }", "did you mean \"secret\"?");
    check("config = { A = { default = [] } }", "key \"default\"");
    for (parameters, words) in [
        ("1", "a table, or a JSON object as a text"),
        ("'[]'", "a table, or a JSON object as a text"),
        ("'{'", "the text is not JSON"),
        ("{ x = \"strng\" }", "parameter \"x\": \"strng\" is not a type; did you mean \"string\"?"),
        ("{ x = { type = \"int\" } }", "\"int\" is not a type"),
        ("{ x = [] }", "there are no choices"),
        ("{ x = [1, \"a\"] }", "all texts or all numbers"),
        ("{ x = 1 }", "not 1"),
        ("{ x = \"string\", \"x?\" = \"string\" }", "twice"),
        ("{ \"?\" = \"string\" }", "no name"),
        ("{ x = { default = inf } }", "no form in JSON"),
    ] {
        check(&format!("parameters = {parameters}"), words);
    }
    let fault = spec_of("name = \"x\"").unwrap_err();
    assert!(fault.contains("key \"description\" is missing"), "{fault}");
}

#[test]
fn the_program_that_goes_without_saying() {
    let check = |files: &[(&str, bool)], wanted: Result<&str, &str>| {
        let tools = Tools::new();
        tools.file("only/tool.toml", PLAIN);
        for (name, executable) in files {
            let path = format!("only/{name}");
            if *executable {
                tools.program(&path, "")
            } else {
                tools.file(&path, "")
            };
        }
        let report = tools.reports().remove(0);
        match (report.spec, wanted) {
            (Ok(_), Ok(_)) => {}
            (Err(fault), Err(words)) => assert!(fault.to_string().contains(words), "{fault}"),
            (found, _) => panic!("{files:?}: {found:?}"),
        }
    };
    check(&[("run", true), ("run.py", true)], Ok("run"));
    check(&[("run.py", true), ("runner", true)], Ok("run.py"));
    check(&[("run.py", true), ("run.sh", true)], Err("several programs (run.py, run.sh)"));
    check(&[("run.sh", false)], Err("chmod +x ./run.sh"));
    check(&[("main.sh", true)], Err("there is no command"));
}

#[test]
fn broken_folders_are_rows_and_the_others_are_tools() {
    let tools = Tools::new();
    tools
        .tool("a_good", PLAIN, "")
        .tool("b_taken", &format!("{PLAIN}name = \"a_good\""), "")
        .tool("c_broken", "= ", "")
        .tool("Not-Good", PLAIN, "")
        // The folder's name is another tool's name.
        .tool("d_other", &format!("{PLAIN}name = \"e_broken\""), "")
        .tool("e_broken", "", "")
        .tool("_shared", "= ", "")
        .tool(".hidden", "= ", "")
        .file("README.md", "= ")
        .file("empty/tools.toml", PLAIN);
    let rows: Vec<(String, String, String)> = tools
        .reports()
        .into_iter()
        .map(|r| {
            let fault = r.spec.err().map_or_else(String::new, |fault| fault.to_string());
            (r.folder, r.name.to_string(), fault)
        })
        .collect();
    let wanted = [
        ("Not-Good", "folder__Not-Good", "without the key \"name\""),
        ("a_good", "a_good", ""),
        ("b_taken", "b_taken", "folder \"a_good\" already has the tool a_good"),
        ("c_broken", "c_broken", "tool.toml line 1"),
        ("d_other", "e_broken", ""),
        ("e_broken", "folder__e_broken", "\"description\" is missing"),
        ("empty", "empty", "it has no tool.toml"),
    ];
    assert_eq!(rows.len(), wanted.len(), "{rows:?}");
    for ((folder, name, fault), wanted) in rows.iter().zip(wanted) {
        assert_eq!((&**folder, &**name), (wanted.0, wanted.1));
        assert!(fault.contains(wanted.2) && fault.is_empty() == wanted.2.is_empty(), "{fault}");
    }
}

#[tokio::test]
async fn the_source_gives_the_same_as_the_check() {
    let tools = Tools::new();
    tools.tool("good", PLAIN, "").tool("bad", "= ", "");
    let source = tools.source();
    assert!(source.is_remote());
    let entries = source.load().await.unwrap();
    let rows: Vec<(&str, bool)> = entries
        .iter()
        .map(|e| (e.spec().name.as_str(), e.handler().unwrap().broken_reason().is_some()))
        .collect();
    assert_eq!(rows, [("bad", true), ("good", false)]);
    let nowhere = ExternalToolSource::new("mine", tools.at("nowhere"));
    assert_eq!(nowhere.load().await.unwrap().len(), 0);
    let file = ExternalToolSource::new("mine", tools.at("good/tool.toml"));
    let [row] = file.load().await.unwrap().try_into().unwrap();
    let fault = row.handler().unwrap().broken_reason().unwrap().to_owned();
    assert!(fault.contains("the folder of tools cannot be read"), "{fault}");
}

#[test]
fn a_definition_that_is_no_plain_file_is_not_waited_for() {
    let tools = Tools::new();
    tools.program("pipe/run", "").program("folder/run", "").program("huge/run", "");
    let made = std::process::Command::new("mkfifo").arg(tools.at("pipe/tool.toml")).status();
    assert!(made.unwrap().success());
    fs::create_dir(tools.at("folder/tool.toml")).unwrap();
    tools.file("huge/tool.toml", &format!("# {}", "x".repeat(300 * 1024)));
    tools.program("bytes/run", "");
    fs::write(tools.at("bytes/tool.toml"), b"description = \"\xFF\"").unwrap();
    let faults: Vec<String> =
        tools.reports().into_iter().map(|r| r.spec.unwrap_err().to_string()).collect();
    for (fault, words) in faults.iter().zip([
        "not UTF-8",
        "not a regular file",
        "more than 262144 bytes",
        "not a regular file",
    ]) {
        assert!(fault.contains(words), "{fault}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_definition_breaks_the_reader(text in "(?s)[a-z]{0,6} ?= ?.{0,40}|.{0,80}|\\[?[a-z.]{0,12}\\]?\n[a-z]{0,5} = [\\[\\]{}\",0-9a-z?:. -]{0,40}") {
        let parameters: Option<toml::Table> = toml::from_str(&text).ok();
        if let Some(table) = parameters {
            // Every schema that is accepted must describe an object.
            if let Ok(schema) = parameters::schema(Some(toml::Value::Table(table))) {
                prop_assert!(schema["properties"].is_object());
            }
        }
    }
}
