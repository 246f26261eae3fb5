//! Malicious profiles and queries cost no more than long ones.

use toolcrib_tool_search::{Index, Model, Parameter, ToolProfile};

fn weather() -> ToolProfile {
    ToolProfile {
        name: "get_forecast".to_owned(),
        description: "Weather forecast for a city.".to_owned(),
        ..ToolProfile::default()
    }
}

/// A profile of the maximum size that a server can send.
fn monster(word: &str) -> ToolProfile {
    let huge = word.repeat(2_000_000 / word.len());
    ToolProfile {
        name: huge.clone(),
        server: huge.clone(),
        description: huge.clone(),
        parameters: vec![Parameter { name: huge.clone(), description: huge.clone() }; 20],
        guide: huge.clone(),
        examples: vec![huge.clone(); 20],
        aliases: vec![huge; 3],
    }
}

#[test]
fn huge_profiles_are_cut() {
    let mut index = Index::new(Model::builtin().unwrap());
    index.put("good", &weather());
    for (id, word) in
        [("a", "weather "), ("b", "x"), ("c", "é_"), ("d", "\u{0}"), ("e", "天"), ("f", "aB1")]
    {
        index.put(id, &monster(word));
    }
    let hits = index.find("weather forecast for a city", 1);
    assert_eq!(&*hits[0].id, "good", "words that are repeated do not win: {hits:?}");
    for id in ["a", "b", "c", "d", "e", "f"] {
        assert!(index.remove(id));
    }
    assert_eq!(index.len(), 1);
}

#[test]
fn huge_queries_are_cut() {
    let mut index = Index::new(Model::builtin().unwrap());
    index.put("good", &weather());
    for query in [
        "weather ".repeat(1_000_000),
        "weather. forecast now! ".repeat(100_000),
        "é".repeat(3_000_000),
        "\n".repeat(1_000_000),
        "a_b".repeat(1_000_000),
        "' ` \" ".repeat(300_000),
        "x".repeat(5_000_000),
    ] {
        assert_eq!(index.find(&query, 5).len(), 1);
    }
}

#[test]
fn a_source_that_changes_for_ever_leaves_nothing() {
    let mut index = Index::new(Model::builtin().unwrap());
    index.put("good", &weather());
    let before = index.find("weather", 1);
    for round in 0..2000 {
        let name = format!("tool_{round}_{}", "abcdefghij".get(round % 10..).unwrap());
        let aliases = vec![format!("alias{round}")];
        index.put("moving", &ToolProfile { name, aliases, ..weather() });
    }
    assert_eq!(index.len(), 2);
    assert!(!index.find("alias1998", 1)[0].named);
    assert!(index.find("alias1999", 1)[0].named);
    assert!(index.remove("moving"));
    assert_eq!(index.find("weather", 1), before, "as if it had never been there");
}

#[test]
fn empty_profiles_are_tools_too() {
    let mut index = Index::new(Model::builtin().unwrap());
    index.put("", &ToolProfile::default());
    index.put("x", &ToolProfile::default());
    assert_eq!(index.find("anything", 5).len(), 2);
    assert!(!index.remove("y"));
    assert!(index.remove(""));
    assert_eq!(index.len(), 1);
}
