//! Ranking tests: by words, by meaning, by name, with several needs.

use toolcrib_tool_search::{Hit, Index, MIN_SCORE, Model, Parameter, ToolProfile};

/// Name, server, description.
const TOOLS: &[(&str, &str, &str)] = &[
    ("get_forecast", "weather", "Returns the weather forecast for a city."),
    ("send_message", "slack", "Posts a message to a channel."),
    ("send_mail", "mail", "Sends an e-mail with optional attachments."),
    ("create_issue", "github", "Opens a new issue in a repository."),
    ("search", "web", "Searches the web and returns links."),
    ("search_files", "files", "Finds files whose content matches a pattern."),
    ("convert_currency", "money", "Converts an amount between two currencies at today's rate."),
    ("translate_text", "language", "Translates text from one language into another."),
    ("resize_image", "images", "Changes width and height of a picture."),
    ("étapes_du_colis", "poste", "Compte le nombre d'étapes du colis."),
    ("查询天气", "", "查询城市的天气预报"),
];

fn profile(name: &str, server: &str, description: &str) -> ToolProfile {
    ToolProfile {
        name: name.to_owned(),
        server: server.to_owned(),
        description: description.to_owned(),
        ..ToolProfile::default()
    }
}

fn index() -> Index {
    let mut index = Index::new(Model::builtin().unwrap());
    for (name, server, description) in TOOLS {
        index.put(name, &profile(name, server, description));
    }
    index
}

fn ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| &*hit.id).collect()
}

fn check(query: &str, first: &str) {
    let hits = index().find(query, 3);
    assert_eq!(ids(&hits)[0], first, "{query}: {hits:?}");
    assert!(hits[0].score >= MIN_SCORE, "{query}: {hits:?}");
}

#[test]
fn by_words() {
    check("send a message to a channel", "send_message");
    check("sending e-mails", "send_mail");
    check("a new github issue", "create_issue");
    check("resizing images", "resize_image");
}

#[test]
fn by_meaning() {
    check("will it rain in Oslo tomorrow", "get_forecast");
    check("how many dollars are 20 euros", "convert_currency");
    check("make this photo smaller", "resize_image");
    check("say this in French", "translate_text");
}

#[test]
fn linkedin_is_one_word_to_some() {
    let mut index = index();
    index.put("hub", &profile("op_1", "", "Everything that LinkedIn can do."));
    index.put("tube", &profile("op_2", "youtube", "Clips."));
    for (query, expected) in [
        ("what does linkedin do", "hub"),
        ("what can LinkedIn do", "hub"),
        ("YouTube clips", "tube"),
    ] {
        assert_eq!(ids(&index.find(query, 1)), [expected], "{query}");
    }
}

#[test]
fn in_other_languages_by_words() {
    check("nombre d'etapes du colis", "étapes_du_colis");
    check("nombre d'e\u{301}tapes du colis", "étapes_du_colis");
    check("天气预报", "查询天气");
}

#[test]
fn a_name_that_is_spelled_out_comes_first() {
    for query in [
        "search_files",
        "I think that search_files would do: send a message about the weather forecast of the city",
        "call `search_files`, please",
    ] {
        let hits = index().find(query, 3);
        assert_eq!(ids(&hits)[0], "search_files", "{query}: {hits:?}");
        assert!(hits[0].named && !hits[1].named, "{query}: {hits:?}");
    }
    let hits = index().find("search for a picture and resize it", 3);
    assert!(hits.iter().all(|hit| !hit.named), "a verb is not a name: {hits:?}");
}

#[test]
fn a_name_is_found_among_thousands_of_better_tools() {
    let mut index = index();
    for i in 0..2000 {
        index.put(&format!("w{i}"), &profile("weather", "weather", "Weather forecast for a city."));
    }
    let hits = index.find("weather forecast for a city with create_issue", 2);
    assert_eq!(ids(&hits)[0], "create_issue");
}

#[test]
fn every_sentence_is_a_need() {
    let hits = index().find(
        "Tell me the weather forecast for Oslo. Also convert 20 dollars to crowns. Then send an e-mail to my boss.",
        3,
    );
    let mut found = ids(&hits);
    found.sort_unstable();
    assert_eq!(found, ["convert_currency", "get_forecast", "send_mail"]);
}

#[test]
fn what_no_tool_does_is_below_the_floor() {
    for query in
        ["frobnicate the quux", "zxcv qwer asdf", "👍👍👍", "ωψχφ", "please, would you", ""]
    {
        let hits = index().find(query, 3);
        assert!(hits.iter().all(|hit| hit.score < MIN_SCORE), "{query}: {hits:?}");
    }
}

#[test]
fn parameters_guide_examples_and_aliases_count() {
    let mut index = index();
    let mut tool = profile("op_17", "", "Does it.");
    tool.parameters = vec![Parameter {
        name: "isbnNumber".to_owned(),
        description: "Number of the book.".to_owned(),
    }];
    tool.guide = "Use it for anything about publishers.".to_owned();
    tool.examples = vec!["Who wrote Moby Dick?".to_owned()];
    tool.aliases = vec!["book_lookup".to_owned()];
    index.put("op_17", &tool);
    for query in ["isbn", "publishers", "who wrote that novel", "book_lookup"] {
        assert_eq!(ids(&index.find(query, 1)), ["op_17"], "{query}");
    }
    assert!(index.find("book_lookup", 1)[0].named);
}

#[test]
fn only_what_may_be_seen_is_found() {
    let index = index();
    let hits =
        index.find_among("search_files or the weather forecast", 20, |id| id.starts_with("send"));
    assert_eq!(hits.len(), 2, "{hits:?}");
    assert!(hits.iter().all(|hit| hit.id.starts_with("send")));
    assert_eq!(index.find_among("weather", 5, |_| false), []);
}

#[test]
fn limits_hold() {
    let index = index();
    assert_eq!(index.find("weather", 0), []);
    assert_eq!(index.find("weather", 4).len(), 4);
    assert_eq!(index.find("weather", usize::MAX).len(), TOOLS.len());
    assert_eq!(Index::new(Model::builtin().unwrap()).find("weather", 5), []);
}

#[test]
fn equal_tools_come_in_the_order_of_their_ids() {
    let mut index = Index::new(Model::builtin().unwrap());
    for id in ["c", "a", "e", "b", "d"] {
        index.put(id, &profile("same", "", "The same tool again."));
    }
    assert_eq!(ids(&index.find("the same tool", 3)), ["a", "b", "c"]);
}
