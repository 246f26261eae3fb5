//! Built-in tools tested through their handlers, with real files and a local server.

mod code_search;
mod declared_programs;
mod diff_editor;
mod file_changes;
mod http_tools;
mod read_artifact;
mod read_tools;
mod undo;

use serde_json::Value;
use toolcrib_core::{Effect, Risk, ToolSpec, View};

use crate::specs;

fn find(name: &str) -> ToolSpec {
    specs().into_iter().find(|spec| spec.name.as_str() == name).expect(name)
}

#[test]
fn names_aliases_and_parameters_are_well_formed() {
    let names: Vec<_> = specs().into_iter().map(|spec| spec.name.as_str().to_owned()).collect();
    assert_eq!(
        names,
        [
            "get_current_time",
            "read_file",
            "write_file",
            "edit_file",
            "diff_editor",
            "list_dir",
            "file_info",
            "make_dir",
            "copy_path",
            "move_path",
            "delete_file",
            "find_files",
            "code_search",
            "git_manager",
            "test_runner",
            "pdf_read",
            "lsp_manager",
            "http_request",
            "fetch_url",
            "docs_search",
            "news",
            "web_search",
            "get_weather",
            "get_location_from_ip",
            "open_url",
            "read",
            "execute_shell_command",
            "manage_process",
            "ssh_configure_host",
            "open_file",
            "read_artifact",
            "review_tool_calls",
            "introspect",
        ]
    );
    assert_eq!(find("get_current_time").aliases, ["get_local_time"]);
    assert_eq!(find("write_file").aliases, ["file_manager.write", "file_manager.append"]);
    assert_eq!(find("fetch_url").aliases, ["web_fetch"]);
    for spec in specs() {
        let name = &spec.name;
        let properties = spec.input_schema["properties"].as_object().expect("properties");
        for (parameter, schema) in properties {
            assert!(schema["description"].is_string(), "{name}.{parameter} has no description");
        }
        for (alias, parameter) in &spec.parameter_aliases {
            assert!(properties.contains_key(parameter), "{name}: {alias} -> {parameter}");
            assert!(!properties.contains_key(alias), "{name}: {alias} is a parameter");
        }
        assert!((1..=3).contains(&spec.examples.len()), "{name}");
        for example in &spec.examples {
            check_example(&spec, &example.args);
        }
    }
}

/// Checks that every argument of an example is a parameter of the right type, and that no required
/// one is missing.
fn check_example(spec: &ToolSpec, args: &Value) {
    let schema = &spec.input_schema;
    for (key, value) in args.as_object().expect("object") {
        let wanted = schema["properties"][key]["type"].as_str();
        let got = match value {
            Value::String(_) => "string",
            Value::Bool(_) => "boolean",
            Value::Number(_) => "integer",
            Value::Object(_) => "object",
            Value::Array(_) => "array",
            _ => "other",
        };
        assert_eq!(wanted, Some(got), "{} {key}", spec.name);
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(args.get(required.as_str().expect("name")).is_some(), "{} {required}", spec.name);
    }
}

#[test]
fn risks_are_those_of_the_design() {
    for spec in specs() {
        let name = spec.name.as_str();
        let high = matches!(
            name,
            "delete_file"
                | "http_request"
                | "fetch_url"
                | "test_runner"
                | "execute_shell_command"
                | "open_file"
        );
        assert_eq!(spec.risk == Risk::High, high, "{name}");
        assert_eq!(spec.risk == Risk::Critical, name == "ssh_configure_host", "{name}");
        assert_eq!(
            spec.effect == Effect::Destructive,
            matches!(name, "delete_file" | "http_request"),
            "{name}"
        );
        let sends = [
            "http_request",
            "fetch_url",
            "docs_search",
            "news",
            "web_search",
            "get_weather",
            "get_location_from_ip",
            "open_url",
            "read",
        ];
        assert_eq!(spec.reach.outbound, sends.contains(&name), "{name}");
    }
}

#[test]
fn the_source_holds_what_has_its_means() {
    let shop = crate::test_support::TestWorkspace::new();
    let client = toolcrib_net::HttpClient::new(toolcrib_net::AddressPolicy::public_only());
    let few = crate::Builtins::new().handlers();
    assert_eq!(few.len(), 1);
    let more = crate::Builtins::new().with_workspace(shop.workspace.clone()).with_client(client);
    // Without artifact store, introspection stores and program runner.
    assert_eq!(more.handlers().len(), specs().len() - 3 - 8);
    let entries = more.handlers().into_iter().map(toolcrib_core::Entry::Local).collect();
    let view = View::new(entries, Vec::new());
    assert_eq!(view.find("web_fetch").expect("alias").spec().name.as_str(), "fetch_url");
}
