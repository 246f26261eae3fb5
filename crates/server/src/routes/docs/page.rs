//! Renders the documentation page.
#![deny(clippy::indexing_slicing)]

use std::collections::BTreeMap;

use serde_json::Value;

use super::example;

/// Methods in the order in which they are listed.
const METHODS: [&str; 5] = ["get", "post", "put", "patch", "delete"];
/// Depth to which nested fields are listed.
const DEPTH: usize = 2;

/// An operation in the OpenAPI document.
struct OperationView<'a> {
    method: &'static str,
    path: &'a str,
    operation: &'a Value,
}

impl OperationView<'_> {
    fn text(&self, key: &str) -> &str {
        self.operation.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

/// Renders the page of an OpenAPI document.
pub(super) fn render(document: &Value, style: &str) -> String {
    let groups = groups(document);
    let version = document.pointer("/info/version").and_then(Value::as_str).unwrap_or_default();
    let mut page =
        String::from("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
    page += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n";
    page += "<meta name=\"color-scheme\" content=\"light dark\">\n<title>Toolcrib API</title>\n";
    page += &format!("<style>{style}</style>\n</head>\n<body>\n<header>\n<h1>Toolcrib API</h1>\n");
    page += &format!(
        "<p>Version {}. <a href=\"/openapi.json\">openapi.json</a> says the same for machines.</p>\n",
        escape(version)
    );
    page += BEGIN;
    page += "</header>\n<nav aria-label=\"Groups\">\n<ul>\n";
    for (tag, shown) in &groups {
        page += &format!("<li><a href=\"#{0}\">{0}</a>\n<ul>\n", escape(tag));
        shown.iter().for_each(|one| page += &index_entry(one));
        page += "</ul>\n</li>\n";
    }
    page += "</ul>\n</nav>\n<main>\n";
    for (tag, shown) in &groups {
        page += &format!("<section id=\"{0}\">\n<h2>{0}</h2>\n", escape(tag));
        shown.iter().for_each(|one| page += &operation(one, document));
        page += "</section>\n";
    }
    page += &errors(document);
    page += "</main>\n</body>\n</html>\n";
    page
}

/// Renders a line of the index.
fn index_entry(shown: &OperationView<'_>) -> String {
    let (id, method) = (escape(shown.text("operationId")), shown.method.to_uppercase());
    format!("<li><a href=\"#{id}\">{method} {}</a></li>\n", breakable(shown.path))
}

/// Placeholder in a rendered page for the address of the daemon.
const ADDRESS: &str = "{address}";

/// The address in the page if a request does not name one.
pub(super) const DEFAULT_ADDRESS: &str = "http://127.0.0.1:8717";

/// Inserts the address into the page.
pub(super) fn with_address(page: &str, address: &str) -> String {
    page.replacen(ADDRESS, &escape(address), 1)
}

const BEGIN: &str = "<p>Everything but health and this page needs a token. The lines below work in a shell after these two:</p>\n\
    <pre><code>export TOOLCRIB={address}   # what `toolcrib serve` prints\nexport TOKEN=$(toolcrib token show)</code></pre>\n\
    <p>On this machine the socket works too, without a token: <code>curl --unix-socket PATH http://localhost/…</code></p>\n";

fn groups(document: &Value) -> BTreeMap<&str, Vec<OperationView<'_>>> {
    let mut groups: BTreeMap<&str, Vec<OperationView<'_>>> = BTreeMap::new();
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    for (path, methods) in paths {
        for method in METHODS {
            let Some(operation) = methods.get(method) else { continue };
            let tag = operation.pointer("/tags/0").and_then(Value::as_str).unwrap_or("other");
            groups.entry(tag).or_default().push(OperationView { method, path, operation });
        }
    }
    groups
}

fn operation(shown: &OperationView<'_>, document: &Value) -> String {
    let id = escape(shown.text("operationId"));
    let method = shown.method.to_uppercase();
    let mut html = format!(
        "<article id=\"{id}\">\n<h3><a href=\"#{id}\"><span class=\"method\">{method}</span> <code>{}</code></a></h3>\n",
        breakable(shown.path)
    );
    let role = match shown.text("x-role") {
        "" => "public".to_owned(),
        role => format!("role {}", escape(role)),
    };
    html += &format!(
        "<p>{} <span class=\"role\">{role}</span></p>\n",
        inline_markup(shown.text("summary"))
    );
    if !shown.text("description").is_empty() {
        html += &format!("<p>{}</p>\n", inline_markup(shown.text("description")));
    }
    html += &parameters(shown);
    let body = shown.operation.pointer("/requestBody/content").and_then(Value::as_object);
    let body = body.and_then(|content| content.iter().next());
    if let Some((media_type, content)) = body {
        html += &format!("<h4>Body <code>{}</code></h4>\n", escape(media_type));
        html += &fields(content.get("schema").unwrap_or(&Value::Null), document);
    }
    html += &answers(shown, document);
    html +=
        &format!("<pre><code>{}</code></pre>\n</article>\n", escape(&curl(shown, body, document)));
    html
}

fn parameters(shown: &OperationView<'_>) -> String {
    let parameters = shown.operation.get("parameters").and_then(Value::as_array);
    let Some(parameters) = parameters.filter(|parameters| !parameters.is_empty()) else {
        return String::new();
    };
    let mut html = String::from("<h4>Parameters</h4>\n<dl>\n");
    for parameter in parameters {
        let text = |key: &str| parameter.get(key).and_then(Value::as_str).unwrap_or_default();
        let kind = parameter.get("schema").map(example::kind).unwrap_or_default();
        let needed = parameter.get("required").and_then(Value::as_bool).unwrap_or_default();
        let about = [text("in"), &kind, if needed { "required" } else { "" }];
        html += &entry(text("name"), &about, text("description"), 0);
    }
    html + "</dl>\n"
}

fn entry(name: &str, about: &[&str], description: &str, depth: usize) -> String {
    let about: Vec<&str> = about.iter().copied().filter(|word| !word.is_empty()).collect();
    let deeper = if depth > 0 { " class=\"deeper\"" } else { "" };
    format!(
        "<dt{deeper}><code>{}</code> <small>{}</small></dt>\n<dd{deeper}>{}</dd>\n",
        breakable(name),
        escape(&about.join(", ")),
        inline_markup(description)
    )
}

/// Renders the fields of a body or a response.
fn fields(schema: &Value, document: &Value) -> String {
    let entries = entries(schema, document, 0);
    if entries.is_empty() { String::new() } else { format!("<dl>\n{entries}</dl>\n") }
}

fn entries(schema: &Value, document: &Value, depth: usize) -> String {
    let mut schema = example::resolved(schema, document);
    // A list is described by the schema of its items.
    while let Some(items) = schema.get("items") {
        schema = example::resolved(items, document);
    }
    let required = example::required_names(schema);
    let mut html = String::new();
    for (name, field) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let meant = resolve_schema(field, document);
        let about = field.get("description").or_else(|| meant.get("description"));
        let about = about.and_then(Value::as_str).unwrap_or_default();
        let needed = if required.contains(&name.as_str()) { "required" } else { "" };
        let values = values(meant);
        html += &entry(name, &[&example::kind(meant), &values, needed], about, depth);
        if depth + 1 < DEPTH {
            html += &entries(meant, document, depth + 1);
        }
    }
    html
}

