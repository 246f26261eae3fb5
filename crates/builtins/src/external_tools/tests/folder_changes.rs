//! Change detection in a tool folder, and the scaffold.

use serde_json::json;
use toolcrib_core::Risk;

use super::*;
use crate::external_tools::{ScaffoldError, fingerprint, scaffold};

#[test]
fn the_fingerprint_follows_what_makes_a_tool_and_nothing_else() {
    let tools = Tools::new();
    let print = || fingerprint(tools.dir.path());
    assert_eq!(fingerprint(&tools.at("nowhere")), fingerprint(&tools.at("neither")));
    let mut before = print();
    let mut check = |what: &str, changes: bool| {
        let now = print();
        assert_eq!(now != before, changes, "{what}");
        assert_eq!(now, print(), "{what}: nothing happened since");
        before = now;
    };
    check("nothing", false);
    tools.tool("one", PLAIN, "echo 1");
    check("a tool is added", true);
    tools.file("one/cache.json", "{}").file("notes.md", "x").tool("_shared", PLAIN, "");
    check("files that make no tool", false);
    tools.file("one/tool.toml", "description = \"Another tool.\"\n");
    check("a definition is changed", true);
    tools.file("one/run", "#!/bin/sh\necho 2\n");
    check("a program is changed in place", true);
    fs::set_permissions(tools.at("one/run"), fs::Permissions::from_mode(0o644)).unwrap();
    check("a program may not be executed any more", true);
    fs::set_permissions(tools.at("one/run"), fs::Permissions::from_mode(0o755)).unwrap();
    check("it may again", true);
    fs::rename(tools.at("one"), tools.at("two")).unwrap();
    check("a folder has another name", true);
    tools.tool("aaa", PLAIN, "");
    check("a tool is added before it", true);
    fs::remove_dir_all(tools.at("aaa")).unwrap();
    check("a tool is removed", true);
}

#[tokio::test]
async fn the_example_works_at_once_and_is_never_overwritten() {
    let tools = Tools::new();
    let dir = tools.at("new/tools");
    let made = scaffold(&dir, "greet").unwrap();
    assert_eq!(made, dir.join("greet"));
    let source = ExternalToolSource::new("mine", &dir);
    for (args, is_error, text) in [
        (json!({"who": "Ada"}), false, "Hello, Ada."),
        (json!({"who": "Ada", "loud": true}), false, "Hello, Ada!!!"),
        (json!({"who": "%s $(id) `id`"}), false, "Hello, %s $(id) `id`."),
        (json!({"loud": true}), true, "There is no name to greet: give a name in who."),
    ] {
        let said = call(&source, "greet", args).await.unwrap();
        assert_eq!(said.is_error, is_error);
        assert_eq!(crate::test_support::TextOutput(said).text(), text);
    }
    fs::write(made.join("tool.toml"), "mine").unwrap();
    assert!(matches!(scaffold(&dir, "greet"), Err(ScaffoldError::Exists(_))));
    assert_eq!(fs::read_to_string(made.join("tool.toml")).unwrap(), "mine");
    for bad in ["", "Not Good", "../up", "a/b", "_x"] {
        assert!(matches!(scaffold(&dir, bad), Err(ScaffoldError::Name(_))), "{bad}");
    }
    assert!(matches!(scaffold(&made.join("tool.toml"), "x"), Err(ScaffoldError::Write(..))));
}

#[tokio::test]
async fn tools_in_a_folder_that_others_can_write_are_of_critical_risk() {
    let tools = Tools::new();
    for risk in ["safe", "high", "critical"] {
        tools.tool(risk, &format!("{PLAIN}risk = \"{risk}\"\neffect = \"pure\"\n"), "");
    }
    let risks = async |source: ExternalToolSource| {
        let entries = source.load().await.unwrap();
        entries.iter().map(|e| (e.spec().name.to_string(), e.spec().risk)).collect::<Vec<_>>()
    };
    let row = |name: &str, risk| (name.to_owned(), risk);
    let (critical, high) = (row("critical", Risk::Critical), row("high", Risk::High));
    let own = [critical, high, row("safe", Risk::Safe)];
    assert_eq!(risks(tools.source()).await, own);
    let theirs = ["critical", "high", "safe"].map(|name| row(name, Risk::Critical));
    assert_eq!(risks(tools.source().untrusted()).await, theirs);
}

#[test]
fn the_definition_covers_the_program_and_not_what_it_writes() {
    let tools = Tools::new();
    tools.tool("own", &format!("{PLAIN}command = [\"./run\", \"data\"]"), "echo 1");
    let script = format!("{PLAIN}command = [\"sh\", \"-e\", \"src/main.sh\"]");
    tools.file("script/tool.toml", &script).file("script/src/main.sh", "echo 1");
    tools.file("own/data", "1").file("script/data", "1");
    let hashes = || {
        let specs = tools.reports().into_iter().map(|report| report.spec.unwrap());
        specs.map(|spec| spec.definition_hash()).collect::<Vec<_>>()
    };
    let source = tools.source();
    let mut before = (hashes(), source.fingerprint());
    let mut check = |what: &str, changes: [bool; 2]| {
        let now = (hashes(), source.fingerprint());
        let changed = [0, 1].map(|at| now.0[at] != before.0[at]);
        assert_eq!(changed, changes, "{what}");
        assert_eq!(now.1 != before.1, changes != [false, false], "{what}");
        assert_eq!(source.fingerprint(), fingerprint(tools.dir.path()));
        before = now;
    };
    check("nothing", [false, false]);
    tools.file("own/data", "22").file("script/data", "22");
    check("data", [false, false]);
    tools.file("script/src/main.sh", "echo 2");
    check("a script in a folder below", [false, true]);
    tools.program("own/run", "echo 22");
    check("a program", [true, false]);
    tools.file("script/tool.toml", &script.replace("-e", "-u"));
    check("an argument", [false, true]);
}

#[test]
fn every_key_of_the_example_is_read() {
    let tools = Tools::new();
    let made = scaffold(tools.dir.path(), "greet").unwrap();
    let spec = tools.reports().remove(0).spec.unwrap();
    assert_eq!(spec.input_schema["required"], json!(["who"]));
    // The commented-out part must also work once it is enabled.
    let text = fs::read_to_string(made.join("tool.toml")).unwrap();
    let (head, config) = text.split_at(text.find("# [config").unwrap());
    fs::write(made.join("tool.toml"), [head, &config.replace("# ", "")].concat()).unwrap();
    let spec = tools.reports().remove(0).spec.unwrap();
    assert!(spec.config[0].secret && spec.config[0].required);
}
