//! `docs/defaults.md`: every limit and default with its source, from the one table in `core`.

use std::fs;

use anyhow::{Context, Result, ensure};

use super::markdown::{cell, notice};
use crate::tree;

const SOURCE: &str = "crates/core/src/defaults.rs";

pub(super) fn page() -> Result<String> {
    let text = fs::read_to_string(tree::root().join(SOURCE))
        .with_context(|| format!("reading {SOURCE}"))?;
    let rows = rows(&text);
    ensure!(!rows.is_empty(), "{SOURCE} has no constants");
    let mut page = notice(SOURCE);
    page.push_str("# Defaults and limits\n\n");
    page.push_str("| name | value | meaning |\n|---|---|---|\n");
    for row in rows {
        page.push_str(&format!(
            "| `{}` | {} | {} |\n",
            row.name,
            value(row.value),
            cell(&row.about)
        ));
    }
    Ok(page)
}

struct Row<'a> {
    name: &'a str,
    value: &'a str,
    about: String,
}

/// Every `/// about` + `pub const NAME: Type = value;`.
fn rows(source: &str) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    let mut about = String::new();
    for line in source.lines() {
        if let Some(text) = line.strip_prefix("///") {
            about.push_str(text);
        } else if let Some((name, rest)) =
            line.strip_prefix("pub const ").and_then(|l| l.split_once(':'))
        {
            let value = rest.split_once("= ").map_or("", |(_, value)| value.trim_end_matches(';'));
            rows.push(Row { name, value, about: std::mem::take(&mut about) });
        } else {
            about.clear();
        }
    }
    rows
}

/// Rust's spelling of a value in that of people.
fn value(rust: &str) -> String {
    let inside = |call: &str| rust.strip_prefix(call).and_then(|rest| rest.strip_suffix(')'));
    if let Some(millis) = inside("Duration::from_millis(") {
        return format!("{} ms", millis.replace('_', ","));
    }
    let seconds = inside("Duration::from_secs(");
    match (seconds, rust.strip_suffix(" * 1024 * 1024"), rust.strip_suffix(" * 1024")) {
        (Some(seconds), ..) => match product(seconds) {
            Some(total) if total % 3600 == 0 => format!("{} h", total / 3600),
            Some(total) => format!("{total} s"),
            None => format!("{seconds} s"),
        },
        (None, Some(mb), _) => format!("{mb} MB"),
        (None, None, Some(kb)) => format!("{kb} KB"),
        (None, None, None) => rust.replace('_', ","),
    }
}

fn product(factors: &str) -> Option<u64> {
    factors.split('*').map(|factor| factor.trim().replace('_', "").parse::<u64>().ok()).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_for_people() {
        for (rust, people) in [
            ("Duration::from_secs(30)", "30 s"),
            ("Duration::from_secs(3600)", "1 h"),
            ("Duration::from_secs(24 * 3600)", "24 h"),
            ("Duration::from_millis(100)", "100 ms"),
            ("Duration::from_millis(1_500)", "1,500 ms"),
            ("256 * 1024 * 1024", "256 MB"),
            ("512 * 1024", "512 KB"),
            ("20_000", "20,000"),
            ("1.5", "1.5"),
        ] {
            assert_eq!(value(rust), people);
        }
    }

    #[test]
    fn constants_are_found_with_their_words() {
        let rows =
            rows("//! H\n\n/// One\n/// thing.\npub const A: usize = 3;\nconst B: u8 = 1;\n");
        assert_eq!(rows.len(), 1);
        assert_eq!(
            (rows[0].name, rows[0].value, rows[0].about.as_str()),
            ("A", "3", " One thing.")
        );
    }

    #[test]
    fn no_value_is_written_as_rust() {
        let page = page().unwrap();
        let values = page.lines().filter_map(|line| line.split(" | ").nth(1));
        for value in values {
            assert!(!value.contains("::") && !value.contains('('), "{value}");
        }
    }

    #[test]
    fn the_table_of_core_has_the_bound_of_results() {
        assert!(page().unwrap().contains("| `RESULT_CHARS` | 20,000 |"));
    }
}
