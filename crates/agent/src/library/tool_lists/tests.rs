//! Tests of tool lists, also against the engine's own matching of the same lists.

use std::sync::Arc;

use proptest::prelude::*;
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{ToolName, ViewRequest};
use toolcrib_engine::Engine;
use toolcrib_testkit::ScriptedTool;

use super::*;

/// (name, group, source, alias).
const TOOLS: [(&str, &str, &str, &str); 6] = [
    ("read_file", "files", "builtin", ""),
    ("write_file", "files", "builtin", "save"),
    ("get_current_time", "time", "builtin", "get_local_time"),
    ("git__push", "vcs", "git", ""),
    ("git__log", "vcs", "git", ""),
    ("git", "", "other", ""),
];

fn tools() -> Vec<ToolNames> {
    let names = |(name, group, source, alias): (&str, &str, &str, &str)| ToolNames {
        name: name.to_owned(),
        aliases: if alias.is_empty() { vec![] } else { vec![alias.to_owned()] },
        group: (!group.is_empty()).then(|| group.to_owned()),
        source: source.to_owned(),
    };
    TOOLS.map(names).into()
}

fn list(entries: &[&str]) -> Vec<String> {
    entries.iter().map(|entry| (*entry).to_owned()).collect()
}

#[test]
fn lists_expand() {
    let check = |entries: &[&str], expected: &[&str]| {
        let expansion = expand_tool_list(Some(&list(entries)), &tools());
        assert_eq!(expansion.tools, expected, "{entries:?}");
        assert_eq!(expansion.complaint(), None, "{entries:?}");
    };
    check(&[], &[]);
    check(&["read_file"], &["read_file"]);
    check(&["get_local_time", "save"], &["write_file", "get_current_time"]);
    check(&["group:files"], &["read_file", "write_file"]);
    check(&["server:git"], &["git__push", "git__log"]);
    check(&["git"], &["git__push", "git__log", "git"]);
    check(&["*_file", "read_file"], &["read_file", "write_file"]);
    check(&["git__*"], &["git__push", "git__log"]);
    check(&["*"], &TOOLS.map(|tool| tool.0));
    let all = expand_tool_list(None, &tools());
    assert_eq!((all.tools.len(), all.entries.len()), (6, 0));
    let entries = expand_tool_list(Some(&list(&["time", "group:time", "save"])), &tools()).entries;
    let expanded =
        |entry: &str, tool: &str| ExpandedEntry { entry: entry.into(), tools: vec![tool.into()] };
    assert_eq!(
        entries,
        [expanded("group:time", "get_current_time"), expanded("save", "write_file")]
    );
}

#[test]
fn entries_that_name_nothing_are_told_with_near_names() {
    let check = |entry: &str, near: &[&str]| {
        let unknown = expand_tool_list(Some(&list(&[entry])), &tools()).unknown;
        assert_eq!(unknown, [UnknownEntry { entry: entry.to_owned(), near: list(near) }]);
    };
    // Prefixes do not match: `file` must not mean every `file*` tool.
    check("read", &["read_file"]);
    check("wirte_file", &["write_file"]);
    check("group:file", &["group:files"]);
    check("server:gti", &["server:git"]);
    check("zzz*", &[]);
    check("", &[]);
}

#[test]
fn a_skill_keeps_what_is_not_removed() {
    assert_eq!(skill_limit(&[]), None);
    let limited = skill_limit(&list(&["read_file", "ask_user"])).unwrap();
    assert_eq!(limited, ["read_file", "ask_user", "load_skill", "read_artifact"]);
}

fn engine() -> (tokio::runtime::Runtime, Engine) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let engine = Engine::builder().build();
    runtime.block_on(async {
        for source in ["builtin", "git", "other"] {
            let of_source = TOOLS.iter().filter(|tool| tool.2 == source);
            let entries = of_source.map(|(name, group, _, alias)| {
                let tool = ScriptedTool::new("x").spec(|spec| {
                    spec.name = ToolName::remote(name).unwrap();
                    spec.group = (!group.is_empty()).then(|| (*group).to_owned());
                    spec.aliases =
                        if alias.is_empty() { vec![] } else { vec![(*alias).to_owned()] };
                });
                toolcrib_core::Entry::Local(Arc::new(tool))
            });
            let source = FixedSource::new(source, entries.collect());
            engine.catalog().attach(&source).await.unwrap();
        }
    });
    (runtime, engine)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn the_engine_reads_lists_the_same_way(
        list in proptest::collection::vec(
            prop_oneof![
                "(group|server|mcp)?:?(files|time|vcs|git|builtin|other)?",
                "\\*?(read|write|git|get)?_{0,2}\\*?(file|push|log)?\\*?",
                proptest::sample::select(vec!["save", "get_local_time", "read_file", "mcp__git__push"])
                    .prop_map(str::to_owned),
            ],
            0..4,
        )
    ) {
        thread_local!(static ENGINE: (tokio::runtime::Runtime, Engine) = engine());
        let mut expected: Vec<String> = ENGINE.with(|(_, engine)| {
            let request = ViewRequest { agent: Some(list.clone()), ..ViewRequest::default() };
            let view = engine.catalog().view(&Arc::new(request));
            view.tools.iter().map(|entry| entry.spec().name.to_string()).collect()
        });
        expected.sort();
        let mut found = expand_tool_list(Some(&list), &tools()).tools;
        found.sort();
        prop_assert_eq!(found, expected);
    }
}
