//! `read_artifact`: reads a stored result by page, or searches it with a pattern.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    ArtifactMeta, ArtifactRef, ArtifactStore, Block, CallCtx, CancellationToken, ErrorType, Tool,
    ToolError, ToolOutput, ToolSpec, Trust, defaults,
};

use super::{aliases, base_spec, blocking, examples};

/// Default bytes per page; with its note a page stays below the 20,000 characters that a model
/// gets.
const DEFAULT_PAGE: u64 = 16_000;
/// Maximum bytes per page: a byte is at most one character, so the page is never truncated again.
const MAX_PAGE: u64 = 19_000;
/// Bytes read at once during a search.
const CHUNK: usize = 256 * 1024;
/// Maximum bytes of a line that a pattern is matched against; the remainder is treated as the next
/// line.
const MAX_LINE: usize = 64 * 1024;
/// Characters of a matching line that are shown.
const SHOWN_LINE: usize = 400;
/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 1000;
/// Memory limit of the compiled pattern, in bytes.
const MAX_COMPILED: usize = 1024 * 1024;

/// Handler of `read_artifact`.
pub(crate) struct ReadArtifact {
    pub(crate) store: Arc<dyn ArtifactStore>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Reference of the stored result, such as art_0123456789abcdef0123456789abcdef.
    #[serde(rename = "ref")]
    artifact: String,
    /// First byte. Default: 0. Each page states the next offset.
    offset: Option<u64>,
    /// Bytes to read, at most 19000. Default: 16000.
    #[schemars(range(min = 1))]
    limit: Option<u64>,
    /// Regular expression: return the lines that match, each with its offset, instead of a page.
    #[schemars(length(min = 1))]
    pattern: Option<String>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "read_artifact",
        "Read stored result",
        "Read a stored result that was too long to be shown whole: a page from an offset, or the lines that match a pattern.",
    );
    spec.group = Some("results".to_owned());
    spec.parameter_aliases = aliases([
        ("artifact", "ref"),
        ("reference", "ref"),
        ("artifact_ref", "ref"),
        ("id", "ref"),
    ]);
    spec.timeout = defaults::TIMEOUT_FILE;
    // The worst case; each page has the trust of the artifact's record.
    spec.trust = Trust::External;
    spec.examples = examples([
        (
            "Show the next part of the long result",
            json!({"ref": "art_0123456789abcdef0123456789abcdef", "offset": 16000}),
        ),
        (
            "Find the errors in the long output",
            json!({"ref": "art_0123456789abcdef0123456789abcdef", "pattern": "(?i)error"}),
        ),
    ]);
    spec
}

impl Tool for ReadArtifact {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let reading = ArtifactReader {
            store: Arc::clone(&self.store),
            artifact: ArtifactRef(args.artifact.trim().to_owned()),
            owner: ctx.context.owner.clone(),
            cancel: ctx.cancel.clone(),
        };
        blocking(move || {
            let pattern = args.pattern.as_deref().map(compile).transpose()?;
            let meta = reading.meta()?;
            let offset = args.offset.unwrap_or(0);
            let limit = args.limit.unwrap_or(DEFAULT_PAGE).clamp(4, MAX_PAGE);
            if offset > meta.bytes {
                return Err(ToolError::validation(format!(
                    "offset {offset} is beyond the end: the result has {} bytes.",
                    meta.bytes
                )));
            }
            let (text, note) = match pattern {
                None => reading.page(&meta, offset, limit)?,
                Some(pattern) => reading.search(&meta, offset, limit, &pattern)?,
            };
            let source = meta.source.clone().unwrap_or_else(|| meta.artifact.to_string());
            let block = Block::Text { text, media_type: meta.media_type };
            Ok(ToolOutput::from_blocks(vec![block, Block::text(note)])
                .with_origin(meta.trust, source))
        })
        .await
    }
}

fn compile(pattern: &str) -> Result<Regex, ToolError> {
    let wrong = |why: &str| {
        ToolError::validation(format!(
            "The pattern cannot be used: {why}. Use a regular expression without look-around and back-references, such as (?i)error|warning."
        ))
    };
    if pattern.len() > MAX_PATTERN {
        return Err(wrong("it is longer than 1000 bytes"));
    }
    RegexBuilder::new(pattern)
        .size_limit(MAX_COMPILED)
        .dfa_size_limit(MAX_COMPILED)
        .build()
        .map_err(|error| {
            let text = error.to_string();
            wrong(text.lines().next_back().unwrap_or(&text).trim_start_matches("error: "))
        })
}

/// Reads one artifact of one owner.
struct ArtifactReader {
    store: Arc<dyn ArtifactStore>,
    artifact: ArtifactRef,
    owner: String,
    cancel: CancellationToken,
}

impl ArtifactReader {
    fn missing(&self) -> ToolError {
        let shown: String = self.artifact.0.chars().take(60).collect();
        ToolError::new(
            ErrorType::FileNotFound,
            format!(
                "There is no stored result \"{shown}\". It may have expired: call the tool again that made it."
            ),
        )
    }

    fn failed(error: &toolcrib_core::StoreError) -> ToolError {
        ToolError::execution("The stored result cannot be read now. Try again later.")
            .with_detail(error.to_string())
    }

