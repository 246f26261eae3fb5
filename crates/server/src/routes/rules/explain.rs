//! The decision about a call, and the rule that makes it.

use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolcrib_app::rules::MAX_COMMAND_LINE_BYTES;
use toolcrib_core::{Origin, Verdict};
use toolcrib_ops::rules::{self, AskedCall, ExplainReply, ExplainRequest};

use crate::api::{Json, run_cpu_bound};
use crate::problem::{Code, Problem};
use crate::role::Principal;
use crate::state::DaemonState;

/// A hypothetical call.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(super) struct ExplainBody {
    /// A command line, or a call in the notation of rules, such as `Read(./secrets/x)`; instead of
    /// a tool and its arguments.
    command: Option<String>,
    /// Name of a tool.
    tool: Option<String>,
    /// Its arguments.
    args: Option<Value>,
    /// Agent that calls; empty = none.
    agent: String,
    /// Channel of the call; default `chat`.
    channel: Option<String>,
    /// The verdict if no rule matches; default: the verdict of the preset and the rest of policy.
    default: Option<Verdict>,
}

impl ExplainBody {
    fn call(&mut self) -> Result<AskedCall, Problem> {
        match (self.command.take(), self.tool.take(), self.args.take()) {
            (Some(line), None, None) if line.len() > MAX_COMMAND_LINE_BYTES => {
                let detail = format!("a command line has at most {MAX_COMMAND_LINE_BYTES} bytes");
                Err(Problem::new(Code::TooLarge, detail))
            }
            (Some(line), None, None) => Ok(AskedCall::Text(line)),
            (None, Some(tool), None) => Ok(AskedCall::Tool { tool, args: Default::default() }),
            (None, Some(tool), Some(Value::Object(args))) => Ok(AskedCall::Tool { tool, args }),
            (None, Some(_), Some(_)) => Err(Problem::invalid("`args` is not a JSON object")),
            _ => Err(Problem::invalid("say a `command`, or a `tool` with its `args`")),
        }
    }
}

pub(super) async fn explain_call(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(mut body): Json<ExplainBody>,
) -> Result<Json<ExplainReply>, Problem> {
    let request = ExplainRequest {
        call: body.call()?,
        agent: body.agent,
        channel: body.channel.unwrap_or_else(|| "chat".to_owned()),
        origin: Origin::Rest,
        rules: daemon.toolcrib().rules(),
        default: body.default,
    };
    let (on, client) = (daemon.clone(), principal.client.clone());
    let work = async move { Ok(rules::explain(&on.op_context(&principal, None), request).await?) };
    Ok(Json(run_cpu_bound(&daemon, &client, work).await?))
}
