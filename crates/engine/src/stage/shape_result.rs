//! Stage 13: prepares the result for a model: it is masked, sanitized by media type, then bounded;
//! the complete result is stored as an artifact.

use std::borrow::Cow;

use serde_json::Value;
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{
    ArtifactRef, Blob, Block, ErrorType, ModelResult, ToolError, ToolOutput, Trust,
};
use toolcrib_sanitizer::{
    Keep, MAX_HTML_CARD, TruncationLimits, html_card, sanitize, truncate_json,
};

use super::phase::{Finished, Shaped};
use super::step::{StagePass, StageResult, fail};
use crate::call_state::CallState;
use crate::registered_tool::RegisteredTool;
use crate::result_taint::ResultTaint;
use crate::secrets::Secrets;

/// Maximum bytes of one image or audio clip for a model; larger ones are stored as artifacts (the
/// smallest limit among the providers is 5 MB).
const MEDIA_BYTES: usize = 5 * 1024 * 1024;

pub(crate) fn run(call: &CallState, finished: Finished) -> StageResult<Shaped> {
    let Finished { tool, output } = finished;
    if let Some(fault) = against_schema(&tool, &output, &call.engine().secrets) {
        return fail(ErrorType::ExecutionError, fault);
    }
    let trust = output.trust.unwrap_or(tool.spec().trust);
    let source = output.source.map(|source| {
        let masked = call.engine().secrets.mask(source);
        sanitize(&masked, "text/plain").text.into_owned()
    });
    let mut shaping = ResultShaper::new(call, trust, source);
    let structured_only = output.content.is_empty();
    for block in output.content {
        shaping.block(block);
    }
    let result = match &output.structured {
        Some(data) if structured_only => shaping.data(data),
        _ => shaping.text(),
    };
    let structured = output.structured.and_then(|data| shaping.inline(data));
    let changed = !shaping.changes.is_empty() || shaping.artifact.is_some() || shaping.flagged;
    let note = shaping.note();
    let model = Box::new(ModelResult {
        result,
        media: shaping.media,
        resources: if shaping.artifact.is_none() { shaping.resources } else { Vec::new() },
        for_people: shaping.for_people,
        structured,
        is_error: output.is_error,
        error_type: output.error_type,
        sandbox: output.sandbox,
        artifact: shaping.artifact,
        trust,
        source: shaping.source,
        flagged: shaping.flagged,
        changes: shaping.changes,
    });
    let read = raise_labels(call, Ok(&model));
    let notes: Vec<String> =
        [note].into_iter().filter(|note| !note.is_empty()).chain(read).collect();
    Ok(if changed || !notes.is_empty() {
        StagePass::changed(Shaped(model), notes.join("; "))
    } else {
        StagePass::plain(Shaped(model))
    })
}

/// Raises the labels of this result for the following calls of the run. Returns a description of
/// the new labels.
pub(crate) fn raise_labels(
    call: &CallState,
    result: Result<&ModelResult, &ToolError>,
) -> Option<String> {
    let run = call.scope.run.as_ref()?;
    let (tool, assessed) = (call.facts.tool.as_ref()?, call.facts.assessed.as_ref()?);
    let reading = ResultTaint {
        call: call.id,
        tool: tool.spec().name.as_str(),
        spec: Some(tool.spec()),
        effect: assessed.effect,
        reach: assessed.reach,
        refers: call.args.decoded.as_ref().is_some_and(|args| args.with_references.is_some()),
        ran: call.attempts.count > 0,
        result,
    };
    reading.raise(run)
}

/// Returns the failure of a tool whose result does not match its declared schema.
fn against_schema(tool: &RegisteredTool, output: &ToolOutput, secrets: &Secrets) -> Option<String> {
    let schema = tool.output_schema.as_ref().filter(|_| !output.is_error)?;
    let Some(data) = &output.structured else {
        return Some(format!(
            "Tool {} returned no structured result although its definition promises one.",
            tool.spec().name
        ));
    };
    let fault = match schema.validator() {
        Ok(validator) => validator.validate(data).err()?.to_string(),
        Err(error) => error.to_string(),
    };
    // Mask before cutting: a part of a secret would not be recognized.
    let fault: String = secrets.mask(fault).chars().take(300).collect();
    Some(format!(
        "Tool {} returned a result that does not fit its own output schema: {fault}",
        tool.spec().name
    ))
}

/// One text of a result.
struct TextPart {
    /// The text as the model reads it.
    shown: String,
    /// The text as the tool returned it, secrets masked; `None` if it equals `shown`.
    original: Option<String>,
    media_type: String,
}

