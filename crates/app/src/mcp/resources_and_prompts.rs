//! Resources and prompts for MCP clients: artifacts to read, skills and kits as prompts.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value};
use toolcrib_agent::library::{Kit, Step};
use toolcrib_core::{
    ArtifactMeta, ArtifactRef, Block, BoxFuture, ToolMeta, ToolSpec, View, ViewRequest,
};
use toolcrib_engine::Secrets;
use toolcrib_mcp::client_channel::ClientChannel;
use toolcrib_mcp::server::{
    ClientIdentity, Contents, Message, Prompt, Refusal, Resource, ResourceBody,
    ResourcesAndPrompts, Skill,
};

use super::{card_page, skill_resources, ui_resources};
use crate::toolcrib::Toolcrib;

/// URI prefix of artifacts.
const ARTIFACT: &str = "toolcrib://artifacts/";
/// Maximum number of artifacts in a list; the newest.
const LISTED: usize = 100;
/// Maximum number of bytes of an artifact that are read.
const READ_BYTES: usize = 4 << 20;

/// Resources and prompts of a Toolcrib.
pub struct ToolcribResources {
    toolcrib: Toolcrib,
}

impl ToolcribResources {
    /// Creates the resources of this Toolcrib.
    #[must_use]
    pub fn new(toolcrib: Toolcrib) -> Self {
        Self { toolcrib }
    }

    fn read_artifact(
        &self,
        who: &ClientIdentity,
        reference: &str,
    ) -> Result<Option<Contents>, Refusal> {
        let artifact = ArtifactRef(reference.to_owned());
        if !artifact.is_well_formed() {
            return Ok(None);
        }
        let store = &self.toolcrib.stores().artifacts;
        let failed = |error: toolcrib_core::StoreError| error.to_string();
        let Some(meta) = store.meta(&artifact, &who.owner).map_err(failed)? else {
            return Ok(None);
        };
        let bytes = store.read(&artifact, &who.owner, 0, READ_BYTES).map_err(failed)?;
        let Some(bytes) = bytes else { return Ok(None) };
        let media_type = Some(meta.media_type);
        Ok(Some(match String::from_utf8(bytes) {
            // Models read resources, too, so the text is sanitized.
            Ok(text) => {
                let text = self.toolcrib.engine().sealing().secrets.mask(text);
                let text = toolcrib_sanitizer::sanitize(&text, "text/plain").text.into_owned();
                Contents { media_type, body: ResourceBody::Text(text), meta: Map::new() }
            }
            Err(error) => Contents {
                media_type,
                body: ResourceBody::Bytes(error.into_bytes()),
                meta: Map::new(),
            },
        }))
    }
}

/// Renders a kit as text.
fn kit_steps(kit: &Kit) -> String {
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

impl ResourcesAndPrompts for ToolcribResources {
    fn prompts<'a>(&'a self, _: &'a ClientIdentity) -> BoxFuture<'a, Vec<Prompt>> {
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
        _: &'a ClientIdentity,
        _: &'a ClientChannel,
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
                    kit_steps(library.kits.iter().find(|kit| kit.name == name).ok_or_else(none)?)
                }
                _ => return Err(none()),
            };
            Ok(vec![Message { by_model: false, content: Block::text(text) }])
        })
    }

    fn skills<'a>(
        &'a self,
        _: &'a ClientIdentity,
        only: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Skill>> {
        Box::pin(async move {
            let Some(library) = self.toolcrib.library() else { return Vec::new() };
            skill_resources::describe_skills(library.current(), only.map(str::to_owned)).await
        })
    }

    fn resources<'a>(
        &'a self,
        who: &'a ClientIdentity,
        view: &'a View,
    ) -> BoxFuture<'a, Vec<Resource>> {
        Box::pin(async move {
            let library = self.toolcrib.library().map(|library| library.current());
            let skills =
                library.iter().flat_map(|library| skill_resources::list_resources(library));
            let stored = self.toolcrib.stores().artifacts.list(&who.owner, LISTED);
            let stored = stored.unwrap_or_default().into_iter().map(resource);
            let own = card_page::is_visible(view).then(card_page::resource);
            let pages = ui_resources::list_resources(self.toolcrib.mcp(), view);
            // A server that uses the address of Toolcrib's page must not replace it.
            let pages = pages.into_iter().filter(|page| page.uri != card_page::URI);
            skills.chain(own).chain(pages).chain(stored).collect()
        })
    }

    fn page_of(&self, tool: &ToolSpec) -> Option<&str> {
        card_page::page_of(tool)
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
        who: &'a ClientIdentity,
        view: &'a View,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Contents>, Refusal>> {
        Box::pin(async move {
            if let Some(reference) = uri.strip_prefix(ARTIFACT) {
                return self.read_artifact(who, reference);
            }
            if let (Some(path), Some(library)) =
                (uri.strip_prefix(skill_resources::SKILL_SCHEME), self.toolcrib.library())
            {
                return skill_resources::read_skill_file(library.current(), path.to_owned()).await;
            }
            if !uri.starts_with(ToolMeta::PAGE) {
                return Ok(None);
            }
            if self.toolcrib.kill_switch().is_engaged() || !self.toolcrib.engine().tools_enabled() {
                return Err("all tools are stopped, and so are the pages of their servers; the owner lets them run again".to_owned());
            }
            if uri == card_page::URI {
                return Ok(card_page::is_visible(view).then(card_page::contents));
            }
            let secrets = &self.toolcrib.engine().sealing().secrets;
            let everything = self.toolcrib.catalog().view(&Arc::new(ViewRequest::default()));
            let read = ui_resources::read_page(self.toolcrib.mcp(), view, &everything, uri).await;
            Ok(read.map_err(|words| secrets.mask(words))?.map(|page| mask_contents(page, secrets)))
        })
    }
}

/// Masks secrets in the content that a server sends for a page. The content is for a program, so it
/// is not sanitized.
#[must_use]
pub fn mask_contents(contents: Contents, secrets: &Secrets) -> Contents {
    let body = match contents.body {
        ResourceBody::Text(text) => ResourceBody::Text(secrets.mask(text)),
        ResourceBody::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => ResourceBody::Bytes(secrets.mask(text).into_bytes()),
            Err(error) => ResourceBody::Bytes(error.into_bytes()),
        },
    };
    let meta = match secrets.mask_json(&Value::Object(contents.meta)) {
        Value::Object(meta) => meta,
        _ => Map::new(),
    };
    Contents { body, meta, ..contents }
}
