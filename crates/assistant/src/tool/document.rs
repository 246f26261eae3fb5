//! `document`: searches files that people added, by words and meaning.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, Block, CallCtx, Effect, Permission, Tool, ToolError, ToolOutput, ToolSpec, Trust,
    defaults,
};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{DOCUMENTS, aliases, base_spec, examples};
use crate::document::{Deletion, Document};
use crate::rows::Writer;

const NAME: &str = "document";
/// Default and maximum number of passages.
const PASSAGES: usize = 5;
const MOST_PASSAGES: usize = 20;
/// Default and maximum number of characters of a view.
const CHARS: usize = 4_000;
const MOST_CHARS: usize = 8_000;

/// Handler of `document`.
pub(super) struct DocumentTool(pub(super) AssistantTools);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    Add,
    Search,
    List,
    View,
    Delete,
    Restore,
}

impl Action {
    fn as_str(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Search => "search",
            Self::List => "list",
            Self::View => "view",
            Self::Delete => "delete",
            Self::Restore => "restore",
        }
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// delete takes two steps: the first returns a code for confirm.
    action: Action,
    /// For search: what to look for.
    query: Option<String>,
    /// For view, delete and restore: id or name.
    document: Option<String>,
    /// For add: file of the workspace.
    path: Option<String>,
    /// For view: first page or sheet. Default: 1.
    page: Option<u32>,
    /// First character in that page. Default: 0.
    offset: Option<u32>,
    /// For search: number of passages. Default: 5.
    #[schemars(range(min = 1, max = 20))]
    limit: Option<usize>,
    /// For view: number of characters. Default: 4000.
    #[schemars(range(min = 1, max = 8000))]
    max_chars: Option<usize>,
    /// For delete: the code of the first step.
    confirm: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        NAME,
        "Search documents",
        "Search the documents that the user has put in, such as contracts and manuals, and read them page by page.",
        DOCUMENTS,
    );
    spec.timeout = defaults::TIMEOUT;
    spec.parameter_aliases = aliases([("id", "document"), ("name", "document"), ("file", "path")]);
    spec.examples = examples([
        (
            "When does my rental contract end?",
            json!({"action": "search", "query": "rental contract notice period end"}),
        ),
        (
            "Read page 3 of the manual",
            json!({"action": "view", "document": "manual.pdf", "page": 3}),
        ),
        ("Add the report to my documents", json!({"action": "add", "path": "report.pdf"})),
    ]);
    spec.needs = ["search my documents", "what does the contract say", "find it in the manual"]
        .map(str::to_owned)
        .to_vec();
    spec
}

