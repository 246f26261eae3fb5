//! Properties of every text: sanitizing twice equals sanitizing once, no token survives, JSON stays
//! JSON, and the output does not grow excessively.

use super::byte_scan;
use super::control_tokens::{BARRED, BRACKETS, TAGS, TURNS};
use super::{sanitize, sanitize_bytes};
use proptest::prelude::*;
use serde_json::Value;

/// Every literal spelling that must not survive, written out; independent of the matcher.
fn listed() -> Vec<String> {
    let mut tokens = Vec::new();
    for (name, _) in BARRED {
        tokens.extend([format!("<|{name}|>"), format!("<｜{}｜>", name.replace('_', "▁"))]);
    }
    for tag in TAGS {
        let name = tag.name;
        match name {
            "invoke" | "parameter" => tokens.push(format!("<{name} name=")),
            "function" => tokens.push(format!("<{name}=")),
            _ => tokens.push(format!("<{name}>")),
        }
        tokens.push(format!("</{name}>"));
    }
    for bracket in BRACKETS {
        tokens.push(format!("[/{}]", bracket.name));
        let end = if bracket.name == "TOOL" { ":" } else { "]" };
        tokens.push(format!("[{}{end}", bracket.name));
    }
    tokens.extend(TURNS.map(|turn| format!("\n\n{turn}:")));
    tokens.extend(["<<SYS>>", "<</SYS>>"].map(str::to_owned));
    tokens
}

/// Generates pieces of hostile text.
fn piece() -> impl Strategy<Value = String> {
    let odd = "[\u{0}-\u{20}\u{7F}-\u{9F}\u{AD}\u{34F}\u{61C}\u{115F}\u{180B}\u{200B}-\u{200F}\
               \u{202A}-\u{202E}\u{2060}-\u{2069}\u{3164}\u{FE00}-\u{FE0F}\u{FEFF}\u{E0020}-\
               \u{E007F}\u{E0100}🏴👍🇩❤เกשםعمमकಕ가葛ᠨ]{1,3}";
    prop_oneof![
        4 => proptest::sample::select(listed()),
        4 => odd.prop_map(|text: String| text),
        4 => "[<>|\\[\\]/!():\"'\\\\ \n\r=._~a-z0-9A-Z｜＜［▁-]{1,4}".prop_map(|text: String| text),
        1 => "\\PC{1,3}".prop_map(|text: String| text),
        1 => Just("![a](http://e.example)".to_owned()),
        1 => Just("![a][b]\n\n[b]: //e.example\n".to_owned()),
        1 => Just("<img src=http://e.example>".to_owned()),
        1 => Just("\n\nHuman: ".to_owned()),
    ]
}

pub(super) fn hostile() -> impl Strategy<Value = String> {
    proptest::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat())
}

