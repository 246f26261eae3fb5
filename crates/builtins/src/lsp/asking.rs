//! One question to a language server, from the call to its answer in words.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{CallCtx, CancellationToken, ErrorType, ToolError};

use super::manager::{Held, Servers};
use super::position::{self, Position};
use super::servers::Language;
use super::session::{Session, Trouble, Until};
use super::telling::Telling;
use super::{answer, servers};
use crate::fs::{Roots, read};
use crate::text::{self, TextReader};
use crate::tool::blocking;

/// Bytes of a source file that a server is told of.
const MAX_SOURCE: u64 = 4 << 20;
/// How often a question is asked again that the server could not answer because something changed meanwhile (LSP 3.17, ContentModified).
const MAX_AGAIN: usize = 4;
/// The codes of such refusals: ContentModified and ServerCancelled.
const CHANGED: [i64; 2] = [-32801, -32802];

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

/// A question.
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

/// A file as it is on the disk.
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) text: String,
}

/// Reads a file of the workspace as text.
pub(super) fn source(roots: &Roots, path: &str) -> Result<Source, ToolError> {
    let (file, size) = read::open(roots, path)?;
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
    let mut reader = TextReader::new(file.take(MAX_SOURCE), path, text::encoding(None)?, &never);
    let mut text = String::new();
    while let Some(piece) = reader.piece()? {
        text.push_str(&piece);
    }
    Ok(Source { path: roots.real_path(path)?, text })
}

/// A question with what the disk says of it.
struct Asked {
    query: Query,
    source: Source,
    language: &'static Language,
    /// The protocol's name for what is in the file.
    id: &'static str,
    project: PathBuf,
    place: Option<Position>,
}

impl Asked {
    fn new(query: Query, roots: &Roots) -> Result<Self, ToolError> {
        let (language, id) = servers::language(&query.file)?;
        let source = source(roots, &query.file)?;
        let place = place(&query, &source.text)?;
        let top = roots.paths().find(|root| source.path.starts_with(root));
        let project = match &query.project {
            Some(folder) => roots.real_path(folder)?,
            None => language.project(top.unwrap_or(Path::new("/")), &source.path),
        };
        Ok(Self { query, source, language, id, project, place })
    }
}

impl Servers {
    /// Asks the server that knows the file.
    ///
    /// # Errors
    /// `not_configured` when there is no server for it, `timeout` while it loads, `execution_error` when it died or refuses, those of the
    /// file and of the sandbox.
    pub(crate) async fn ask(
        &self,
        ctx: &CallCtx,
        roots: &Roots,
        query: Query,
    ) -> Result<String, ToolError> {
        let seen = roots.clone();
        let asked = blocking(move || Asked::new(query, &seen)).await?;
        let mut held = self.hold(ctx, asked.language, &asked.project).await?;
        let said = ask(&mut held, roots, &asked).await;
        let said = held.done(said)?;
        // Of one that is ill, "nothing is wrong" means less.
        let ailment = held.ailment().filter(|_| asked.query.action == Action::Diagnostics);
        drop(held);
        let seen = roots.clone();
        let told = blocking(move || tell(&Telling::new(&seen), &asked, &said)).await?;
        Ok(match ailment {
            Some(words) => format!("{told}\nThe language server says of itself: {words}"),
            None => told,
        })
    }
}

/// The place that is asked about, for questions about one.
fn place(query: &Query, text: &str) -> Result<Option<Position>, ToolError> {
    match query.action {
        Action::Diagnostics | Action::Symbols | Action::RuffCheck => Ok(None),
        Action::Definition | Action::Hover | Action::References | Action::Rename => {
            position::find(text, query.line, query.character, query.symbol.as_deref()).map(Some)
        }
    }
}