impl Tool for DocumentTool {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let about = [&args.document, &args.path, &args.query].into_iter().flatten().next();
        let action = args.action.as_str();
        let about = about.map(String::as_str).unwrap_or_default();
        let summary = format!("documents: {action} {about}");
        let mut assessment = Assessment::from_spec(spec).with_summary(summary.trim_end());
        assessment.operation = Some(format!("{NAME}.{action}"));
        match args.action {
            Action::Search | Action::List | Action::View => {
                assessment.effect = Effect::Read;
                assessment.reach.private_read = true;
            }
            Action::Add => {
                assessment.effect = Effect::Idempotent;
                assessment.permissions.push(Permission::FsRead);
            }
            // The first step deletes nothing; the second can be undone for 30 days.
            Action::Delete if args.confirm.is_some() => assessment.effect = Effect::Destructive,
            Action::Delete => assessment.effect = Effect::Read,
            Action::Restore => assessment.effect = Effect::Idempotent,
        }
        Ok(assessment)
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let documents = &self.0.documents;
        let owner = &ctx.context.owner;
        let writer =
            Writer { owner: owner.clone(), author: author(ctx), untrusted: self.0.untrusted(ctx) };
        let given = |value: &Option<String>, name: &str| {
            let value = value.clone().filter(|value| !value.trim().is_empty());
            let action = args.action.as_str();
            value.ok_or_else(|| ToolError::validation(format!("`{action}` needs `{name}`.")))
        };
        match args.action {
            Action::Add => {
                let path = given(&args.path, "path")?;
                let bytes = self.0.files.read(ctx, &path).await?;
                let name = path.rsplit('/').next().unwrap_or(&path);
                let document = documents.add(&writer, name, bytes).await?;
                Ok(ToolOutput::structured(row(&document)))
            }
            Action::List => {
                let all = documents.list(owner, false).await?;
                if all.is_empty() {
                    return Ok(ToolOutput::text("There are no documents."));
                }
                let rows: Vec<Value> = all.iter().map(row).collect();
                Ok(labelled(ToolOutput::structured(json!({ "documents": rows })), all.iter()))
            }
            Action::Search => {
                let query = given(&args.query, "query")?;
                let limit = args.limit.unwrap_or(PASSAGES).clamp(1, MOST_PASSAGES);
                let found = documents.search(owner, &query, limit).await?;
                if found.is_empty() {
                    return Ok(ToolOutput::text("Nothing in the documents fits."));
                }
                let passage = |(document, passage): &(Document, crate::document::Passage)| {
                    json!({
                        "document": document.id, "name": document.name, "page": passage.page,
                        "offset": passage.offset, "text": passage.text.trim(),
                    })
                };
                let rows: Vec<Value> = found.iter().map(passage).collect();
                let output = ToolOutput::structured(json!({ "passages": rows }));
                Ok(labelled(output, found.iter().map(|(document, _)| document)))
            }
            Action::View => {
                let name = given(&args.document, "document")?;
                let (page, offset) = (args.page.unwrap_or(1), args.offset.unwrap_or(0));
                let chars = args.max_chars.unwrap_or(CHARS).clamp(1, MOST_CHARS);
                let view = documents.view(owner, &name, page, offset, chars).await?;
                let mut about = format!("{} ({})", view.document.name, view.document.format);
                if let Some((page, offset)) = view.next {
                    about += &format!(": continue with page {page}, offset {offset}.");
                }
                let next = view.next.map(|(page, offset)| json!({"page": page, "offset": offset}));
                let data = json!({
                    "document": view.document.id, "name": view.document.name, "text": view.text,
                    "next": next,
                });
                let blocks = vec![Block::text(about), Block::text(view.text)];
                let output = ToolOutput::from_blocks(blocks).with_structured(data);
                Ok(labelled(output, std::iter::once(&view.document)))
            }
            Action::Delete => {
                let name = given(&args.document, "document")?;
                let code = args.confirm.as_deref().filter(|code| !code.trim().is_empty());
                Ok(ToolOutput::structured(match documents.delete(&writer, &name, code).await? {
                    Deletion::Asked { document, code } => json!({
                        "document": document.id, "name": document.name, "deleted": false,
                        "confirm": code,
                        "note": "Nothing is deleted yet. Ask the person, then call delete again with this code in confirm.",
                    }),
                    Deletion::Done(document) => {
                        json!({ "document": document.id, "name": document.name, "deleted": true })
                    }
                }))
            }
            Action::Restore => {
                let name = given(&args.document, "document")?;
                let document = documents.restore(&writer, &name).await?;
                Ok(ToolOutput::structured(row(&document)))
            }
        }
    }
}

fn row(document: &Document) -> Value {
    let mut row = json!({
        "document": document.id, "name": document.name, "format": document.format,
        "status": document.status.as_str(),
    });
    if document.parts > 0 {
        row[format!("{}s", document.unit)] = json!(document.parts);
    }
    if document.next_part > 0 && document.status.as_str() == "indexing" {
        row["read_up_to"] = json!(document.next_part.saturating_sub(1));
    }
    if let Some(problem) = &document.problem {
        row["problem"] = json!(problem);
    }
    row
}

/// Labels a result: the text belongs to the person's files, or is untrusted if a run that had read
/// untrusted text added the file.
fn labelled<'a>(
    output: ToolOutput,
    documents: impl Iterator<Item = &'a Document> + Clone,
) -> ToolOutput {
    let names: Vec<&str> = documents.clone().map(|one| one.name.as_str()).take(3).collect();
    match documents.clone().find_map(|one| one.untrusted.clone()) {
        Some(source) => output.with_origin(Trust::External, source),
        None => output.with_origin(Trust::Workspace, names.join(", ")),
    }
}
