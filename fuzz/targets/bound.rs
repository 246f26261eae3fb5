//! `sanitizer::TruncationLimits` and `truncate_json`: never longer than asked, exact counts, only
//! the middle is omitted.
#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use toolcrib_sanitizer::{Keep, TruncationLimits, truncate_json};

fuzz_target!(|input: &[u8]| {
    let Some((head, rest)) = input.split_at_checked(3) else { return };
    let max_chars = usize::from(head[0]) | usize::from(head[1] & 0x0f) << 8;
    let keep = if head[2] & 1 == 0 { Keep::Both } else { Keep::Tail };
    let artifact_ref = (head[2] & 2 == 0).then_some("art_0123456789abcdef");
    let text = String::from_utf8_lossy(rest);
    judge_text(&text, &TruncationLimits { max_chars, keep, artifact_ref });
    if let Ok(value) = serde_json::from_str::<Value>(&text) {
        judge_json(&value, max_chars);
    }
});

fn judge_text(text: &str, bounds: &TruncationLimits<'_>) {
    let total = text.chars().count();
    let bounded = bounds.apply(text);
    let length = bounded.text.chars().count();
    assert!(length <= bounds.max_chars, "{length} characters, {} asked", bounds.max_chars);
    let Some(cut) = bounded.cut else {
        assert_eq!(bounded.text, text);
        return;
    };
    assert!(total > bounds.max_chars, "cut without need");
    assert_eq!(cut.total_chars, total);
    assert_eq!(cut.kept_head + cut.kept_tail + cut.omitted, total);
    let kept_head: String = text.chars().take(cut.kept_head).collect();
    let kept_tail: String = text.chars().skip(total - cut.kept_tail).collect();
    assert!(bounded.text.contains(&kept_head), "the head is not in it");
    assert!(bounded.text.ends_with(&kept_tail), "the tail is not its end");
}

fn judge_json(value: &Value, max_chars: usize) {
    let bounded = truncate_json(value, max_chars);
    let length = bounded.value.to_string().chars().count();
    assert!(length <= max_chars.max(1), "{length} characters, {max_chars} asked");
    match bounded.cut {
        None => assert_eq!(&bounded.value, value),
        Some(cut) => assert_eq!(cut.total_chars, value.to_string().chars().count()),
    }
}
