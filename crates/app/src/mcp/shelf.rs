//! What a client finds beside tools: stored results to be read, skills and kits to be filled in.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Map;
use serde_json::Value;
use toolcrib_agent::library::{Kit, Step};
use toolcrib_core::{ArtifactMeta, ArtifactRef, Block, BoxFuture, View, ViewRequest};
use toolcrib_engine::Secrets;
use toolcrib_mcp::desk::Caller;
use toolcrib_mcp::server::{Body, Contents, Message, Prompt, Refusal, Resource, Shelf, Skill, Who};

use super::{pages, skills};
use crate::toolcrib::Toolcrib;

/// How the address of an artifact begins.
const ARTIFACT: &str = "toolcrib://artifacts/";
/// Artifacts in a list, the newest.
const LISTED: usize = 100;
/// Bytes that are read of one.
const READ: usize = 4 << 20;

/// A page is for a program: it is masked, and nothing in it is neutralised.
fn masked(page: Contents, secrets: &Secrets) -> Contents {
    let body = match page.body {
        Body::Text(text) => Body::Text(secrets.mask(text)),
        Body::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => Body::Bytes(secrets.mask(text).into_bytes()),
            Err(error) => Body::Bytes(error.into_bytes()),
        },
    };
    let meta = match secrets.mask_data(&Value::Object(page.meta)) {
        Value::Object(meta) => meta,
        _ => Map::new(),
    };
    Contents { body, meta, ..page }
}

/// The shelves of a Toolcrib.
pub struct Shelves {
    toolcrib: Toolcrib,
}

impl Shelves {
    /// Those of this Toolcrib.
    #[must_use]
    pub fn new(toolcrib: Toolcrib) -> Self {
        Self { toolcrib }
    }

    fn read_artifact(&self, who: &Who, reference: &str) -> Result<Option<Contents>, Refusal> {
        let artifact = ArtifactRef(reference.to_owned());
        if !artifact.is_well_formed() {
            return Ok(None);
        }
        let store = &self.toolcrib.stores().artifacts;
        let failed = |error: toolcrib_core::StoreError| error.to_string();
        let Some(meta) = store.meta(&artifact, &who.owner).map_err(failed)? else {
            return Ok(None);
        };
        let bytes = store.read(&artifact, &who.owner, 0, READ).map_err(failed)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let media_type = Some(meta.media_type);
        Ok(Some(match String::from_utf8(bytes) {
            // What a model reads is made harmless, wherever it lies.
            Ok(text) => {
                let text = self.toolcrib.engine().sealing().secrets.mask(text);
                let text = toolcrib_engine::text::sanitize(&text, "text/plain").text.into_owned();
                Contents { media_type, body: Body::Text(text), meta: Map::new() }
            }
            Err(error) => {
                Contents { media_type, body: Body::Bytes(error.into_bytes()), meta: Map::new() }
            }
        }))
    }
}

/// A kit in words.
fn steps(kit: &Kit) -> String {
    let step = |(n, step): (usize, &Step)| {
        format!("{}. {} {} {}", n + 1, step.tool, step.params, step.note)
    };
    let steps: Vec<String> = kit.steps.iter().enumerate().map(step).collect();
    format!("{}\n\n{}", kit.description, steps.join("\n"))
}

fn resource(meta: ArtifactMeta) -> Resource {
    Resource {
        uri: format!("{ARTIFACT}{}", meta.artifact),
        name: meta.artifact.to_string(),
        description: Some("A stored result of a tool.".to_owned()),
        media_type: Some(meta.media_type),
        size: Some(meta.bytes),
    }
}

impl Shelf for Shelves {
    fn prompts<'a>(&'a self, _: &'a Who) -> BoxFuture<'a, Vec<Prompt>> {
        Box::pin(async move {
            let Some(library) = self.toolcrib.library() else { return Vec::new() };
            let library = library.current();
            let prompt = |kind: &str, name: &str, description: &str| Prompt {
                name: format!("{kind}:{name}"),
                title: Some(name.to_owned()),
                description: description.to_owned(),
                arguments: Vec::new(),
            };
            let skills =
                library.skills.iter().map(|skill| prompt("skill", &skill.name, &skill.description));
            let kits = library.kits.iter().map(|kit| prompt("kit", &kit.name, &kit.description));
            skills.chain(kits).collect()
        })
    }

    fn prompt<'a>(
        &'a self,
        _: &'a Who,
        _: &'a Caller,
        name: &'a str,
        _: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Vec<Message>, Refusal>> {
        Box::pin(async move {
            let none = || format!("there is no prompt {name}; prompts/list has them");
            let library = self.toolcrib.library().ok_or_else(none)?;
            let library = library.current();
            let text = match name.split_once(':') {
                Some(("skill", name)) => {
                    let skill = library.skills.iter().find(|skill| skill.name == name);
                    let body = skill.ok_or_else(none)?.body();
                    body.map_err(|fault| format!("the skill {name} {fault}"))?.instructions
                }
                Some(("kit", name)) => {
                    steps(library.kits.iter().find(|kit| kit.name == name).ok_or_else(none)?)
                }
                _ => return Err(none()),
            };
            Ok(vec![Message { by_model: false, content: Block::text(text) }])
        })
    }

    fn skills<'a>(&'a self, _: &'a Who) -> BoxFuture<'a, Vec<Skill>> {
        Box::pin(async move {
            let Some(library) = self.toolcrib.library() else { return Vec::new() };
            skills::all(library.current()).await
        })
    }

    fn resources<'a>(&'a self, who: &'a Who, view: &'a View) -> BoxFuture<'a, Vec<Resource>> {
        Box::pin(async move {
            let library = self.toolcrib.library().map(|library| library.current());
            let skills = library.iter().flat_map(|library| skills::listed(library));
            let stored = self.toolcrib.stores().artifacts.list(&who.owner, LISTED);
            let stored = stored.unwrap_or_default().into_iter().map(resource);
            let pages = pages::listed(self.toolcrib.mcp(), view);
            skills.chain(pages).chain(stored).collect()
        })
    }

    fn templates(&self) -> Vec<Resource> {
        vec![Resource {
            uri: format!("{ARTIFACT}{{ref}}"),
            name: "artifact".to_owned(),
            description: Some("A stored result of a tool, by its reference.".to_owned()),
            ..Resource::default()
        }]
    }

    fn read<'a>(
        &'a self,
        who: &'a Who,
        view: &'a View,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Contents>, Refusal>> {
        Box::pin(async move {
            if let Some(reference) = uri.strip_prefix(ARTIFACT) {
                return self.read_artifact(who, reference);
            }
            if let (Some(path), Some(library)) =
                (uri.strip_prefix(skills::SKILL), self.toolcrib.library())
            {
                return skills::read(library.current(), path.to_owned()).await;
            }
            if !uri.starts_with(pages::PAGE) {
                return Ok(None);
            }
            if self.toolcrib.kill_switch().is_engaged() || !self.toolcrib.engine().tools_enabled() {
                return Err("all tools are stopped, and so are the pages of their servers; the owner lets them run again".to_owned());
            }
            let secrets = &self.toolcrib.engine().sealing().secrets;
            let everything = self.toolcrib.catalog().view(&Arc::new(ViewRequest::default()));
            let read = pages::read(self.toolcrib.mcp(), view, &everything, uri).await;
            Ok(read.map_err(|words| secrets.mask(words))?.map(|page| masked(page, secrets)))
        })
    }
}
