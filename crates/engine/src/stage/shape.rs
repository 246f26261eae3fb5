//! Stage 13: the result becomes fit for a model: secrets masked, made harmless by type, then bounded; the whole is kept as an artifact.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{
    ArtifactRef, Blob, Block, ErrorType, ModelResult, ToolError, ToolOutput, Trust, defaults,
};

use crate::flight::{InFlight, Passed, Step, fail};
use crate::reading::Reading;
use crate::registry::Registered;
use crate::secrets::Secrets;
use crate::text::{self, Bounds, Keep};

/// Bytes of one picture or sound that go to a model; larger ones are stored (the smallest limit among the providers is 5 MB).
const MEDIA_BYTES: usize = 5 * 1024 * 1024;

pub(crate) fn run(flight: &mut InFlight) -> Step {
    let tool = Arc::clone(flight.tool()?);
    let Some(output) = flight.output.take() else {
        return fail(ErrorType::ExecutionError, "The tool returned nothing.");
    };
    if let Some(fault) = against_schema(&tool, &output, &flight.engine().secrets) {
        return fail(ErrorType::ExecutionError, fault);
    }
    let trust = output.trust.unwrap_or(tool.spec().trust);
    let source = output.source.map(|source| {
        let masked = flight.engine().secrets.mask(source);
        text::sanitize(&masked, "text/plain").text.into_owned()
    });
    let mut shaping = Shaping::new(flight, trust, source);
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
    let model = ModelResult {
        result,
        media: shaping.media,
        resources: if shaping.artifact.is_none() { shaping.resources } else { Vec::new() },
        for_people: shaping.for_people,
        structured,
        is_error: output.is_error,
        artifact: shaping.artifact,
        trust,
        source: shaping.source,
        flagged: shaping.flagged,
        changes: shaping.changes,
    };
    let read = read(flight, Ok(&model));
    flight.shaped = Some(model);
    let notes: Vec<String> =
        [note].into_iter().filter(|note| !note.is_empty()).chain(read).collect();
    Ok(if changed || !notes.is_empty() { Passed::changed(notes.join("; ")) } else { Passed::PLAIN })
}

/// The run has read this now: whatever it does next is judged with that in mind. What is new about it, in words.
pub(crate) fn read(flight: &InFlight, result: Result<&ModelResult, &ToolError>) -> Option<String> {
    let run = flight.scope.run.as_ref()?;
    let (tool, assessed) = (flight.tool.as_ref()?, flight.assessment.as_ref()?);
    let reading = Reading {
        call: flight.call,
        tool: tool.spec().name.as_str(),
        spec: Some(tool.spec()),
        effect: assessed.effect,
        reach: assessed.reach,
        refers: flight.referring.is_some(),
        ran: flight.attempts > 0,
        result,
    };
    reading.raise(run)
}

/// A tool that promises a form of its result and breaks the promise is a failed tool.
fn against_schema(tool: &Registered, output: &ToolOutput, secrets: &Secrets) -> Option<String> {
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
    // Masked before it is cut: a part of a secret would not be known for one.
    let fault: String = secrets.mask(fault).chars().take(300).collect();
    Some(format!(
        "Tool {} returned a result that does not fit its own output schema: {fault}",
        tool.spec().name
    ))
}

/// The words of a failure, fit for a model too: they may repeat a file name, a header or a secret that somebody else chose.
pub(crate) fn error(flight: &InFlight, mut error: ToolError) -> ToolError {
    error.message = words(flight, error.message);
    error.detail = error.detail.map(|detail| words(flight, detail));
    error
}

/// A few words that are not a result: masked, made harmless, bounded.
pub(crate) fn words(flight: &InFlight, words: String) -> String {
    let masked = flight.engine().secrets.mask(words);
    let harmless = text::sanitize(&masked, "text/plain").text;
    let harmless = flight.engine().secrets.mask(harmless.into_owned());
    text::bound(&harmless, defaults::ERROR_CHARS).text.into_owned()
}

/// One text of a result.
struct Words {
    /// As the model reads it.
    shown: String,
    /// As the tool returned it, secrets masked; `None` = as it is shown.
    original: Option<String>,
    media_type: String,
}

/// What is gathered on the way from the tool's parts to the model's text.
struct Shaping<'a> {
    flight: &'a InFlight,
    trust: Trust,
    source: Option<String>,
    words: Vec<Words>,
    media: Vec<Block>,
    resources: Vec<Block>,
    for_people: Vec<Block>,
    artifact: Option<ArtifactRef>,
    flagged: bool,
    changes: Vec<String>,
}