/// Collects the parts of a tool's result into the text for the model.
struct ResultShaper<'a> {
    call: &'a CallState,
    trust: Trust,
    source: Option<String>,
    words: Vec<TextPart>,
    media: Vec<Block>,
    resources: Vec<Block>,
    for_people: Vec<Block>,
    artifact: Option<ArtifactRef>,
    flagged: bool,
    changes: Vec<String>,
}

impl<'a> ResultShaper<'a> {
    fn new(call: &'a CallState, trust: Trust, source: Option<String>) -> Self {
        Self {
            call,
            trust,
            source,
            words: Vec::new(),
            media: Vec::new(),
            resources: Vec::new(),
            for_people: Vec::new(),
            artifact: None,
            flagged: false,
            changes: Vec::new(),
        }
    }

    fn block(&mut self, block: Block) {
        match self.without_secrets(block) {
            Block::Text { text, media_type } => self.words(text, media_type),
            Block::Resource { uri, media_type, text } => self.resource(uri, media_type, text),
            Block::Html { html } => self.html_card(&html),
            Block::Card { card } => {
                let card = self.call.engine().secrets.mask_json(&card);
                self.for_people.push(Block::Card { card });
            }
            Block::Artifact(artifact) => {
                self.words(
                    format!("[stored as {artifact}; read it with read_artifact]"),
                    "text/plain".to_owned(),
                );
            }
            Block::Spilled { preview, media_type, total_bytes, artifact } => {
                self.words(preview, media_type);
                let whole = artifact.as_ref().map_or_else(
                    || "the rest could not be stored".to_owned(),
                    |artifact| format!("the whole is read with read_artifact(ref=\"{artifact}\")"),
                );
                self.remark(format!("[{total_bytes} bytes in all; {whole}]"));
                self.artifact = artifact.or(self.artifact.take());
            }
            Block::Image(blob) if blob.data.len() <= MEDIA_BYTES => {
                self.media.push(Block::Image(blob));
            }
            Block::Audio(blob) if blob.data.len() <= MEDIA_BYTES => {
                self.media.push(Block::Audio(blob));
            }
            Block::Image(blob) | Block::Audio(blob) => {
                let bytes = blob.data.len();
                let place = self.store(&blob.data, &blob.media_type).map_or_else(
                    || "it could not be stored".to_owned(),
                    |artifact| format!("stored as {artifact}"),
                );
                self.remark(format!(
                    "[{} of {bytes} bytes is too large to show; {place}]",
                    blob.media_type
                ));
            }
        }
    }

    /// Adds a card as HTML. Only elements on the allow-list are stored and shown.
    fn html_card(&mut self, html: &str) {
        let Some(card) = html_card(html) else {
            let bytes = html.len();
            self.changes.push(format!(
                "HTML card of {bytes} bytes, left out: at most {MAX_HTML_CARD} are shown"
            ));
            return;
        };
        if !card.left_out.is_empty() {
            self.changes.push(format!("HTML card, shown without {}", card.left_out.join(", ")));
        }
        // References such as `&#115;` are now plain text, so masking finds secrets.
        self.for_people.push(Block::Html { html: self.mask(card.html) });
    }

    /// Adds the text of a resource for the model; a client that displays resources gets the same
    /// text.
    fn resource(&mut self, uri: String, media_type: Option<String>, text: Option<String>) {
        let has_text = text.is_some();
        let words = text.map_or_else(
            || format!("[resource {uri}]"),
            |text| format!("[resource {uri}]\n{text}"),
        );
        self.words(words, media_type.clone().unwrap_or_else(|| "text/plain".to_owned()));
        let shown = self.words.last().and_then(|words| words.shown.split_once('\n'));
        let text = shown.filter(|_| has_text).map(|(_, text)| text.to_owned());
        let uri = self.mask(uri);
        let uri = self.sanitize(&uri, "text/plain").into_owned();
        self.resources.push(Block::Resource { uri, media_type, text });
    }

    /// Masks secrets in images and audio, which are bytes of a program and may contain its input.
    fn without_secrets(&self, block: Block) -> Block {
        let masked = |blob: Blob| match self.call.engine().secrets.masked(&blob.data) {
            Some(data) => Blob { data, ..blob },
            None => blob,
        };
        match block {
            Block::Image(blob) => Block::Image(masked(blob)),
            Block::Audio(blob) => Block::Audio(masked(blob)),
            block => block,
        }
    }

    /// Masks and sanitizes one text; the original is retained in case the complete result must be
    /// stored.
    fn words(&mut self, text: String, media_type: String) {
        let text = self.mask(text);
        let words = match self.sanitize(&text, &media_type) {
            // Decoding, such as that of HTML, may have revealed a secret.
            Cow::Owned(shown) => {
                TextPart { shown: self.mask(shown), original: Some(text), media_type }
            }
            Cow::Borrowed(same) if same.len() == text.len() => {
                TextPart { shown: text, original: None, media_type }
            }
            Cow::Borrowed(part) => {
                TextPart { shown: part.to_owned(), original: Some(text), media_type }
            }
        };
        self.words.push(words);
    }