/// Returns the schema of a field without null.
fn resolve_schema<'a>(field: &'a Value, document: &'a Value) -> &'a Value {
    let any = field.get("anyOf").or_else(|| field.get("allOf")).and_then(Value::as_array);
    let is_null = |one: &&Value| one.get("type").and_then(Value::as_str) == Some("null");
    let one = any.and_then(|any| any.iter().find(|one| !is_null(one)));
    example::resolved(one.unwrap_or(field), document)
}

/// Returns the allowed values of a text.
fn values(schema: &Value) -> String {
    let consts = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let consts = consts.filter_map(|one| one.get("const"));
    let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten();
    let words: Vec<&str> = listed.chain(consts).filter_map(Value::as_str).collect();
    words.join(" | ")
}

fn answers(shown: &OperationView<'_>, document: &Value) -> String {
    let mut html = String::from("<h4>Answers</h4>\n");
    let responses =
        shown.operation.get("responses").and_then(Value::as_object).into_iter().flatten();
    for (status, response) in responses {
        // All operations share the error responses, which the end of the page describes.
        let Some(about) = response.get("description").and_then(Value::as_str) else { continue };
        html += &format!("<p><strong>{}</strong> {}</p>\n", escape(status), inline_markup(about));
        let content =
            response.get("content").and_then(Value::as_object).into_iter().flatten().next();
        if let Some(schema) = content.and_then(|(_, content)| content.get("schema")) {
            html += &format!(
                "<details><summary>Fields</summary>\n{}</details>\n",
                fields(schema, document)
            );
        }
    }
    html
}

