//! One query to a language server, from the call to the rendered result.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{CallCtx, CancellationToken, ErrorType, ToolError};

use super::languages::{Language, Server};
use super::manager::{Servers, SessionLease};
use super::position::{self, Position};
use super::render::Renderer;
use super::server_session::{Deadline, Session, SessionError};
use super::{languages, parse_response};
use crate::fs::{Roots, bounded_read};
use crate::text_decoding::{self, TextReader};
use crate::tool::blocking;

/// Largest source file that is opened in a server, in bytes.
const MAX_SOURCE: u64 = 4 << 20;
/// Retries of a request that the server refused because the content changed meanwhile (LSP 3.17,
/// ContentModified).
const MAX_RETRIES: usize = 4;
/// Error codes of such refusals: ContentModified and ServerCancelled.
const CONTENT_CHANGED: [i64; 2] = [-32801, -32802];

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Action {
    Definition,
    Hover,
    Diagnostics,
    References,
    Symbols,
    Rename,
    RuffCheck,
}

impl Action {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Definition => "definition",
            Self::Hover => "hover",
            Self::Diagnostics => "diagnostics",
            Self::References => "references",
            Self::Symbols => "symbols",
            Self::Rename => "rename",
            Self::RuffCheck => "ruff_check",
        }
    }
}

/// A query to a language server.
#[derive(Debug)]
pub(crate) struct Query {
    pub(crate) action: Action,
    pub(crate) file: String,
    pub(crate) line: Option<u32>,
    pub(crate) character: Option<u32>,
    pub(crate) symbol: Option<String>,
    pub(crate) new_name: Option<String>,
    pub(crate) project: Option<String>,
}

