//! Our door as a server: a client sees a view, and each of its calls goes through the door.

mod answer;
mod approval;
mod http;
mod offer;
mod plain;
mod serve;
mod skills;
mod tasks;
mod tickets;

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

pub use http::{HttpSettings, Service, service};
pub use serve::Serve;
use toolcrib_core::invoke::DecideError;
use toolcrib_core::{
    Answer, ApprovalId, Block, BoxFuture, Call, DecisionRecord, Entry, ToolError, View, Watch,
};

pub use crate::contents::{Body, Contents};
use crate::desk::Caller;

/// Who a request comes from.
#[derive(Clone)]
pub struct Who {
    /// As records name it.
    pub name: String,
    /// No other client has the same: what one has begun is gone on with by the same one alone.
    pub client: String,
    /// Whose rows it sees; empty = the only owner there is.
    pub owner: String,
    /// What the door knows of it beside that.
    pub known: Arc<dyn Any + Send + Sync>,
}

/// Which tools are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mode {
    /// All that the caller may see.
    #[default]
    Direct,
    /// [`LEAN`] alone: tools are found, and called by their names.
    Lean,
}

/// The tools of [`Mode::Lean`], those of them that there are.
pub const LEAN: [&str; 4] = ["find_tools", "call_tool", "tool_chain", "run_chain"];

/// What the server needs of the program around it: the door, and what lies beside it.
pub trait Door: Send + Sync + 'static {
    /// Who asks; over HTTP with what the daemon's door found out about the request.
    ///
    /// # Errors
    /// Why nobody of this kind may ask.
    fn who(&self, request: Option<&::http::Extensions>) -> Result<Who, String>;

    /// The tools that this caller sees.
    fn view(&self, who: &Who) -> Arc<View>;

    /// The tool of this name, for the form of its arguments.
    fn tool(&self, name: &str) -> Option<Entry>;

    /// One call through the door.
    ///
    /// # Errors
    /// Why it was not taken; then nothing was run.
    fn call<'a>(
        &'a self,
        who: &'a Who,
        call: Call,
        watch: Option<Arc<dyn Watch>>,
    ) -> BoxFuture<'a, Result<Answer, ToolError>>;

    /// Whether the person at this client may decide about what it asks for. Where not, nobody there is asked.
    fn may_decide(&self, who: &Who) -> bool;

    /// Decides about a call that waits, and goes on with it.
    ///
    /// # Errors
    /// [`DecideError`].
    fn decide(
        &self,
        approval: ApprovalId,
        decision: DecisionRecord,
    ) -> BoxFuture<'_, Result<Option<Answer>, DecideError>>;

    /// Whether calls that nobody decides about may wait in the inbox.
    fn has_inbox(&self) -> bool;

    /// Changes with the tools.
    fn generation(&self) -> u64;

    /// What can be read and filled in beside tools.
    fn shelf(&self) -> &dyn Shelf;
}

/// A text to be filled in: a skill, a kit.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Prompt {
    /// Its name.
    pub name: String,
    /// Its name for people.
    pub title: Option<String>,
    /// What it is for.
    pub description: String,
    /// What is filled in: name, meaning, whether it has to be given.
    pub arguments: Vec<(String, String, bool)>,
}

/// One message of a prompt.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Whether the model says it, in place of the person.
    pub by_model: bool,
    /// What is said.
    pub content: Block,
}

/// Something that can be read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Resource {
    /// Its address, or the form of it with `{names}` in it.
    pub uri: String,
    /// Its name.
    pub name: String,
    /// What it is.
    pub description: Option<String>,
    /// Its media type.
    pub media_type: Option<String>,
    /// Its length in bytes.
    pub size: Option<u64>,
}

/// A skill that is given to clients (`io.modelcontextprotocol/skills`, SEP-2640).
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// All that its author wrote before the instructions; `name` and `description` are among it.
    pub front_matter: serde_json::Map<String, serde_json::Value>,
    /// The addresses of its files with their bytes, `SKILL.md` the first. Each is read as a resource too.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Why something was not found or filled in, in words for the client.
pub type Refusal = String;

/// What can be read and filled in beside tools. What is not overridden is empty.
pub trait Shelf: Send + Sync {
    /// The prompts.
    fn prompts<'a>(&'a self, who: &'a Who) -> BoxFuture<'a, Vec<Prompt>> {
        let _ = who;
        Box::pin(std::future::ready(Vec::new()))
    }

    /// One of them, filled in. `caller` can be asked for more.
    ///
    /// # Errors
    /// [`Refusal`].
    fn prompt<'a>(
        &'a self,
        who: &'a Who,
        caller: &'a Caller,
        name: &'a str,
        arguments: &'a BTreeMap<String, String>,
    ) -> BoxFuture<'a, Result<Vec<Message>, Refusal>> {
        let _ = (who, caller, arguments);
        Box::pin(std::future::ready(Err(format!("there is no prompt {name}"))))
    }

    /// The skills.
    fn skills<'a>(&'a self, who: &'a Who) -> BoxFuture<'a, Vec<Skill>> {
        let _ = who;
        Box::pin(std::future::ready(Vec::new()))
    }

    /// What can be read. `view` is what the caller sees of tools.
    fn resources<'a>(&'a self, who: &'a Who, view: &'a View) -> BoxFuture<'a, Vec<Resource>> {
        let _ = (who, view);
        Box::pin(std::future::ready(Vec::new()))
    }

    /// What can be read by a form of its address.
    fn templates(&self) -> Vec<Resource> {
        Vec::new()
    }

    /// Reads something; `None` = there is no such thing for this caller.
    ///
    /// # Errors
    /// [`Refusal`] when it is there and cannot be read.
    fn read<'a>(
        &'a self,
        who: &'a Who,
        view: &'a View,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<Option<Contents>, Refusal>> {
        let _ = (who, view, uri);
        Box::pin(std::future::ready(Ok(None)))
    }
}