impl<'a> Shaping<'a> {
    fn new(flight: &'a InFlight, trust: Trust, source: Option<String>) -> Self {
        Self {
            flight,
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
            Block::Html { html } => {
                let html = self.mask(html);
                self.for_people.push(Block::Html { html });
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

    /// The words of something with an address, as the model reads them; a client that shows such things gets the same words.
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
        let uri = self.sanitise(&uri, "text/plain").into_owned();
        self.resources.push(Block::Resource { uri, media_type, text });
    }

    /// Pictures and sounds are bytes that a program wrote, so they may hold what it was given.
    fn without_secrets(&self, block: Block) -> Block {
        let masked = |blob: Blob| match self.flight.engine().secrets.masked(&blob.data) {
            Some(data) => Blob { data, ..blob },
            None => blob,
        };
        match block {
            Block::Image(blob) => Block::Image(masked(blob)),
            Block::Audio(blob) => Block::Audio(masked(blob)),
            block => block,
        }
    }

    /// Masks and neutralises one text; the original stays beside it in case the whole has to be stored.
    fn words(&mut self, text: String, media_type: String) {
        let text = self.mask(text);
        let words = match self.sanitise(&text, &media_type) {
            // What was decoded on the way, such as HTML, may hold a secret that could not be seen before.
            Cow::Owned(shown) => {
                Words { shown: self.mask(shown), original: Some(text), media_type }
            }
            Cow::Borrowed(same) if same.len() == text.len() => {
                Words { shown: text, original: None, media_type }
            }
            Cow::Borrowed(part) => {
                Words { shown: part.to_owned(), original: Some(text), media_type }
            }
        };
        self.words.push(words);
    }

    /// A line of our own between the parts.
    fn remark(&mut self, shown: String) {
        self.words.push(Words { shown, original: None, media_type: "text/plain".to_owned() });
    }

    fn sanitise<'t>(&mut self, text: &'t str, media_type: &str) -> Cow<'t, str> {
        let sanitised = text::sanitize(text, media_type);
        self.flagged |= sanitised.flagged();
        for change in &sanitised.changes {
            self.changes.push(change.to_string());
        }
        sanitised.text
    }

    fn mask(&self, text: String) -> String {
        self.flight.engine().secrets.mask(text)
    }

    /// Data for programs, masked; none where it is larger than what a model is shown.
    fn inline(&self, data: Value) -> Option<Value> {
        if self.artifact.is_some() {
            return None;
        }
        let text = self.flight.engine().secrets.mask_data(&data).to_string();
        if text.len() > self.limit() {
            return None;
        }
        // Some providers show a model parts of it, so it is made harmless like the text.
        let harmless = text::sanitize(&text, "application/json").text;
        Some(
            serde_json::from_str(&harmless)
                .unwrap_or_else(|_| Value::String(harmless.into_owned())),
        )
    }

    /// The text of all parts, bounded.
    fn text(&mut self) -> Value {
        let text = match self.words.as_mut_slice() {
            [] => String::new(),
            [only] if only.shown.len() <= self.flight.policy().settings.result_chars => {
                std::mem::take(&mut only.shown)
            }
            parts => joined(parts, |words| &words.shown),
        };
        let limit = self.flight.policy().settings.result_chars;
        // Bytes are never fewer than characters.
        if text.len() <= limit || text.chars().count() <= limit {
            return Value::String(text);
        }
        if self.artifact.is_none() {
            self.artifact = self.store_originals();
        }
        let reference = self.artifact.as_ref().map(ToString::to_string);
        let bounds =
            Bounds { max_chars: limit, keep: Keep::Both, artifact_ref: reference.as_deref() };
        Value::String(bounds.apply(&text).text.into_owned())
    }

    /// Data as JSON, neutralised and cut in its structure.
    fn data(&mut self, data: &Value) -> Value {
        let text = self.flight.engine().secrets.mask_data(data).to_string();
        let harmless = match self.sanitise(&text, "application/json") {
            Cow::Borrowed(same) if same.len() == text.len() && text.len() <= self.limit() => {
                // Nothing was changed by the sanitiser; a masked text still has to be read again.
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
        text::bound_json(&value, self.limit()).value
    }

    fn limit(&self) -> usize {
        self.flight.policy().settings.result_chars
    }

    fn store_originals(&self) -> Option<ArtifactRef> {
        let whole = joined(&self.words, |words| words.original.as_ref().unwrap_or(&words.shown));
        let media_type = match self.words.as_slice() {
            [only] => &only.media_type,
            _ => "text/plain",
        };
        self.store(whole.as_bytes(), media_type)
    }

    /// Without a place for the whole the model still gets its part.
    fn store(&self, bytes: &[u8], media_type: &str) -> Option<ArtifactRef> {
        let new = NewArtifact {
            owner: self.flight.scope.context.owner.clone(),
            media_type: media_type.to_owned(),
            trust: self.trust,
            source: self.source.clone(),
            call: self.flight.call,
            run: self.flight.scope.run.as_ref().map(|run| run.id),
            conversation: self.flight.scope.context.conversation.clone(),
        };
        let mut writer = self.flight.engine().artifacts.create(new).ok()?;
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

fn joined(parts: &[Words], text: impl Fn(&Words) -> &String) -> String {
    parts.iter().map(|words| text(words).as_str()).collect::<Vec<_>>().join("\n")
}
