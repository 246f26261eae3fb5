//! Stage 13: the result becomes fit for a model: secrets masked, made harmless by type, then bounded; the whole is kept as an artifact.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_core::artifact::NewArtifact;
use toolcrib_core::{ArtifactRef, Block, ErrorType, ModelResult, ToolOutput, Trust};

use crate::flight::{InFlight, Passed, Step, fail};
use crate::registry::Registered;
use crate::text::{self, Bounds, Keep};

/// Bytes of one picture or sound that go to a model; larger ones are stored (the smallest limit among the providers is 5 MB).
const MEDIA_BYTES: usize = 5 * 1024 * 1024;

pub(crate) fn run(flight: &mut InFlight) -> Step {
    let tool = Arc::clone(flight.tool()?);
    let Some(output) = flight.output.take() else {
        return fail(ErrorType::ExecutionError, "The tool returned nothing.");
    };
    if let Some(fault) = against_schema(&tool, &output) {
        return fail(ErrorType::ExecutionError, fault);
    }
    let trust = output.trust.unwrap_or(tool.spec().trust);
    let mut shaping = Shaping::new(flight, trust, output.source.clone());
    let structured_only = output.content.is_empty();
    for block in output.content {
        shaping.block(block);
    }
    let result = match &output.structured {
        Some(data) if structured_only => shaping.data(data),
        _ => shaping.text(),
    };
    let structured =
        output.structured.filter(|_| shaping.artifact.is_none()).map(|data| shaping.masked(data));
    let changed = !shaping.changes.is_empty() || shaping.artifact.is_some() || shaping.flagged;
    let note = shaping.note();
    let model = ModelResult {
        result,
        media: shaping.media,
        for_people: shaping.for_people,
        structured,
        is_error: output.is_error,
        artifact: shaping.artifact,
        trust,
        source: output.source,
        flagged: shaping.flagged,
        changes: shaping.changes,
    };
    flight.shaped = Some(model);
    Ok(if changed { Passed::changed(note) } else { Passed::PLAIN })
}

/// A tool that promises a form of its result and breaks the promise is a failed tool.
fn against_schema(tool: &Registered, output: &ToolOutput) -> Option<String> {
    let schema = tool.output_schema.as_ref().filter(|_| !output.is_error)?;
    let Some(data) = &output.structured else {
        return Some(format!("Tool {} returned no structured result although its definition promises one.", tool.spec().name));
    };
    let fault = match schema.validator() {
        Ok(validator) => validator.validate(data).err()?.to_string(),
        Err(error) => error.to_string(),
    };
    let fault: String = fault.chars().take(300).collect();
    Some(format!("Tool {} returned a result that does not fit its own output schema: {fault}", tool.spec().name))
}

/// What is gathered on the way from the tool's parts to the model's text.
struct Shaping<'a> {
    flight: &'a InFlight,
    trust: Trust,
    source: Option<String>,
    texts: Vec<String>,
    /// What the tool returned, before anything was done to it; kept only while it may have to be stored.
    original: Vec<(String, String)>,
    media: Vec<Block>,
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
            texts: Vec::new(),
            original: Vec::new(),
            media: Vec::new(),
            for_people: Vec::new(),
            artifact: None,
            flagged: false,
            changes: Vec::new(),
        }
    }

    fn block(&mut self, block: Block) {
        match block {
            Block::Text { text, media_type } => self.words(text, media_type),
            Block::Resource { uri, media_type, text } => {
                let words = text.map_or_else(|| format!("[resource {uri}]"), |text| format!("[resource {uri}]\n{text}"));
                self.words(words, media_type.unwrap_or_else(|| "text/plain".to_owned()));
            }
            Block::Html { html } => self.for_people.push(Block::Html { html }),
            Block::Artifact(artifact) => {
                self.words(format!("[stored as {artifact}; read it with read_artifact]"), "text/plain".to_owned());
            }
            Block::Spilled { preview, media_type, total_bytes, artifact } => {
                self.words(preview, media_type);
                let whole = artifact.as_ref().map_or_else(
                    || "the rest could not be stored".to_owned(),
                    |artifact| format!("the whole is read with read_artifact(ref=\"{artifact}\")"),
                );
                self.texts.push(format!("[{total_bytes} bytes in all; {whole}]"));
                self.artifact = artifact.or(self.artifact.take());
            }
            Block::Image(blob) if blob.data.len() <= MEDIA_BYTES => self.media.push(Block::Image(blob)),
            Block::Audio(blob) if blob.data.len() <= MEDIA_BYTES => self.media.push(Block::Audio(blob)),
            Block::Image(blob) | Block::Audio(blob) => {
                let bytes = blob.data.len();
                let place = self.store(&blob.data, &blob.media_type).map_or_else(
                    || "it could not be stored".to_owned(),
                    |artifact| format!("stored as {artifact}"),
                );
                self.texts.push(format!("[{} of {bytes} bytes is too large to show; {place}]", blob.media_type));
            }
        }
    }

    /// Masks and neutralises one text; the original stays beside it in case the whole has to be stored.
    fn words(&mut self, text: String, media_type: String) {
        let text = self.mask(text);
        let harmless = self.sanitise(&text, &media_type).into_owned();
        self.texts.push(harmless);
        self.original.push((text, media_type));
    }

    fn sanitise<'t>(&mut self, text: &'t str, media_type: &str) -> Cow<'t, str> {
        let sanitised = text::sanitize(text, media_type);
        self.flagged |= sanitised.flagged();
        for change in &sanitised.changes {
            self.changes.push(change.to_string());
        }
        sanitised.text
    }

    /// Exact values of configured secrets never leave (DESIGN 5, Secrets).
    fn mask(&self, text: String) -> String {
        let secrets = &self.flight.engine().secrets;
        if !secrets.iter().any(|secret| text.contains(secret.as_str())) {
            return text;
        }
        secrets.iter().fold(text, |text, secret| text.replace(secret.as_str(), "***"))
    }

    /// The same for data. A secret that is not plain text in JSON leaves nothing but its masked text.
    fn masked(&self, data: Value) -> Value {
        if self.flight.engine().secrets.is_empty() {
            return data;
        }
        let text = self.mask(data.to_string());
        serde_json::from_str(&text).unwrap_or(Value::String(text))
    }

    /// The text of all parts, bounded.
    fn text(&mut self) -> Value {
        let text = match self.texts.len() {
            0 => String::new(),
            1 => self.texts.pop().unwrap_or_default(),
            _ => std::mem::take(&mut self.texts).join("\n"),
        };
        let limit = self.flight.engine().settings.result_chars;
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
        let text = self.mask(data.to_string());
        let harmless = match self.sanitise(&text, "application/json") {
            Cow::Borrowed(same) if same.len() == text.len() && text.len() <= self.limit() => {
                // Nothing was changed by the sanitiser; a masked text still has to be read again.
                return serde_json::from_str(same).unwrap_or_else(|_| Value::String(same.to_owned()));
            }
            harmless => harmless.into_owned(),
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
        self.flight.engine().settings.result_chars
    }

    fn store_originals(&mut self) -> Option<ArtifactRef> {
        let originals = std::mem::take(&mut self.original);
        let (text, media_type) = match originals.as_slice() {
            [(text, media_type)] => (text.clone(), media_type.clone()),
            parts => {
                let texts: Vec<&str> = parts.iter().map(|(text, _)| text.as_str()).collect();
                (texts.join("\n"), "text/plain".to_owned())
            }
        };
        self.store(text.as_bytes(), &media_type)
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
