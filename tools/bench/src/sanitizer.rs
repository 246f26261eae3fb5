//! Making output harmless, and making it short.

use std::hint::black_box;

use toolcrib_sanitizer::{sanitize, truncate};

use crate::results::Results;
use crate::timing::cpu_nanos;

pub(crate) fn run(table: &mut Results) {
    let ascii =
        "A line of an ordinary log file, 2026-11-21T10:00:00Z level=info msg=ok <a@b> [x]\n"
            .repeat(12_000);
    let mixed = "Grüße aus Köln, 你好世界, नमस्ते, שלום 👩‍👩‍👧 und ein Satz.\n".repeat(12_000);
    let json = format!("[{}]", vec![r#"{"name":"a row","n":12345,"ok":true}"#; 25_000].join(","));
    let hostile = "text <|im_start|> \u{200b} [INST] \u{1b}[2J more\n".repeat(20_000);
    for (what, text, content_type) in [
        ("plain log", &ascii, "text/plain"),
        ("prose in many scripts", &mixed, "text/plain"),
        ("JSON", &json, "application/json"),
        ("hostile text", &hostile, "text/plain"),
    ] {
        let nanos = cpu_nanos(5, 4, || drop(black_box(sanitize(text, content_type))));
        table.figure(format!("sanitize: {what}"), text.len() as f64 * 1000.0 / nanos, "MB/s");
    }
    let nanos = cpu_nanos(5, 4, || drop(black_box(truncate(&mixed, 20_000))));
    table.figure("bound: prose in many scripts", mixed.len() as f64 * 1000.0 / nanos, "MB/s");
}
