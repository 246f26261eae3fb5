//! The tool `ask_user`: the model asks a person, and the run waits for the answer.
//!
//! The tool itself only checks the question; its call passes through the invoker like every other
//! call. The loop reads the result and pauses.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::display_text::{escape_controls, escape_to_line};
use toolcrib_core::{
    CallCtx, Effect, Example, Handler, Risk, Tier, Tool, ToolError, ToolName, ToolOutput, ToolSpec,
    Trust, TypedHandler, defaults, remote_name, schema,
};

use crate::machine::Question;

/// Canonical name.
pub const NAME: &str = "ask_user";
/// Maximum number of questions per run.
pub const MOST_QUESTIONS: u32 = 3;

/// The tool.
struct AskUser;

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// The question, in one or two sentences. Ask only what you cannot find out yourself.
    #[schemars(length(min = 1, max = 2000))]
    question: String,
    /// Why you ask, and what depends on the answer.
    #[schemars(length(max = 4000))]
    context: Option<String>,
    // An attribute, because a doc comment keeps its line breaks in the schema.
    #[schemars(description = "Two to four answers to choose from. The user may always write \
        another answer, or skip the question.")]
    #[schemars(length(min = 2, max = 4))]
    options: Option<Vec<String>>,
}

/// Returns the canonical name. It is valid (tested); the fallback only avoids a panic.
pub(crate) fn name() -> ToolName {
    ToolName::local(NAME).unwrap_or_else(|_| remote_name("agent", NAME))
}

/// Creates the tool, for the registry.
#[must_use]
pub fn handler() -> Arc<dyn Handler> {
    TypedHandler::handler(AskUser)
}

impl Tool for AskUser {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        let mut spec = ToolSpec::new(
            name(),
            "Ask the user a question and wait for the answer. Use it when a decision is theirs, or when only the user knows what you need.",
            schema::for_type::<Args>(),
        );
        spec.title = "Ask the user".to_owned();
        spec.aliases = vec!["ask_clarification".to_owned(), "ask_human".to_owned()];
        spec.tier = Tier::Innate;
        spec.risk = Risk::Safe;
        spec.effect = Effect::Pure;
        spec.trust = Trust::Tool;
        spec.timeout = defaults::TIMEOUT_SIMPLE;
        spec.group = Some("people".to_owned());
        spec.examples = vec![Example {
            need: "Find out which of two files is meant".to_owned(),
            args: json!({"question": "Which report do you mean?", "options": ["report.md", "report-old.md"]}),
        }];
        spec
    }

    async fn call(&self, _ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        // Escape the question when it is created: an answer is compared with the options as shown.
        let options = args.options.unwrap_or_default();
        let question = Question {
            question: escape_controls(&args.question).into_owned(),
            context: escape_controls(&args.context.unwrap_or_default()).into_owned(),
            options: options.iter().map(|option| escape_to_line(option)).collect(),
        };
        Ok(ToolOutput::structured(json!({"status": "waiting", "question": question})))
    }
}
