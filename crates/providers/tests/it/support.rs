//! Test helpers: reads the recordings and prints turns.

use std::path::PathBuf;

use toolcrib_core::RawArgs;
use toolcrib_providers::{Format, ModelCall, Turn, parse};

pub(crate) fn folder(format: Format) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "tests", "fixtures", format.as_str()].iter().collect()
}

pub(crate) fn fixture(format: Format, file: &str) -> Vec<u8> {
    let path = folder(format).join(file);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Every recorded answer with its format.
pub(crate) fn fixtures() -> Vec<(Format, String, Vec<u8>)> {
    let mut all = Vec::new();
    for format in Format::ALL {
        for entry in std::fs::read_dir(folder(format)).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let body = fixture(format, &file);
            all.push((format, file, body));
        }
    }
    all
}

pub(crate) fn turn(format: Format, file: &str) -> Turn {
    parse(format, &fixture(format, file)).unwrap_or_else(|e| panic!("{format}/{file}: {e}"))
}

pub(crate) fn is_broken(call: &ModelCall) -> bool {
    matches!(call.args, RawArgs::Broken(_))
}

/// `name#id arguments`, one line per call.
pub(crate) fn show(turn: &Turn) -> Vec<String> {
    turn.calls
        .iter()
        .map(|call| {
            let args = match &call.args {
                RawArgs::Text(text) => text.clone(),
                RawArgs::Value(value) => value.to_string(),
                RawArgs::Broken(_) | RawArgs::Sealed(_) => "BROKEN".to_owned(),
            };
            format!("{}#{} {args}", call.name, call.provider_id.as_deref().unwrap_or("-"))
        })
        .collect()
}