/// A file with its content on disk.
pub(super) struct SourceFile {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// Reads a file of the workspace as text.
pub(super) fn read_source(roots: &Roots, path: &str) -> Result<SourceFile, ToolError> {
    let (file, size) = bounded_read::open(roots, path)?;
    if size > MAX_SOURCE {
        return Err(ToolError::new(
            ErrorType::FileTooLarge,
            format!(
                "{path} has {size} bytes; language servers are asked about files up to {} MB.",
                MAX_SOURCE >> 20
            ),
        ));
    }
    let never = CancellationToken::new();
    let mut reader =
        TextReader::new(file.take(MAX_SOURCE), path, text_decoding::encoding(None)?, &never);
    let mut text = String::new();
    while let Some(piece) = reader.next_chunk()? {
        text.push_str(&piece);
    }
    Ok(SourceFile { path: roots.real_path(path)?, text })
}

/// A query with its file.
struct PreparedQuery {
    query: Query,
    source: SourceFile,
    language: &'static Language,
    /// LSP language id of the file.
    id: &'static str,
    project: PathBuf,
    place: Option<Position>,
}

impl PreparedQuery {
    fn new(query: Query, roots: &Roots) -> Result<Self, ToolError> {
        let (language, id) = languages::language(&query.file)?;
        let source = read_source(roots, &query.file)?;
        let place = resolve_position(&query, &source.text)?;
        let top = roots.paths().find(|root| source.path.starts_with(root));
        let project = match &query.project {
            Some(folder) => roots.real_path(folder)?,
            None => language.project(top.unwrap_or(Path::new("/")), &source.path),
        };
        Ok(Self { query, source, language, id, project, place })
    }
}

impl Servers {
    /// Asks the server for the file's language.
    ///
    /// # Errors
    /// `not_configured` if there is no server, `timeout` while it loads, `execution_error` when it
    /// died or refuses; errors of the file and of the sandbox.
    pub(crate) async fn ask(
        &self,
        ctx: &CallCtx,
        roots: &Roots,
        query: Query,
    ) -> Result<String, ToolError> {
        let seen = roots.clone();
        let asked = blocking(move || PreparedQuery::new(query, &seen)).await?;
        let mut held = self.acquire(ctx, asked.language, &asked.project).await?;
        let said = ask(&mut held, roots, &asked).await;
        let (said, server) = held.finish(said)?;
        // If the server reports a problem with itself, an empty list of diagnostics proves little.
        let ailment = held.health_warning().filter(|_| asked.query.action == Action::Diagnostics);
        drop(held);
        let seen = roots.clone();
        let told = blocking(move || render(&Renderer::new(&seen), server, &asked, &said)).await?;
        Ok(match ailment {
            Some(words) => format!("{told}\nThe language server says of itself: {words}"),
            None => told,
        })
    }
}

/// Resolves the position of the query, for actions that need one.
fn resolve_position(query: &Query, text: &str) -> Result<Option<Position>, ToolError> {
    match query.action {
        Action::Diagnostics | Action::Symbols | Action::RuffCheck => Ok(None),
        Action::Definition | Action::Hover | Action::References | Action::Rename => {
            position::find(text, query.line, query.character, query.symbol.as_deref()).map(Some)
        }
    }
}

async fn ask(
    held: &mut SessionLease,
    roots: &Roots,
    asked: &PreparedQuery,
) -> Result<(Value, &'static Server), SessionError> {
    let PreparedQuery { query, source, id, place, .. } = asked;
    let (session, until) = held.session()?;
    let server = session.server;
    refresh(session, roots, &source.path, until).await?;
    let before = session.published(&super::server_session::uri(&source.path)).times;
    let (uri, is_news) = session.open(&source.path, id, &source.text, until).await?;
    // Some servers load a project only when a file is opened, and answer partially until then.
    session.ready(until).await?;
    let document = json!({"uri": uri});
    let at = json!({"textDocument": document, "position": place});
    let said = match query.action {
        Action::Definition => retry(session, "textDocument/definition", at, until).await,
        Action::Hover => retry(session, "textDocument/hover", at, until).await,
        Action::References => {
            let mut at = at;
            at["context"] = json!({"includeDeclaration": true});
            retry(session, "textDocument/references", at, until).await
        }
        Action::Rename => {
            let mut at = at;
            at["newName"] = json!(query.new_name);
            retry(session, "textDocument/rename", at, until).await
        }
        Action::Symbols => match &query.symbol {
            Some(name) => retry(session, "workspace/symbol", json!({"query": name}), until).await,
            None => {
                let params = json!({"textDocument": document});
                retry(session, "textDocument/documentSymbol", params, until).await
            }
        },
        Action::Diagnostics | Action::RuffCheck => {
            diagnostics(session, &uri, before, is_news, until).await
        }
    };
    Ok((said?, server))
}

/// Notifies the server of changes on disk in the other open files.
async fn refresh(
    session: &mut Session,
    roots: &Roots,
    path: &Path,
    until: &Deadline,
) -> Result<(), SessionError> {
    for other in session.other_open_files(path) {
        let (roots, name) = (roots.clone(), other.to_string_lossy().into_owned());
        let read = tokio::task::spawn_blocking(move || read_source(&roots, &name)).await;
        match read {
            Ok(Ok(now)) => {
                session.open(&other, "", &now.text, until).await?;
            }
            _ => session.close(&other, until).await?,
        }
    }
    Ok(())
}

/// Repeats a request that the server refused because the content changed.
async fn retry(
    session: &mut Session,
    method: &str,
    params: Value,
    until: &Deadline,
) -> Result<Value, SessionError> {
    for _ in 0..MAX_RETRIES {
        match session.request(method, params.clone(), until).await {
            Err(SessionError::Refused(refusal)) if CONTENT_CHANGED.contains(&refusal.code) => {
                session.wait_until_idle(until).await?;
            }
            answered => return answered,
        }
    }
    session.request(method, params, until).await
}

/// Returns the diagnostics of a file: pulled, if the server supports it, and published.
async fn diagnostics(
    session: &mut Session,
    uri: &str,
    before: u64,
    is_news: bool,
    until: &Deadline,
) -> Result<Value, SessionError> {
    if !session.has_capability("diagnosticProvider") {
        let before = if is_news { before } else { 0 };
        return session.diagnostics(uri, before, until).await.map(Value::Array);
    }
    if is_news {
        session.wait_until_idle(until).await?;
    }
    let params = json!({"textDocument": {"uri": uri}});
    let mut pulled = retry(session, "textDocument/diagnostic", params, until).await?;
    let mut items = match pulled.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    items.extend(session.published(uri).items);
    Ok(Value::Array(items))
}

/// Renders the response as text.
fn render(
    telling: &Renderer<'_>,
    server: &Server,
    asked: &PreparedQuery,
    said: &Value,
) -> Result<String, ToolError> {
    let PreparedQuery { query, source, place, .. } = asked;
    let place = *place;
    let name = place.and_then(|place| named(&source.text, place)).unwrap_or_default();
    let none = |what: &str| {
        Ok(format!(
            "{what} Check that the place is a name: {}",
            place.map(|place| line(&source.text, place)).unwrap_or_default()
        ))
    };
    match query.action {
        Action::Definition | Action::References => {
            let found = parse_response::locations(said);
            if found.is_empty() {
                return none("Nothing was found.");
            }
            Ok(telling.locations(&found))
        }
        Action::Hover => match parse_response::hover(said) {
            words if words.is_empty() => none("The server knows nothing about this place."),
            words => Ok(words.chars().take(8000).collect()),
        },
        Action::Symbols => {
            let (symbols, more) = parse_response::symbols(said);
            Ok(telling.symbols(&symbols, more, &query.file))
        }
        Action::Diagnostics | Action::RuffCheck => {
            let items = said.as_array().map(Vec::as_slice).unwrap_or_default();
            let items = parse_response::diagnostics(items);
            Ok(telling.diagnostics(server, &query.file, &source.text, &items))
        }
        Action::Rename => {
            let (files, moves) = parse_response::edits(said);
            if files.is_empty() {
                return none("Nothing would change.");
            }
            let mut text = telling.changes(&files)?;
            if moves {
                text.push_str(
                    "\nThe server would move files as well, which this preview does not show.\n",
                );
            }
            let to = query.new_name.as_deref().unwrap_or_default();
            let mut out = String::new();
            let s = if files.len() == 1 { "" } else { "s" };
            let _ = writeln!(
                out,
                "Renaming {name} to {to} would change {} file{s}. Nothing was changed; to do it, apply this diff with diff_editor.\n",
                files.len()
            );
            out.push_str(&text);
            Ok(out)
        }
    }
}

/// Returns the name at a position.
fn named(text: &str, at: Position) -> Option<String> {
    let begin = position::byte_offset(text, at)?;
    let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
    let before = text.get(..begin)?.chars().rev().take_while(is_part).count();
    let start = text.get(..begin)?.char_indices().rev().take(before).last();
    let from = start.map_or(begin, |(at, _)| at);
    Some(text.get(from..)?.chars().take_while(is_part).collect())
}

fn line(text: &str, at: Position) -> String {
    let line = position::nth_line(text, at.line).unwrap_or_default();
    format!(
        "line {} is `{}`, character {} (both from 0).",
        at.line,
        line.chars().take(200).collect::<String>(),
        position::utf16_to_chars(line, at.character)
    )
}
