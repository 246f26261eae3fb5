//! One tool of one app as a handler.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, BoxFuture, CallCtx, ErrorType, Handler, Status, ToolError, ToolOutput, ToolSpec,
};
use toolcrib_mcp::client::{Pin, visible_text};

use super::answer::Answer;
use super::apps::Apps;
use super::exchange::ExchangeError;
use super::model::App;

/// Shortest time that a call gets.
const LEAST_TIME: Duration = Duration::from_millis(100);

/// One tool of one app.
pub(super) struct AppTool {
    pub(super) spec: Arc<ToolSpec>,
    pub(super) apps: Apps,
    /// The app when its tools were attached.
    pub(super) app: Arc<App>,
    /// Name of the tool at the app.
    pub(super) own_name: String,
    /// Digest of the reviewed definition.
    pub(super) pinned: String,
}

impl Handler for AppTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn source_status(&self) -> Option<Status> {
        Some(match self.app.offline_reason() {
            None => Status::Connected,
            Some(reason) => Status::Offline {
                reason: format!("the app {} does not answer: {reason}", self.app.name),
            },
        })
    }

    /// Describes the call to a person in our words.
    fn assess(&self, _: &Value) -> Result<Assessment, ToolError> {
        let (tool, app) = (visible_text(&self.own_name), &self.app);
        let summary =
            format!("call the tool \"{tool}\" of the app {} at {}", app.name, app.address);
        Ok(Assessment { summary: Some(summary), ..Assessment::from_spec(&self.spec) })
    }

    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let app = self.current().await?;
            let body = json!({
                "capability": self.own_name,
                "params": args,
                "call": ctx.call.to_string(),
            });
            let time = ctx.deadline.saturating_duration_since(Instant::now()).max(LEAST_TIME);
            let answer = tokio::select! {
                answer = self.apps.exchange(&app, "/execute", Some(&body), time) => answer,
                () = ctx.cancel.cancelled() => return Err(self.stopped()),
            };
            let answer = answer.map_err(|error| self.failed(error))?;
            let answer: Answer = serde_json::from_value(answer).map_err(|error| {
                self.failed(ExchangeError::Invalid(format!(
                    "its answer to /execute does not have the form of the protocol: {error}"
                )))
            })?;
            Ok(answer.output(&app.name))
        })
    }
}

impl AppTool {
    /// Returns the app as it is stored now: another process may have revoked it, or found other
    /// definitions.
    async fn current(&self) -> Result<App, ToolError> {
        let name = &self.app.name;
        let refused = |text: String| ToolError::new(ErrorType::ToolNotAvailable, text);
        let app = match self.apps.find(&self.app.id).await {
            Ok(app) => app,
            Err(crate::error::DeviceError::UnknownApp(_)) => {
                return Err(refused(format!(
                    "The app {name} is not paired any more. Do not call its tools again."
                )));
            }
            Err(error) => {
                return Err(refused(format!("The app {name} could not be looked up."))
                    .with_detail(error.to_string()));
            }
        };
        let is_held = app.held().iter().any(|held| held.tool == self.own_name);
        let is_same = app.reviewed.hash(&self.own_name, Pin::Definition).as_deref()
            == Some(self.pinned.as_str());
        if is_held || !is_same {
            return Err(refused(format!(
                "The definition of this tool of the app {name} has changed and waits for a review by the user. Continue without it."
            )));
        }
        Ok(app)
    }

    fn stopped(&self) -> ToolError {
        let doubt = if self.spec.effect.is_repeatable() {
            ""
        } else {
            " Whether it took effect is unknown: check before you call it again."
        };
        ToolError::new(ErrorType::Cancelled, format!("The call was stopped.{doubt}"))
    }

    fn failed(&self, error: ExchangeError) -> ToolError {
        let name = &self.app.name;
        let (error_type, text) = match &error {
            ExchangeError::NotSent(_) => (
                ErrorType::NetworkError,
                format!("The app {name} cannot be reached; the call was not sent."),
            ),
            _ if !self.spec.effect.is_repeatable() => (
                ErrorType::UnknownOutcome,
                format!(
                    "The app {name} gave no valid answer: whether the call took effect is unknown. Check before you call it again, and tell the user."
                ),
            ),
            ExchangeError::Lost(_) => (
                ErrorType::NetworkError,
                format!(
                    "The app {name} gave no answer. The tool changes nothing, so it can be called again."
                ),
            ),
            ExchangeError::Invalid(_) => (
                ErrorType::ExecutionError,
                format!(
                    "The app {name} gave no valid answer. Continue without it, or tell the user."
                ),
            ),
        };
        ToolError::new(error_type, text).with_detail(error.to_string())
    }
}
