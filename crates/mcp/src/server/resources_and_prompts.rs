//! The resources, prompts and skills that a host program serves in addition to its tools.

use std::collections::BTreeMap;

use toolcrib_core::{Block, BoxFuture, ToolSpec, View};

use super::backend::ClientIdentity;
use super::skills::SkillFile;
use crate::client_channel::ClientChannel;
use crate::resource_contents::Contents;

/// A prompt: a skill or a kit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// Title for people.
    pub title: Option<String>,
    /// Its purpose.
    pub description: String,
    /// Its arguments: name, description, whether it is required.
    pub arguments: Vec<(String, String, bool)>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Whether its role is the assistant; otherwise the user.
    pub by_model: bool,
    /// Its content.
    pub content: Block,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resource {
    /// Its URI, or a URI template with `{names}`.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its media type.
    pub media_type: Option<String>,
    /// Its size in bytes.
    pub size: Option<u64>,
}

/// A skill for clients (`io.modelcontextprotocol/skills`, SEP-2640).
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// Its front matter, including `name` and `description`.
    pub front_matter: serde_json::Map<String, serde_json::Value>,
    /// Its files, `SKILL.md` first. Each is also a resource.
    pub files: Vec<SkillFile>,
}

/// Why an object was not found, as text for the client.
pub type Refusal = String;

/// Resources and prompts. The defaults are empty.
pub trait ResourcesAndPrompts: Send + Sync {
    /// Returns the prompts.
    fn prompts<'a>(&'a self, who: &'a ClientIdentity) -> BoxFuture<'a, Vec<Prompt>> {
        let _ = who;
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Renders a prompt. `caller` is the channel for questions.
    ///
    /// # Errors
    /// [`Refusal`].
    fn prompt<'a>(
        &'a self,
        who: &'a ClientIdentity,
        caller: &'a ClientChannel,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Vec<Message>, Refusal>> {
        let _ = (who, caller, arguments);
        Box::pin(std::future::ready(Err(format!("there is no prompt {name}"))))
    }

    /// Returns the skills, or only the one whose `SKILL.md` has this URI.
    fn skills<'a>(
        &'a self,
        who: &'a ClientIdentity,
        only: Option<&'a str>,
    ) -> BoxFuture<'a, Vec<Skill>> {
        let _ = (who, only);
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Returns the resources. `view` is the caller's view of tools.
    fn resources<'a>(
        &'a self,
        who: &'a ClientIdentity,
        view: &'a View,
    ) -> BoxFuture<'a, Vec<Resource>> {
        let _ = (who, view);
        Box::pin(std::future::ready(Vec::new()))
    }

    /// Returns our own page that shows results of this tool, for clients that show pages (MCP
    /// Apps).
    fn page_of(&self, tool: &ToolSpec) -> Option<&str> {
        let _ = tool;
        None
    }

    /// Returns the resource templates.
    fn templates(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// Reads a resource; `None` if it does not exist for this caller.
    ///
    /// # Errors
    /// [`Refusal`] if it exists but cannot be read.
    fn read<'a>(
        &'a self,
        who: &'a ClientIdentity,
        view: &'a View,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Contents>, Refusal>> {
        let _ = (who, view, uri);
        Box::pin(std::future::ready(Ok(None)))
    }
}