    /// Adds a line of Toolcrib between the parts.
    fn remark(&mut self, shown: String) {
        self.words.push(TextPart { shown, original: None, media_type: "text/plain".to_owned() });
    }

    fn sanitize<'t>(&mut self, text: &'t str, media_type: &str) -> Cow<'t, str> {
        let sanitised = sanitize(text, media_type);
        self.flagged |= sanitised.flagged();
        for change in &sanitised.changes {
            self.changes.push(change.to_string());
        }
        sanitised.text
    }

    fn mask(&self, text: String) -> String {
        self.call.engine().secrets.mask(text)
    }

    /// Returns masked data for programs; none if it is larger than the text for a model.
    fn inline(&self, data: Value) -> Option<Value> {
        if self.artifact.is_some() {
            return None;
        }
        let text = self.call.engine().secrets.mask_json(&data).to_string();
        if text.len() > self.limit() {
            return None;
        }
        // Some providers show a model parts of the data, so it is sanitized like the text.
        let harmless = sanitize(&text, "application/json").text;
        Some(
            serde_json::from_str(&harmless)
                .unwrap_or_else(|_| Value::String(harmless.into_owned())),
        )
    }

    /// Returns the bounded text of all parts.
    fn text(&mut self) -> Value {
        let text = match self.words.as_mut_slice() {
            [] => String::new(),
            [only] if only.shown.len() <= self.call.policy().settings.result_chars => {
                std::mem::take(&mut only.shown)
            }
            parts => joined(parts, |words| &words.shown),
        };
        let limit = self.call.policy().settings.result_chars;
        // Bytes are never fewer than characters.
        if text.len() <= limit || text.chars().count() <= limit {
            return Value::String(text);
        }
        if self.artifact.is_none() {
            self.artifact = self.store_originals();
        }
        let reference = self.artifact.as_ref().map(ToString::to_string);
        let bounds = TruncationLimits {
            max_chars: limit,
            keep: Keep::Both,
            artifact_ref: reference.as_deref(),
        };
        Value::String(bounds.apply(&text).text.into_owned())
    }

    /// Returns data as JSON, sanitized and shortened along its structure.
    fn data(&mut self, data: &Value) -> Value {
        let text = self.call.engine().secrets.mask_json(data).to_string();
        let harmless = match self.sanitize(&text, "application/json") {
            Cow::Borrowed(same) if same.len() == text.len() && text.len() <= self.limit() => {
                // The sanitizer changed nothing; a masked text must still be parsed again.
                return serde_json::from_str(same)
                    .unwrap_or_else(|_| Value::String(same.to_owned()));
            }
            harmless => self.mask(harmless.into_owned()),
        };
        let value: Value = match serde_json::from_str(&harmless) {
            Ok(value) => value,
            Err(_) => return Value::String(harmless),
        };
        if harmless.chars().count() <= self.limit() {
            return value;
        }
        self.artifact = self.store(text.as_bytes(), "application/json");
        truncate_json(&value, self.limit()).value
    }

    fn limit(&self) -> usize {
        self.call.policy().settings.result_chars
    }

    fn store_originals(&self) -> Option<ArtifactRef> {
        let whole = joined(&self.words, |words| words.original.as_ref().unwrap_or(&words.shown));
        let media_type = match self.words.as_slice() {
            [only] => &only.media_type,
            _ => "text/plain",
        };
        self.store(whole.as_bytes(), media_type)
    }

    /// Stores the complete result; if that fails, the model still gets its part.
    fn store(&self, bytes: &[u8], media_type: &str) -> Option<ArtifactRef> {
        let new = NewArtifact {
            owner: self.call.scope.context.owner.clone(),
            media_type: media_type.to_owned(),
            trust: self.trust,
            source: self.source.clone(),
            call: self.call.id,
            run: self.call.scope.run.as_ref().map(|run| run.id),
            conversation: self.call.scope.context.conversation.clone(),
        };
        let mut writer = self.call.engine().artifacts.create(new).ok()?;
        writer.write(bytes).ok()?;
        writer.finish().ok().map(|meta| meta.artifact)
    }

    fn note(&self) -> String {
        let mut notes: Vec<String> = self.changes.clone();
        if self.flagged {
            notes.push("reads like orders".to_owned());
        }
        if let Some(artifact) = &self.artifact {
            notes.push(format!("cut; whole kept as {artifact}"));
        }
        notes.join("; ")
    }
}

fn joined(parts: &[TextPart], text: impl Fn(&TextPart) -> &String) -> String {
    parts.iter().map(|words| text(words).as_str()).collect::<Vec<_>>().join("\n")
}
