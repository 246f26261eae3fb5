//! `goals`: shows and closes goals.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{Assessment, CallCtx, Effect, Tool, ToolError, ToolOutput, ToolSpec, Trust};

use super::assistant_tools::{AssistantTools, author};
use super::definition::{GOALS, aliases, base_spec, examples};
use crate::goal::Goal;
use crate::rows::Writer;

/// Maximum listed goals.
const LISTED: usize = 20;

/// Handler of `goals`.
pub(super) struct GoalsTool(pub(super) AssistantTools);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Action {
    List,
    Inspect,
    Close,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Args {
    /// list, inspect (with the result) or close (an open one is cancelled). Default: list.
    action: Option<Action>,
    /// For inspect and close: id of the goal.
    goal_id: Option<String>,
}

pub(super) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "goals",
        "List goals",
        "List the goals that are pursued in the background, read the result of one, or close one.",
        GOALS,
    );
    spec.polling = true;
    spec.parameter_aliases = aliases([("id", "goal_id"), ("pursuit_id", "goal_id")]);
    spec.examples = examples([
        ("How far are my goals?", json!({"action": "list"})),
        (
            "What came out of the comparison?",
            json!({"action": "inspect", "goal_id": "goal_019aabc00000000000000000000000a1"}),
        ),
    ]);
    spec
}

impl Tool for GoalsTool {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let mut assessment = Assessment::from_spec(spec);
        let action = args.action.unwrap_or(Action::List);
        let name = match action {
            Action::List => "list",
            Action::Inspect => "inspect",
            Action::Close => "close",
        };
        assessment.operation = Some(format!("goals.{name}"));
        match action {
            Action::Close => assessment.effect = Effect::Destructive,
            Action::List | Action::Inspect => {
                assessment.effect = Effect::Read;
                assessment.reach.private_read = true;
            }
        }
        let id = args.goal_id.as_deref().unwrap_or_default();
        Ok(assessment.with_summary(format!("goals: {name} {id}").trim_end()))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let (goals, owner) = (&self.0.goals, &ctx.context.owner);
        let id = args.goal_id.as_deref().filter(|id| !id.trim().is_empty());
        let needed = || ToolError::validation("`inspect` and `close` need `goal_id`.");
        match args.action.unwrap_or(Action::List) {
            Action::List => {
                let all = goals.list(owner).await?;
                if all.is_empty() {
                    return Ok(ToolOutput::text("There are no goals."));
                }
                let rows: Vec<Value> =
                    all.iter().take(LISTED).map(|goal| row(goal, false)).collect();
                let output = ToolOutput::structured(json!({ "goals": rows }));
                Ok(labelled(output, all.iter().find_map(|goal| goal.untrusted.as_deref())))
            }
            Action::Inspect => {
                let goal = goals.get(owner, id.ok_or_else(needed)?).await?;
                let source = goal.result_source.as_deref().or(goal.untrusted.as_deref());
                Ok(labelled(ToolOutput::structured(row(&goal, true)), source))
            }
            Action::Close => {
                let writer = Writer { owner: owner.clone(), author: author(ctx), untrusted: None };
                let goal = goals.close(&writer, id.ok_or_else(needed)?).await?;
                let status = goal.status.as_str();
                Ok(ToolOutput::structured(json!({ "goal_id": goal.id, "status": status })))
            }
        }
    }
}

fn row(goal: &Goal, with_result: bool) -> Value {
    let mut row = json!({ "goal_id": goal.id, "goal": goal.goal, "status": goal.status.as_str() });
    if let Some(result) = goal.result.as_ref().filter(|_| with_result) {
        row["result"] = json!(result);
    }
    row
}

fn labelled(output: ToolOutput, source: Option<&str>) -> ToolOutput {
    match source {
        Some(source) => output.with_origin(Trust::External, source),
        None => output,
    }
}
