//! `docs/openapi.json` and `docs/rest-routes.md`: the daemon's interface, from `toolcrib util
//! openapi`.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::binary::Binary;
use super::markdown::{cell, notice};

/// Methods in the order in which they are listed.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];

const ABOUT: &str = "# Routes

Every route of the daemon with the role that it needs ([rest.md](rest.md) says how to use them, [openapi.json](openapi.json) has all fields, and a daemon shows
the same at `/docs`). A token has one role or several; `viewer` is part of all, and `owner` may do everything.

";

pub(super) fn document(binary: &Binary) -> Result<String> {
    Ok(format!("{:#}\n", binary.json(&["util", "openapi", "--json"])?))
}

pub(super) fn page(binary: &Binary) -> Result<String> {
    table(&binary.json(&["util", "openapi", "--json"])?)
}

fn table(document: &Value) -> Result<String> {
    let paths =
        document.get("paths").and_then(Value::as_object).context("a document without paths")?;
    let mut groups: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, methods) in paths {
        for method in METHODS {
            let Some(operation) = methods.get(method) else { continue };
            let text = |key: &str| operation.get(key).and_then(Value::as_str);
            let tag = operation.pointer("/tags/0").and_then(Value::as_str);
            let tag = tag.with_context(|| format!("{method} {path} has no group"))?;
            let summary =
                text("summary").with_context(|| format!("{method} {path} has no summary"))?;
            let role = text("x-role").unwrap_or("public");
            let method = method.to_uppercase();
            let row = format!("| `{method} {path}` | {role} | {} |\n", cell(summary));
            groups.entry(tag).or_default().push(row);
        }
    }
    let mut page = notice("`toolcrib util openapi`") + ABOUT;
    for (tag, rows) in groups {
        page += &format!("## {tag}\n\n| route | role | |\n|---|---|---|\n{}\n", rows.concat());
    }
    Ok(format!("{}\n", page.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_row_for_each_route_and_an_error_for_a_broken_one() {
        let document = json!({"paths": {"/a/{b}": {
            "delete": {"tags": ["a"], "summary": "Removes | it.", "x-role": "owner"},
            "get": {"tags": ["a"], "summary": "Shows it."},
        }}});
        let page = table(&document).unwrap();
        let rows = "| `GET /a/{b}` | public | Shows it. |\n| `DELETE /a/{b}` | owner | Removes \\| it. |\n";
        assert!(page.ends_with(rows), "{page}");
        assert!(table(&json!({"paths": {"/a": {"get": {"tags": ["a"]}}}})).is_err());
        assert!(table(&json!({})).is_err());
    }
}