fn hostile_json() -> impl Strategy<Value = Value> {
    let leaf =
        prop_oneof![Just(Value::from(1.5)), Just(Value::Null), hostile().prop_map(Value::from)];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((hostile(), inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn survivor(text: &str) -> Option<String> {
    listed().into_iter().find(|token| text.contains(token.as_str()))
}

/// Walks two values of the same shape and passes pairs of strings to `each`.
fn strings<'a>(a: &'a Value, b: &'a Value, each: &mut dyn FnMut(&'a str, &'a str)) -> bool {
    match (a, b) {
        (Value::String(a), Value::String(b)) => each(a, b),
        (Value::Array(a), Value::Array(b)) => {
            return a.len() == b.len() && a.iter().zip(b).all(|(a, b)| strings(a, b, each));
        }
        (Value::Object(a), Value::Object(b)) => {
            return a.len() == b.len()
                && a.iter().zip(b).all(|((key_a, a), (key_b, b))| {
                    each(key_a, key_b);
                    strings(a, b, each)
                });
        }
        (a, b) => return a == b,
    }
    true
}

#[test]
fn the_list_is_complete() {
    assert!(listed().len() > 180);
    for token in listed() {
        assert!(survivor(&token).is_some());
        assert_eq!(survivor(&sanitize(&token, "text/plain").text), None, "{token:?}");
    }
}

#[test]
fn texts_made_to_be_slow_or_to_swell_do_neither() {
    for unit in [
        "<",
        "[",
        "![",
        "![](",
        "<img ",
        "<img a='",
        "](",
        "<|",
        "\n\n",
        "< ",
        "\u{202E}\n",
        "[x]: ",
        "\u{2066}",
        "ignore ",
        "\u{E0041}",
        "a\u{200B}",
        "<system\n",
        "\\[",
        "![a](&#9;",
        "\r",
        "&#",
    ] {
        let text = unit.repeat(16_000 / unit.len());
        let started = std::time::Instant::now();
        for content_type in ["text/plain", "application/json", "text/html"] {
            let out = sanitize(&text, content_type);
            assert!(out.text.len() <= 3 * text.len() + 256, "{unit:?} swells");
        }
        // Linear time is some milliseconds here; a quadratic one would be far beyond a noisy
        // machine.
        assert!(started.elapsed().as_secs() < 10, "{unit:?} takes {:?}", started.elapsed());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_second_pass_changes_nothing(text in hostile()) {
        for content_type in ["text/plain", "text/markdown", "application/json", "text/x-rust"] {
            let once = sanitize(&text, content_type).text.into_owned();
            let twice = sanitize(&once, content_type).text;
            prop_assert_eq!(&*twice, &once, "{} {:?}", content_type, text);
        }
    }

    #[test]
    fn no_listed_token_survives(text in hostile()) {
        for content_type in ["text/plain", "application/json", "text/x-rust", "text/html"] {
            let out = sanitize(&text, content_type).text;
            prop_assert_eq!(survivor(&out), None, "{} {:?} -> {:?}", content_type, text, out);
        }
    }

    #[test]
    fn honest_text_is_only_ever_added_to(text in hostile()) {
        // Removing the added backslashes restores the text, unless characters were hidden.
        let visible: String = text.chars().filter(|c| !c.is_control() && !super::invisible_chars::is_invisible(*c)).collect();
        let out = sanitize(&visible, "text/markdown").text;
        let mut rest = visible.as_str();
        for c in out.chars() {
            match rest.chars().next() {
                Some(next) if next == c => rest = byte_scan::text_from(rest, c.len_utf8()),
                _ => prop_assert_eq!(c, '\\', "{:?} -> {:?}", visible, out),
            }
        }
        prop_assert_eq!(rest, "");
    }

    #[test]
    fn json_stays_json_and_changes_only_in_strings(value in hostile_json(), pretty: bool) {
        let text = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) }.unwrap();
        let out = sanitize(&text, "application/json").text;
        let read: Value = serde_json::from_str(&out).map_err(|e| TestCaseError::fail(format!("{e}: {out}")))?;
        let mut live = None;
        let same_shape = strings(&value, &read, &mut |before, after| {
            if let Some(token) = survivor(after) {
                live = Some(token);
            }
            let unlike = before != after && sanitize(before, "text/x-rust").text == before;
            if unlike && !after.contains("!\\[") && !after.contains("<\\img") {
                live = Some(format!("{before:?} became {after:?}"));
            }
        });
        // Two keys may become one only if they consisted of hidden characters alone.
        prop_assert!(same_shape || text.contains('…'), "{} -> {}", text, out);
        prop_assert_eq!(live, None);
    }

    #[test]
    fn the_output_does_not_swell(bytes in proptest::collection::vec(any::<u8>(), 0..400), text in hostile()) {
        let out = sanitize(&text, "text/plain").text;
        prop_assert!(out.len() <= 5 * text.len() / 2 + 64, "{} -> {}", text.len(), out.len());
        let out = sanitize_bytes(&bytes, "text/plain").text;
        prop_assert!(out.len() <= 3 * bytes.len() + 64);
    }
}
