//! `goal_pursuit`: starts a run in the background.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{Assessment, CallCtx, Tool, ToolError, ToolOutput, ToolSpec, ViewRequest};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{GOALS, base_spec, examples};
use crate::goal::{GoalBudget, GoalStatus, NewGoal};
use crate::rows::Writer;

/// Handler of `goal_pursuit`.
pub(super) struct GoalPursuit(pub(super) AssistantTools);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// The objective, in words that can be understood without context.
    goal: String,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "goal_pursuit",
        "Pursue a goal",
        "Start a run in the background that pursues a longer goal on its own, with its own budget. The result comes later; goals shows how far it is.",
        GOALS,
    );
    spec.examples = examples([(
        "Find out in the background which of these ten libraries is maintained",
        json!({"goal": "Compare the ten libraries in libs.md by their last release and open issues; answer with a table."}),
    )]);
    spec.needs = ["work on it in the background", "research this while I do something else"]
        .map(str::to_owned)
        .to_vec();
    spec
}

impl Tool for GoalPursuit {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        Ok(Assessment::from_spec(spec).with_summary(format!("pursue: {}", args.goal)))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let writer = Writer {
            owner: ctx.context.owner.clone(),
            author: author(ctx),
            untrusted: self.0.untrusted(ctx),
        };
        let new = NewGoal {
            goal: args.goal,
            agent: ctx.context.agent.clone(),
            tools: tools_of(&ctx.view),
            started_in: ctx.context.conversation.clone(),
            depth: ctx.context.depth,
            surroundings: ctx.context.surroundings.clone(),
            budget: GoalBudget::default(),
        };
        let goal = self.0.goals.start(&writer, new).await?;
        let response = if goal.status == GoalStatus::Waiting {
            self.0.tell_waiting(ctx, &goal.id, &goal.goal, "toolcrib goal resume").await;
            format!(
                "This run has read text from outside, so the goal waits until the person lets it begin: `toolcrib goal resume {}`. Tell the person.",
                goal.id
            )
        } else {
            "It is pursued in the background while a daemon (`toolcrib serve`) runs. Go on; the result is delivered when it is ready, and goals shows how far it is.".to_owned()
        };
        Ok(ToolOutput::structured(json!({
            "success": true, "pursuit_id": goal.id, "status": goal.status.as_str(), "response": response,
        })))
    }
}

/// Returns the tools of the run that starts a goal, so that the goal's run has no others.
fn tools_of(view: &ViewRequest) -> Option<Vec<String>> {
    let skill = view.skill.clone().filter(|skill| !skill.is_empty());
    view.model.allow.clone().or(skill).or_else(|| view.agent.clone())
}
