//! Tests of tool selection.

use serde_json::json;
use toolcrib_core::ProviderSpec;

use super::*;

fn spec(name: &str, chars: usize) -> ToolSpec {
    let schema = json!({"type": "object", "properties": {"x": {"description": "d".repeat(chars)}}});
    ToolSpec::new(ToolName::remote(name).unwrap(), format!("Does {name}."), schema)
}

fn tool(spec: ToolSpec) -> Entry {
    Entry::Local(Arc::new(NameOnlyHandler(Arc::new(spec))))
}

fn innate(name: &str) -> Entry {
    let mut spec = spec(name, 0);
    spec.tier = Tier::Innate;
    tool(spec)
}

/// Ten tools of about 1,000 tokens in two groups, and the tools that are always declared.
fn view(finds: bool) -> Vec<Entry> {
    let mut tools = vec![innate("ask_user")];
    if finds {
        tools.extend([innate(FIND_TOOLS), innate(LOAD_TOOL_GROUP)]);
    }
    tools.extend((0..10).map(|n| {
        let mut spec = spec(&format!("tool_{n}"), 3_700);
        spec.group = Some(if n < 5 { "low" } else { "high" }.to_owned());
        tool(spec)
    }));
    tools
}

fn found(names: &[&str]) -> FoundTools {
    let mut found = FoundTools::default();
    found.add(names.iter().map(|name| (*name).to_owned()));
    found
}

fn offer(
    tools: Vec<Entry>,
    mode: ToolSelectionMode,
    found_tools: &[&str],
    window: u64,
) -> SelectedTools {
    let view = Arc::new(View::new(tools, Vec::new()));
    let rules = ToolSelectionRules { mode, ..ToolSelectionRules::default() };
    PricedView::new(view, "openai-chat".to_owned()).select(rules, &found(found_tools), window)
}

fn names(offered: &SelectedTools) -> Vec<&str> {
    offered.tools.iter().map(|entry| entry.spec().name.as_str()).collect()
}

#[track_caller]
fn check(mode: ToolSelectionMode, found_tools: &[&str], window: u64, expected: &[&str]) {
    let offered = offer(view(true), mode, found_tools, window);
    assert_eq!(names(&offered), expected);
    let searches = expected.contains(&LOAD_TOOL_GROUP);
    assert_eq!(offered.left_out, if searches { 13 - expected.len() } else { 0 });
}

const BASE: [&str; 3] = ["ask_user", FIND_TOOLS, LOAD_TOOL_GROUP];

#[test]
fn all_are_declared_while_they_are_a_small_part_of_the_window() {
    let all: Vec<String> = (0..10).map(|n| format!("tool_{n}")).collect();
    let all: Vec<&str> = BASE[..2].iter().copied().chain(all.iter().map(String::as_str)).collect();
    check(ToolSelectionMode::Auto, &[], 200_000, &all);
    check(ToolSelectionMode::Auto, &[], 100_000, &BASE);
    check(ToolSelectionMode::All, &[], 1_000, &all);
    check(ToolSelectionMode::Search, &[], 1_000_000, &BASE);
}