/// Renders a curl command for the operation.
fn curl(shown: &OperationView<'_>, body: Option<(&String, &Value)>, document: &Value) -> String {
    let mut line = String::from("curl");
    if shown.method != "get" {
        line += &format!(" -X {}", shown.method.to_uppercase());
    }
    if !shown.text("x-role").is_empty() {
        line += " -H \"Authorization: Bearer $TOKEN\"";
    }
    if let Some((media_type, content)) = body {
        line += &format!(" -H 'Content-Type: {media_type}'");
        line += &match content.get("schema") {
            Some(schema) => format!(" -d '{}'", example::example_for(schema, document)),
            None => " --data-binary @FILE".to_owned(),
        };
    }
    let path: Vec<String> = shown
        .path
        .split('/')
        .map(|part| part.replace(['{', '}', '*'], "").replace('-', "_"))
        .collect();
    let named = shown.path.split('/').zip(path).map(|(part, name)| {
        if part.starts_with('{') { name.to_uppercase() } else { part.to_owned() }
    });
    let path: Vec<String> = named.collect();
    format!("{line} \"$TOOLCRIB{}\"", path.join("/"))
}

fn errors(document: &Value) -> String {
    let mut html = String::from(
        "<section id=\"errors\">\n<h2>errors</h2>\n<p>What cannot be carried out is answered as <code>application/problem+json</code>. Programs decide by <code>code</code>, which never changes its meaning.</p>\n",
    );
    let problem = document.pointer("/components/schemas/Problem").unwrap_or(&Value::Null);
    html += &fields(problem, document);
    let codes = document.pointer("/components/schemas/Code/oneOf").and_then(Value::as_array);
    html += "<h3>Codes</h3>\n<dl>\n";
    for code in codes.into_iter().flatten() {
        let text = |key: &str| code.get(key).and_then(Value::as_str).unwrap_or_default();
        html += &entry(text("const"), &[], text("description"), 0);
    }
    html + "</dl>\n</section>\n"
}

/// Renders text between backticks as code.
fn inline_markup(text: &str) -> String {
    let parts = text.split('`').enumerate();
    parts
        .map(
            |(at, part)| {
                if at % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { escape(part) }
            },
        )
        .collect()
}

/// Adds break opportunities to a long path, for narrow screens.
fn breakable(path: &str) -> String {
    escape(path).replace('/', "/<wbr>").replace('_', "_<wbr>")
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&#39;",
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn text_of_the_document_is_no_markup() {
        let document = json!({"info": {"version": "<1>"}, "paths": {"/a/{b}": {"post": {
            "tags": ["x"], "operationId": "o", "summary": "Does `<b>` & more.", "x-role": "owner",
            "requestBody": {"content": {"application/json": {"schema": {"type": "object", "required": ["text"], "properties": {
                "text": {"type": "string", "description": "<script>"}}}}}},
            "responses": {"200": {"description": "It's done."}, "400": {"$ref": "#/x"}},
        }}}});
        let page = render(&document, "");
        for part in [
            "Version &lt;1&gt;",
            "Does <code>&lt;b&gt;</code> &amp; more.",
            "&lt;script&gt;",
            "role owner",
            "It&#39;s done.",
            "&quot;$TOOLCRIB/a/B&quot;",
            "-d &#39;{&quot;text&quot;:&quot;What time is it?&quot;}&#39;",
        ] {
            assert!(page.contains(part), "{part} is missing in {page}");
        }
        assert!(!page.contains("<script") && !page.contains("http://cdn"));
    }
}
