//! Tests of kit and guide files.

use super::super::{guide, kit};
use super::*;

fn tools<R>(read: impl FnOnce(&KnownTools<'_>) -> R) -> R {
    read(&KnownTools { names: &names(), check: &check_args })
}

#[test]
fn a_kit_is_read() {
    let text = "kit: note\ndescription: Write a note.\nsteps:\n  - {order: 1, tool: file_manager, action: write, params: {path: a.md}, note: First.}\n  - tool: get_local_time\n";
    let kit = tools(|tools| kit::read(text, Location::BuiltIn, tools)).unwrap();
    assert_eq!(kit.name, "note");
    assert_eq!(kit.tools().collect::<Vec<_>>(), ["file_manager", "get_current_time"]);
    assert_eq!(kit.steps[0].params, json!({"path": "a.md", "action": "write"}));
    assert_eq!(kit.steps[0].note, "First.");
}

#[test]
fn a_kit_does_not_require_the_tools_of_its_optional_steps() {
    let text = "kit: note\ndescription: d\nsteps:\n  - {tool: file_manager, action: write, params: {path: a}, optional: true}\n  - tool: get_local_time\n";
    let kit = tools(|tools| kit::read(text, Location::BuiltIn, tools)).unwrap();
    assert_eq!(kit.tools().collect::<Vec<_>>(), ["get_current_time"]);
    let shown = kit.to_text();
    assert!(shown.contains("} (Leave this step out"), "{shown}");
    let none = "kit: note\ndescription: d\nsteps:\n  - {tool: get_local_time, optional: true}\n";
    let refused = tools(|tools| kit::read(none, Location::BuiltIn, tools));
    assert_eq!(refused, Err("steps are missing".to_owned()));
}

#[test]
fn bad_kits() {
    let check = |steps: &str, message: &str| {
        let text = format!("tool_kit: x\ndescription: d\nsteps:\n  - {steps}\n");
        let read = tools(|tools| kit::read(&text, Location::BuiltIn, tools));
        assert_eq!(read, Err(message.to_owned()), "{text}");
    };
    let missing =
        "step 1 (read_file): path: expected this required parameter (string), got nothing. Add it.";
    check("{tool: read_file, params: {file: a}}", missing);
    check("{tool: read_file}", missing);
    check(
        "{tool: edit_file, params: {path: a, old_text: b, new_text: c, replace_al: true}}",
        "step 1 (edit_file): unknown parameter \"replace_al\" was ignored; did you mean \"replace_all\"?",
    );
    check(
        "{tool: file_manager, action: delete, params: {path: a}}",
        "step 1 (file_manager): action: expected one of [\"read\",\"write\"], got the string \"delete\". Send one of these values exactly.",
    );
    check(
        "{tool: file_manager, action: read, params: {path: a, action: read}}",
        "step 1 has an action beside the one in its params",
    );
    check(
        "{tool: raed_file, params: {path: a}}",
        "step 1: unknown tool \"raed_file\"; did you mean \"read_file\", \"find_files\"?",
    );
    check(
        "{order: 2, tool: get_current_time}",
        "step 1 has order 2; steps are numbered 1, 2, 3 in order",
    );
    check("{tool: get_current_time, notes: x}", "unknown key \"notes\"; did you mean \"note\"?");
    let check = |text: &str, message: &str| {
        let read = tools(|tools| kit::read(text, Location::BuiltIn, tools));
        assert_eq!(read, Err(message.to_owned()), "{text}");
    };
    check("tool_kit: x\ndescription: d\nsteps: []", "steps are missing");
    check("tool_kit: x\ndescription: d", "the key \"steps\" is missing");
    check(
        "tool_kit: x\ndescription: ' '\nsteps: [{tool: get_current_time}]",
        "description is empty",
    );
    check(
        "tool_kit: Big\ndescription: d\nsteps: []",
        "tool_kit \"Big\" must be 1 to 64 lower-case letters a-z, digits, hyphens and underscores",
    );
    // `goal` and `tools`, which look plausible, are not valid keys.
    check(
        "tool_kit: x\ngoal: d\nsteps: []",
        "unknown key \"goal\"; the keys are kit, tool_kit, description, steps",
    );
}

#[test]
fn bad_guides() {
    let check = |text: &str, message: &str| {
        let read = tools(|tools| guide::read(text, Location::BuiltIn, tools));
        assert_eq!(read, Err(message.to_owned()), "{text}");
    };
    check("tool: read_file", "says nothing: give when_to_use, when_not_to_use, examples or tips");
    check(
        "tool: reed_file\ntips: [a]",
        "unknown tool \"reed_file\"; did you mean \"read_file\", \"find_files\"?",
    );
    check(
        "tool: read_file\nexamples:\n  - need: ok\n    args: {path: a}\n  - need: bad\n    args: {pth: a}",
        "example 2 (\"bad\"): path: expected this required parameter (string), got nothing. You sent \"pth\"; name it \"path\".",
    );
    check(
        "tool: read_file\nexamples:\n  - need: bad\n    args: {path: 5}",
        "example 1 (\"bad\"): 5 was read as \"5\"",
    );
    check("tool: read_file\nexamples:\n  - args: {path: 5}", "the key \"need\" is missing");
    check(
        "tool: read_file\nwhen_not_to_us: [a]",
        "unknown key \"when_not_to_us\"; did you mean \"when_not_to_use\", \"when_to_use\"?",
    );
}

#[test]
fn what_is_shipped_can_be_read_and_waits_for_its_tools() {
    use super::super::built_in::{GUIDES, KITS};
    // Every tool exists and accepts anything.
    let shipped = KITS.iter().chain(&GUIDES).map(|(_, text)| *text);
    let named = shipped.flat_map(str::lines).filter_map(|line| line.trim().strip_prefix("tool: "));
    let all: Vec<ToolNames> = named
        .map(|name| ToolNames {
            name: name.to_owned(),
            aliases: vec![],
            group: None,
            source: "builtin".to_owned(),
        })
        .collect();
    let library =
        Library::load(&Folders::default(), &KnownTools { names: &all, check: &|_, _| Ok(()) });
    assert_eq!(library.problems, []);
    assert_eq!((library.kits.len(), library.guides.len()), (KITS.len(), GUIDES.len()));
    let none =
        Library::load(&Folders::default(), &KnownTools { names: &[], check: &|_, _| Ok(()) });
    assert_eq!(none.problems, []);
    assert_eq!((none.kits.len(), none.guides.len()), (0, 0));
    // In a kit that is not shipped, an unknown tool is still a problem.
    let file = "tool_kit: x\ndescription: d\nsteps: [{tool: no_such_tool}]";
    assert!(tools(|tools| kit::read(file, Location::BuiltIn, tools)).is_err());
}
