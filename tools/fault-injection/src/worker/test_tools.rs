//! The tools of the load: one that changes the world and one that only looks, both of which write
//! down that they ran.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Effect, Risk, ToolError, ToolOutput};
use toolcrib_testkit::{ScriptedTool, fixed_source};

use crate::effect_log::EffectWriter;

/// Changes the world.
pub(crate) const EFFECT: &str = "crash_effect";
/// The same, and a person is asked before.
pub(crate) const GUARDED: &str = "crash_guarded";
/// Changes the world through a child process, which lives on when its worker is killed.
pub(crate) const CHILD: &str = "crash_child";
/// Changes nothing.
pub(crate) const READ_ONLY: &str = "crash_look";

/// Whether calls of this tool may change something.
pub(crate) fn changes_something(tool: &str) -> bool {
    tool != READ_ONLY
}

/// The tools, with where they write down what they do.
pub(crate) fn source(pen: &Arc<EffectWriter>) -> FixedSource {
    let tools = [
        tool(EFFECT, Effect::SideEffect, Risk::Safe, pen),
        tool(GUARDED, Effect::SideEffect, Risk::High, pen),
        tool(CHILD, Effect::SideEffect, Risk::Safe, pen),
        tool(READ_ONLY, Effect::Read, Risk::Safe, pen),
    ];
    fixed_source("crash", &tools.each_ref())
}

fn tool(name: &str, effect: Effect, risk: Risk, pen: &Arc<EffectWriter>) -> Arc<ScriptedTool> {
    let pen = Arc::clone(pen);
    let by_child = name == CHILD;
    let tool = ScriptedTool::new(name)
        .spec(|spec| {
            spec.effect = effect;
            spec.risk = risk;
        })
        .takes(json!({
            "type": "object",
            "properties": {
                "note": {"type": "string"},
                "before": {"type": "integer"},
                "after": {"type": "integer"},
                "asks": {"type": "string"},
                "decision": {"type": "string"},
                "races": {"type": "boolean"},
            },
            "required": ["note", "before", "after"],
        }))
        .does(move |ctx, args| {
            let (pen, call) = (Arc::clone(&pen), ctx.call);
            let (before, after) = (wait(args, "before"), wait(args, "after"));
            Box::pin(async move {
                let written = |done: std::io::Result<()>| {
                    done.map_err(|error| ToolError::execution(error.to_string()))
                };
                written(pen.run(call))?;
                tokio::time::sleep(before).await;
                if by_child {
                    let done = pen.effect_of_child(call).map(|mut child| {
                        tokio::task::spawn_blocking(move || child.wait().map(drop))
                    });
                    let ended = done.map_err(|error| ToolError::execution(error.to_string()))?;
                    written(ended.await.unwrap_or_else(|error| Err(std::io::Error::other(error))))?;
                } else if effect == Effect::SideEffect {
                    written(pen.effect(call))?;
                }
                tokio::time::sleep(after).await;
                Ok(ToolOutput::text(format!("{call} is done")))
            })
        });
    Arc::new(tool)
}

fn wait(args: &Value, name: &str) -> Duration {
    Duration::from_micros(args.get(name).and_then(Value::as_u64).unwrap_or(0))
}