    fn meta(&self) -> Result<ArtifactMeta, ToolError> {
        if !self.artifact.is_well_formed() {
            return Err(self.missing());
        }
        let meta = self.store.meta(&self.artifact, &self.owner).map_err(|e| Self::failed(&e))?;
        meta.ok_or_else(|| self.missing())
    }

    fn read(&self, offset: u64, length: usize) -> Result<Vec<u8>, ToolError> {
        if self.cancel.is_cancelled() {
            return Err(ToolError::new(ErrorType::Cancelled, "The call was stopped."));
        }
        let bytes = self.store.read(&self.artifact, &self.owner, offset, length);
        bytes.map_err(|e| Self::failed(&e))?.ok_or_else(|| self.missing())
    }

    /// Reads whole characters from an offset on; also returns their byte range.
    fn page(
        &self,
        meta: &ArtifactMeta,
        offset: u64,
        limit: u64,
    ) -> Result<(String, String), ToolError> {
        let bytes = self.read(offset, usize::try_from(limit).unwrap_or(usize::MAX))?;
        let begin = if offset == 0 { 0 } else { continuation(&bytes) };
        let bytes = bytes.get(begin..).unwrap_or_default();
        let first = offset + begin as u64;
        let ends_here = first + bytes.len() as u64 >= meta.bytes;
        let whole = if ends_here { bytes } else { without_cut_character(bytes) };
        let next = first + whole.len() as u64;
        let text = String::from_utf8_lossy(whole).into_owned();
        let mut note = format!("(Bytes {first} to {next} of {}", meta.bytes);
        note.push_str(&if next < meta.bytes {
            format!("; continue with offset {next}.)")
        } else if meta.total_bytes > meta.bytes {
            format!(", the end of what was kept of {} bytes.)", meta.total_bytes)
        } else {
            ", the end.)".to_owned()
        });
        Ok((text, note))
    }

    /// Returns the matching lines from an offset on, each after its offset, up to `limit` bytes.
    fn search(
        &self,
        meta: &ArtifactMeta,
        offset: u64,
        limit: u64,
        pattern: &Regex,
    ) -> Result<(String, String), ToolError> {
        let mut found = String::new();
        let mut lines = 0_usize;
        let mut at = offset;
        let mut pending: Vec<u8> = Vec::new();
        loop {
            let start = at + pending.len() as u64;
            let bytes = self.read(start, CHUNK)?;
            let ended = bytes.is_empty() || start + bytes.len() as u64 >= meta.bytes;
            pending.extend_from_slice(&bytes);
            let mut rest = pending.as_slice();
            while let Some(length) = line_length(rest, ended) {
                let (line, after) = rest.split_at_checked(length).unwrap_or((rest, &[]));
                let text = String::from_utf8_lossy(line);
                let text = text.trim_end_matches(['\n', '\r']);
                if pattern.is_match(text) {
                    let shown: String = text.chars().take(SHOWN_LINE).collect();
                    let cut = if shown.len() < text.len() { " ..." } else { "" };
                    let entry = format!("{at}: {shown}{cut}\n");
                    if !found.is_empty() && (found.len() + entry.len()) as u64 > limit {
                        let note = format!(
                            "({lines} matching lines; there are more: continue with offset {at}.)"
                        );
                        return Ok((found, note));
                    }
                    found.push_str(&entry);
                    lines += 1;
                }
                at += length as u64;
                rest = after;
            }
            pending = rest.to_vec();
            if ended {
                let note = format!(
                    "({lines} matching lines from byte {offset} on, of {} bytes. The number before each line is its offset.)",
                    meta.bytes
                );
                return Ok((found, note));
            }
        }
    }
}

/// Returns the length of the next line with its end in bytes; a longer line is split at character
/// boundaries. `None` if more input is needed.
fn line_length(bytes: &[u8], ended: bool) -> Option<usize> {
    let head = bytes.get(..MAX_LINE).unwrap_or(bytes);
    if let Some(end) = head.iter().position(|b| *b == b'\n') {
        return Some(end + 1);
    }
    if bytes.len() > MAX_LINE {
        return Some(without_cut_character(head).len().max(1));
    }
    (ended && !bytes.is_empty()).then_some(bytes.len())
}

/// Returns the number of continuation bytes at the start that belong to an earlier character.
fn continuation(bytes: &[u8]) -> usize {
    bytes.iter().take(3).take_while(|b| **b & 0b1100_0000 == 0b1000_0000).count()
}

/// Returns the bytes without an incomplete character at the end.
fn without_cut_character(bytes: &[u8]) -> &[u8] {
    let tail_from = bytes.len().saturating_sub(3);
    let tail = bytes.get(tail_from..).unwrap_or_default();
    let lead = tail.iter().rposition(|b| *b & 0b1100_0000 != 0b1000_0000);
    let Some(lead) = lead else { return bytes };
    let needed = match tail.get(lead) {
        Some(b) if b & 0b1110_0000 == 0b1100_0000 => 2,
        Some(b) if b & 0b1111_0000 == 0b1110_0000 => 3,
        Some(b) if b & 0b1111_1000 == 0b1111_0000 => 4,
        _ => 1,
    };
    if tail.len() - lead < needed { bytes.get(..tail_from + lead).unwrap_or(bytes) } else { bytes }
}
