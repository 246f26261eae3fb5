//! Property tests of the file readers: no text causes a panic.

use proptest::prelude::*;

use super::super::agent::{FileFormat, read};
use super::super::{guide, kit, skill};
use super::*;

/// Text that often enough looks like front matter to pass the first check.
fn nearly() -> impl Strategy<Value = String> {
    let keys = "(name|tools|limits|prompt|allowed-tools|steps|tool|examples|metadata|version)";
    let line = format!("{keys}: ?(x|[\\[{{\"'&*!|>-]{{0,3}}|\\PC{{0,8}}|[0-9.e-]{{0,6}})\n");
    let yaml = proptest::collection::vec(proptest::string::string_regex(&line).unwrap(), 0..6);
    (yaml, "\\PC{0,20}").prop_map(|(lines, body)| format!("---\n{}---\n{body}", lines.concat()))
}

fn read_all(text: &str) {
    let tools = KnownTools { names: &[], check: &|_, _| Ok(()) };
    let _ = read("a", text, FileFormat::Markdown, Location::BuiltIn);
    let _ = read("a", text, FileFormat::Toml, Location::BuiltIn);
    let _ = skill::parse("x", text, Location::BuiltIn);
    let _ = skill::unknown_keys(text);
    let _ = kit::read(text, Location::BuiltIn, &tools);
    let _ = guide::read(text, Location::BuiltIn, &tools);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text(text in "[\\s\\S]{0,200}") {
        read_all(&text);
        read_all(&format!("---\n{text}\n---\nbody"));
    }

    #[test]
    fn text_like_front_matter(text in nearly()) {
        read_all(&text);
    }

    #[test]
    fn a_good_file_cut_or_changed_anywhere(at in 0..400_usize, with in "\\PC{0,3}") {
        let good = include_str!("../../../kits/careful_edit.yaml");
        let at = good.floor_char_boundary(at);
        read_all(&good[..at]);
        read_all(&format!("{}{with}{}", &good[..at], &good[at..]));
    }
}

#[test]
fn deep_and_multiplied_yaml_is_refused() {
    read_all(&"[".repeat(100_000));
    read_all(&format!("---\na: {}\n---\n", "{a: ".repeat(10_000)));
    let mut bomb = "---\na0: &a0 [x, x]\n".to_owned();
    for i in 1..40 {
        bomb.push_str(&format!("a{i}: &a{i} [*a{0}, *a{0}]\n", i - 1));
    }
    let bomb = format!("{bomb}---\nbody");
    read_all(&bomb);
    assert!(skill::unknown_keys(&bomb).is_err());
}