async fn ask(held: &mut Held, roots: &Roots, asked: &Asked) -> Result<Value, Trouble> {
    let Asked { query, source, id, place, .. } = asked;
    let (session, until) = held.session()?;
    refresh(session, roots, &source.path, until).await?;
    let before = session.published(&super::session::uri(&source.path)).times;
    let (uri, is_news) = session.open(&source.path, id, &source.text, until).await?;
    // Some load the project of a file when they are told of it, and answer half of it meanwhile.
    session.ready(until).await?;
    let document = json!({"uri": uri});
    let at = json!({"textDocument": document, "position": place});
    match query.action {
        Action::Definition => again(session, "textDocument/definition", at, until).await,
        Action::Hover => again(session, "textDocument/hover", at, until).await,
        Action::References => {
            let mut at = at;
            at["context"] = json!({"includeDeclaration": true});
            again(session, "textDocument/references", at, until).await
        }
        Action::Rename => {
            let mut at = at;
            at["newName"] = json!(query.new_name);
            again(session, "textDocument/rename", at, until).await
        }
        Action::Symbols => match &query.symbol {
            Some(name) => again(session, "workspace/symbol", json!({"query": name}), until).await,
            None => {
                let params = json!({"textDocument": document});
                again(session, "textDocument/documentSymbol", params, until).await
            }
        },
        Action::Diagnostics | Action::RuffCheck => {
            diagnostics(session, &uri, before, is_news, until).await
        }
    }
}

/// Tells the server what changed on the disk of the other files that it was told of.
async fn refresh(
    session: &mut Session,
    roots: &Roots,
    path: &Path,
    until: &Until,
) -> Result<(), Trouble> {
    for other in session.others(path) {
        let (roots, name) = (roots.clone(), other.to_string_lossy().into_owned());
        let read = tokio::task::spawn_blocking(move || source(&roots, &name)).await;
        match read {
            Ok(Ok(now)) => {
                session.open(&other, "", &now.text, until).await?;
            }
            _ => session.close(&other, until).await?,
        }
    }
    Ok(())
}

/// Asks again when the server says that something changed while it thought.
async fn again(
    session: &mut Session,
    method: &str,
    params: Value,
    until: &Until,
) -> Result<Value, Trouble> {
    for _ in 0..MAX_AGAIN {
        match session.request(method, params.clone(), until).await {
            Err(Trouble::Refused(refusal)) if CHANGED.contains(&refusal.code) => {
                session.settle(until).await?;
            }
            answered => return answered,
        }
    }
    session.request(method, params, until).await
}

/// What the server finds wrong: what it says when asked, if it can be, and what it says by itself.
async fn diagnostics(
    session: &mut Session,
    uri: &str,
    before: u64,
    is_news: bool,
    until: &Until,
) -> Result<Value, Trouble> {
    if !session.can("diagnosticProvider") {
        let before = if is_news { before } else { 0 };
        return session.diagnostics(uri, before, until).await.map(Value::Array);
    }
    if is_news {
        session.settle(until).await?;
    }
    let params = json!({"textDocument": {"uri": uri}});
    let mut pulled = again(session, "textDocument/diagnostic", params, until).await?;
    let mut items = match pulled.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) => items,
        _ => Vec::new(),
    };
    items.extend(session.published(uri).items);
    Ok(Value::Array(items))
}

/// The answer in words.
fn tell(telling: &Telling<'_>, asked: &Asked, said: &Value) -> Result<String, ToolError> {
    let Asked { query, source, place, .. } = asked;
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
            let found = answer::locations(said);
            if found.is_empty() {
                return none("Nothing was found.");
            }
            Ok(telling.locations(&found))
        }
        Action::Hover => match answer::hover(said) {
            words if words.is_empty() => none("The server knows nothing about this place."),
            words => Ok(words.chars().take(8000).collect()),
        },
        Action::Symbols => {
            let (symbols, more) = answer::symbols(said);
            Ok(telling.symbols(&symbols, more, &query.file))
        }
        Action::Diagnostics | Action::RuffCheck => {
            let items = said.as_array().map(Vec::as_slice).unwrap_or_default();
            Ok(telling.diagnostics(&query.file, &source.text, &answer::diagnostics(items)))
        }
        Action::Rename => {
            let (files, moves) = answer::edits(said);
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

/// The name at a place.
fn named(text: &str, at: Position) -> Option<String> {
    let begin = position::byte(text, at)?;
    let is_part = |c: &char| c.is_alphanumeric() || *c == '_';
    let before = text.get(..begin)?.chars().rev().take_while(is_part).count();
    let start = text.get(..begin)?.char_indices().rev().take(before).last();
    let from = start.map_or(begin, |(at, _)| at);
    Some(text.get(from..)?.chars().take_while(is_part).collect())
}

fn line(text: &str, at: Position) -> String {
    let line = position::nth(text, at.line).unwrap_or_default();
    format!(
        "line {} is `{}`, character {} (both from 0).",
        at.line,
        line.chars().take(200).collect::<String>(),
        position::characters(line, at.character)
    )
}
