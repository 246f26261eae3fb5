//! Property test: an updated index equals a new index of the remaining tools.

use std::collections::BTreeMap;
use std::sync::Arc;

use proptest::prelude::*;
use toolcrib_tool_search::{Index, Model, Parameter, ToolProfile};

const QUERIES: &[&str] = &[
    "send a message about the weather",
    "Search the files. Then convert the picture into text! And read_mail please",
    "user weather weather",
    "nothing",
    "",
];

#[derive(Debug, Clone)]
enum Change {
    Put(u8, ToolProfile),
    Remove(u8),
}

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "send", "message", "weather", "search", "file", "convert", "picture", "text", "read",
            "mail", "user", "the"
        ])
        .prop_map(str::to_owned),
        "[a-z]{1,6}",
        "\\PC{0,4}",
    ]
}

fn text(words: usize) -> impl Strategy<Value = String> {
    prop::collection::vec(word(), 0..words).prop_map(|words| words.join(" "))
}

fn profile() -> impl Strategy<Value = ToolProfile> {
    let name = prop::collection::vec(word(), 1..3).prop_map(|words| words.join("_"));
    let parameters = prop::collection::vec((word(), text(4)), 0..3);
    (name, text(2), text(8), parameters, text(3)).prop_map(
        |(name, server, description, parameters, guide)| ToolProfile {
            name,
            server,
            description,
            parameters: parameters
                .into_iter()
                .map(|(name, description)| Parameter { name, description })
                .collect(),
            guide,
            ..ToolProfile::default()
        },
    )
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (0u8..12, profile()).prop_map(|(id, profile)| Change::Put(id, profile)),
        1 => (0u8..12).prop_map(Change::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn changed_is_rebuilt(changes in prop::collection::vec(change(), 1..40), query in text(6)) {
        let model = Model::builtin().unwrap();
        let mut changed = Index::new(Arc::clone(&model));
        let mut left: BTreeMap<u8, ToolProfile> = BTreeMap::new();
        for change in changes {
            match change {
                Change::Put(id, profile) => {
                    changed.put(&id.to_string(), &profile);
                    left.insert(id, profile);
                }
                Change::Remove(id) => {
                    prop_assert_eq!(changed.remove(&id.to_string()), left.remove(&id).is_some());
                }
            }
        }
        let mut rebuilt = Index::new(model);
        for (id, profile) in left.iter().rev() {
            rebuilt.put(&id.to_string(), profile);
        }
        prop_assert_eq!(changed.len(), left.len());
        for query in QUERIES.iter().copied().chain([query.as_str()]) {
            prop_assert_eq!(changed.find(query, 12), rebuilt.find(query, 12), "{}", query);
        }
    }

    #[test]
    fn scores_are_shares(profiles in prop::collection::vec(profile(), 1..12), query in "\\PC{0,80}") {
        let mut index = Index::new(Model::builtin().unwrap());
        for (id, profile) in profiles.iter().enumerate() {
            index.put(&id.to_string(), profile);
        }
        let hits = index.find(&query, 20);
        prop_assert_eq!(hits.len(), profiles.len());
        prop_assert!(hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
        let place = |hit: &toolcrib_tool_search::Hit| (!hit.named, -hit.score);
        prop_assert!(hits.is_sorted_by(|a, b| place(a) <= place(b)));
    }
}