#[test]
fn found_tools_stay_until_the_room_is_used_up() {
    let with = |names: &[&'static str]| [&BASE, names].concat();
    // In the order of the view, whatever the order in which they were found.
    check(ToolSelectionMode::Search, &["tool_7", "tool_2"], 100_000, &with(&["tool_2", "tool_7"]));
    // Space for two: the least recently used one is dropped.
    check(
        ToolSelectionMode::Search,
        &["tool_1", "tool_2", "tool_3"],
        30_000,
        &with(&["tool_2", "tool_3"]),
    );
    // A small window has space for one or two as well.
    check(ToolSelectionMode::Search, &["tool_1", "tool_2"], 4_000, &with(&["tool_1", "tool_2"]));
    check(ToolSelectionMode::Search, &["gone", "tool_1"], 100_000, &with(&["tool_1"]));
}

#[test]
fn what_is_saved_is_counted() {
    let all = offer(view(true), ToolSelectionMode::All, &[], 100_000);
    let none = offer(view(true), ToolSelectionMode::Search, &[], 100_000);
    let one = offer(view(true), ToolSelectionMode::Search, &["tool_1"], 100_000);
    let each = context::estimate_tool(&view(true)[3], "openai-chat");
    assert_eq!(none.tokens_saved, 10 * each);
    assert_eq!(one.tokens_saved, 9 * each);
    // The tool that loads groups is useless while all tools are declared.
    assert_eq!((all.left_out, all.tokens_saved, all.groups.len()), (0, 0, 0));
    assert!(!names(&all).contains(&LOAD_TOOL_GROUP));
}

#[test]
fn groups_are_named_where_tools_have_to_be_found() {
    let offered = offer(view(true), ToolSelectionMode::Search, &[], 100_000);
    let groups: Vec<(&str, usize)> =
        offered.groups.iter().map(|group| (group.name.as_str(), group.tools.len())).collect();
    assert_eq!(groups, [("high", 5), ("low", 5)]);
}

#[test]
fn nothing_is_left_out_that_could_not_be_found() {
    let offered = offer(view(false), ToolSelectionMode::Search, &[], 1_000);
    assert_eq!((offered.tools.len(), offered.left_out, offered.tokens_saved), (11, 0, 0));
    let mut tools = view(false);
    tools.push(Entry::broken(ToolName::local(FIND_TOOLS).unwrap(), "no model"));
    assert_eq!(offer(tools, ToolSelectionMode::Search, &[], 1_000).left_out, 0);
}

#[test]
fn a_lazy_tool_is_only_named_until_it_is_requested() {
    let mut lazy = spec("lazy", 4_000);
    lazy.lazy_schema = true;
    lazy.description = format!("Sorts things. {}", "And more. ".repeat(30));
    let tools = || vec![innate(FIND_TOOLS), tool(lazy.clone())];
    let brief = offer(tools(), ToolSelectionMode::Auto, &[], 10_000);
    assert_eq!(names(&brief), [FIND_TOOLS, "lazy"]);
    let shown = brief.tools[1].spec();
    assert_eq!(*shown.input_schema, json!({"type": "object", "properties": {}}));
    assert!(shown.description.starts_with("Sorts things. And more."), "{}", shown.description);
    assert!(shown.description.contains("call find_tools with its name"));
    assert!(brief.tokens_saved > 900, "{}", brief.tokens_saved);
    let asked = offer(tools(), ToolSelectionMode::Auto, &["lazy"], 10_000);
    assert_eq!(asked.tools[1].spec().input_schema, lazy.input_schema);
    assert_eq!(asked.tokens_saved, 0);
    // Without tool search the tool is declared whole from the start.
    let whole = offer(tools().split_off(1), ToolSelectionMode::Auto, &[], 10_000);
    assert_eq!(whole.tools[0].spec().input_schema, lazy.input_schema);
}

#[test]
fn tools_of_providers_are_found_like_others() {
    let declaration = json!({"type": "web_search", "about": "a".repeat(400)});
    let own = ProviderSpec { provider: "p".to_owned(), declaration, call_types: Vec::new() };
    let search = Entry::Hosted { spec: Arc::new(spec("search", 9_000)), providers: vec![own] };
    assert!((100..120).contains(&context::estimate_tool(&search, "p")));
    assert_eq!(context::estimate_tool(&search, "another"), 0);
    let tools = vec![innate(FIND_TOOLS), search];
    assert_eq!(names(&offer(tools.clone(), ToolSelectionMode::Search, &[], 9_000)), [FIND_TOOLS]);
    let offered = offer(tools, ToolSelectionMode::Search, &["search"], 9_000);
    assert!(matches!(offered.tools[1], Entry::Hosted { .. }));
}

#[test]
fn what_was_found_is_bounded() {
    let mut found = FoundTools::default();
    found.add((0..2_000).map(|n| format!("t{n}")));
    assert_eq!(found.newest_first().count(), 512);
    assert_eq!(found.newest_first().next(), Some("t1999"));
}
