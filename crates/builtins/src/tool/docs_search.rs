//! `docs_search`: searches the official documentation of a programming language or framework.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, CallCtx, ErrorType, Permission, Reach, Tool, ToolError, ToolOutput, ToolSpec,
    Trust, defaults,
};

use super::{base_spec, examples, web_search};
use crate::web::docs::{self, DevDocs, InstalledDocs, Library, Match};
use crate::web::search::{Query, SearchChain};

/// Handler of `docs_search`.
pub(crate) struct DocsSearch {
    pub(crate) chain: Arc<SearchChain>,
    pub(crate) dev_docs: DevDocs,
    /// Documentations in a folder of this machine; they are searched first.
    pub(crate) installed: Option<Arc<InstalledDocs>>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// What to search for: a function, a type, an error message, a topic.
    query: String,
    /// php, python, javascript, typescript, go, rust, java, ruby, csharp, dart, c, cpp, bash, sql,
    /// django, flask, numpy, pandas, laravel, node, react, vue, spring, rails or flutter.
    language: String,
    /// Number of results, 1 to 10. Default: 5.
    num: Option<u8>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "docs_search",
        "Search programming documentation",
        "Search the official documentation of a programming language or framework. To read a result use fetch_url.",
    );
    spec.group = Some("network".to_owned());
    spec.parameter_aliases = super::aliases([
        ("q", "query"),
        ("lang", "language"),
        ("framework", "language"),
        ("num_results", "num"),
    ]);
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.permissions = vec![Permission::Network];
    spec.timeout = defaults::TIMEOUT_NETWORK;
    spec.trust = Trust::External;
    spec.examples = examples([
        ("How do I split a string in Python?", json!({"query": "str.split", "language": "python"})),
        ("Find the docs of useEffect", json!({"query": "useEffect", "language": "react"})),
    ]);
    spec
}

impl Tool for DocsSearch {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let (query, library) = (web_search::valid_query(&args.query)?, library(&args.language)?);
        web_search::number(args.num)?;
        let summary = format!("search the documentation of {} for: {query}", library.name);
        Ok(Assessment::from_spec(spec).with_summary(summary))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (text, library) = (web_search::valid_query(&args.query)?, library(&args.language)?);
        let num = web_search::number(args.num)?;
        let mut failed = Vec::new();
        match self.installed(library, &text, num).await {
            Some(Ok(found)) if !found.is_empty() => {
                return Ok(output(&text, library, &found, &failed, "installed documentation"));
            }
            Some(Err(error)) => failed.push(error),
            Some(Ok(_)) | None => {}
        }
        if !self.chain.is_empty() {
            let query = Query { text: text.clone(), num, sites: library.sites.to_vec() };
            match self.chain.search(&query, ctx).await {
                Ok(found) if !found.hits.is_empty() => {
                    return Ok(web_search::output(&text, &found));
                }
                Ok(_) => {}
                Err(error) if error.error_type == ErrorType::Cancelled => return Err(error),
                Err(error) => failed.push(error.message_for_people().to_owned()),
            }
        }
        let Some(slug) = library.dev_docs else {
            return Err(without_index(library, &failed));
        };
        let found = self.dev_docs.search(slug, &text, num, ctx).await.map_err(|error| {
            failed.push(format!("DevDocs: {}.", error.reason));
            ToolError::new(error.kind, failed.join(" "))
                .with_instruction("Go on without the documentation, or try again later.")
        })?;
        let origin = format!("devdocs ({})", self.dev_docs.host());
        Ok(output(&text, library, &found, &failed, &origin))
    }
}

impl DocsSearch {
    /// Searches the folder; `None` if it has no documentation of this library.
    async fn installed(
        &self,
        library: &Library,
        query: &str,
        num: usize,
    ) -> Option<Result<Vec<Match>, String>> {
        let (docs, slug) = (Arc::clone(self.installed.as_ref()?), library.dev_docs?);
        let query = query.to_owned();
        let found = tokio::task::spawn_blocking(move || docs.search(slug, &query, num)).await;
        found.unwrap_or_else(|error| Err(error.to_string())).transpose()
    }
}

fn output(
    query: &str,
    library: &Library,
    found: &[Match],
    failed: &[String],
    origin: &str,
) -> ToolOutput {
    let lines = (1..).zip(found).map(|(number, one)| {
        let text = one.text.as_deref().map(|text| format!("\n\n{text}\n")).unwrap_or_default();
        format!(
            "{number}. {} ({}, {})\n   {}{text}",
            one.title, one.topic, one.documentation, one.url
        )
    });
    let mut text = lines.collect::<Vec<_>>().join("\n");
    if found.is_empty() {
        text = format!(
            "No name in the documentation of {} fits: {query}. Names are searched, not texts; use the name of a function or type.",
            library.name
        );
    }
    for failure in failed {
        text.push_str(&format!("\n({failure})"));
    }
    let data = json!({
        "query": query,
        "language": library.name,
        "backend": "devdocs",
        "results": found,
        "failed": failed,
    });
    ToolOutput::text(text).with_structured(data).with_origin(Trust::External, origin)
}

fn library(name: &str) -> Result<&'static Library, ToolError> {
    docs::find(name).map_err(|why| ToolError::validation(why).with_nothing_read())
}

fn without_index(library: &Library, failed: &[String]) -> ToolError {
    let kind = if failed.is_empty() { ErrorType::NotConfigured } else { ErrorType::NetworkError };
    let why = if failed.is_empty() {
        format!(
            "The documentation of {} is searched with a search back end only. {}",
            library.name,
            web_search::NO_BACKEND
        )
    } else {
        failed.join(" ")
    };
    let instruction = format!("Read {} with fetch_url instead.", library.sites.join(" or "));
    ToolError::new(kind, why).with_instruction(&instruction)
}
