//! Tools of the assistant, one file per tool, and what they share.

mod cancel_task;
mod list_tasks;
mod memory_forget;
mod memory_learn;
mod memory_recall;
mod memory_reinforce;
mod memory_store;
mod schedule_task;

use std::sync::Arc;

use schemars::JsonSchema;
use serde_json::Value;
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    Author, CallCtx, Effect, Entry, Example, Handler, Risk, ToolName, ToolSpec, Trust,
    TypedHandler, defaults, remote_name, schema,
};

use crate::memory::Memories;
use crate::task::Tasks;
use crate::{LabelsOfRuns, untrusted_source};

/// Id of the source of these tools.
pub const SOURCE: &str = "assistant";
/// Feature switch and group of the memory tools.
const MEMORY: &str = "memory";
/// Feature switch and group of the tools for tasks.
const SCHEDULING: &str = "scheduling";

/// What the tools work on.
#[derive(Clone)]
pub struct AssistantTools {
    /// The memories.
    pub memories: Memories,
    /// The tasks.
    pub tasks: Tasks,
    /// Taint labels of open runs.
    pub labels: LabelsOfRuns,
}

impl AssistantTools {
    /// The tools in declaration order.
    #[must_use]
    pub fn handlers(&self) -> Vec<Arc<dyn Handler>> {
        let tools = || self.clone();
        vec![
            TypedHandler::handler(memory_store::MemoryStore(tools())),
            TypedHandler::handler(memory_forget::MemoryForget(tools())),
            TypedHandler::handler(memory_learn::MemoryLearn(tools())),
            TypedHandler::handler(memory_reinforce::MemoryReinforce(tools())),
            TypedHandler::handler(memory_recall::MemoryRecall(tools())),
            TypedHandler::handler(schedule_task::ScheduleTask(tools())),
            TypedHandler::handler(list_tasks::ListTasks(tools())),
            TypedHandler::handler(cancel_task::CancelTask(tools())),
        ]
    }

    /// The tools as a source for the registry.
    #[must_use]
    pub fn source(&self) -> FixedSource {
        FixedSource::new(SOURCE, self.handlers().into_iter().map(Entry::Local).collect())
    }

    /// What makes a text of this call untrusted.
    fn untrusted(&self, ctx: &CallCtx) -> Option<String> {
        untrusted_source(&self.labels, ctx)
    }
}

/// The definitions of all tools in order, for documentation.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    vec![
        memory_store::spec(),
        memory_forget::spec(),
        memory_learn::spec(),
        memory_reinforce::spec(),
        memory_recall::spec(),
        schedule_task::spec(),
        list_tasks::spec(),
        cancel_task::spec(),
    ]
}

/// The base definition of a tool of the assistant: it works on the person's own rows, with a feature
/// switch instead of one of its own.
fn base_spec<A: JsonSchema>(name: &str, title: &str, description: &str, feature: &str) -> ToolSpec {
    // The names passed in are valid (tested); the other arm only avoids a panic.
    let name = ToolName::local(name).unwrap_or_else(|_| remote_name(SOURCE, name));
    let mut spec = ToolSpec::new(name, description, schema::for_type::<A>());
    title.clone_into(&mut spec.title);
    spec.risk = Risk::Safe;
    spec.effect = Effect::SideEffect;
    spec.trust = Trust::Tool;
    spec.timeout = defaults::TIMEOUT_FILE;
    spec.group = Some(feature.to_owned());
    spec.controlled_by = Some(feature.to_owned());
    spec
}

/// Example calls.
fn examples<const N: usize>(samples: [(&str, Value); N]) -> Vec<Example> {
    samples.into_iter().map(|(need, args)| Example { need: need.to_owned(), args }).collect()
}

/// The author of what a call writes: its agent, or the client that made it.
fn author(ctx: &CallCtx) -> Author {
    let context = &ctx.context;
    let names = [&context.agent, &context.device, &context.channel];
    let by = names.into_iter().find(|name| !name.is_empty()).cloned();
    Author { by: by.unwrap_or_else(|| "call".to_owned()), run: ctx.run, call: Some(ctx.call) }
}

#[cfg(test)]
mod tests;
