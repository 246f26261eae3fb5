//! Tool interfaces: [`Tool`] for authors, [`Handler`] for the engine, and the context of a running
//! call.

use std::future::Future;
use std::sync::Arc;
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::BoxFuture;
use crate::call::Context;
use crate::error::ToolError;
use crate::id::{CallId, RunId};
use crate::nested_calls::ParentHandler;
use crate::output::{Block, ToolOutput};
use crate::path_denials::PathDenials;
use crate::spec::{Assessment, Status, ToolSpec};
use crate::view_request::ViewRequest;

/// A result written in pieces. Memory stays bounded at any length; the complete text becomes an
/// artifact.
pub trait StreamSink: Send {
    /// Adds bytes.
    fn write(&mut self, bytes: &[u8]);

    /// Ends the stream and returns a block with beginning, end and artifact reference.
    fn finish(self: Box<Self>) -> Block;
}

/// Opens result streams for a call and forwards its progress; the engine implements it.
pub trait Streams: Send + Sync {
    /// Opens a stream of this media type.
    fn open(&self, call: &CallCtx, media_type: &str) -> Box<dyn StreamSink>;

    /// Returns whether the call's progress has a listener at the moment.
    fn wants_progress(&self) -> bool {
        false
    }

    /// Forwards the call's progress.
    fn progress(&self, call: &CallCtx, progress: Progress) {
        let _ = (call, progress);
    }
}

/// Progress of a running call: for people, never for the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Progress {
    /// Message, or the newest lines of output. Only the last 2,000 characters are kept.
    pub message: String,
    /// Completed amount, in any unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<f64>,
    /// Total amount, in the same unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

impl From<String> for Progress {
    fn from(message: String) -> Self {
        Self { message, ..Self::default() }
    }
}

/// Context of a running call.
#[derive(Clone)]
pub struct CallCtx {
    /// The call.
    pub call: CallId,
    /// Run of the call.
    pub run: Option<RunId>,
    /// Owner, agent and the rest of the caller's context.
    pub context: Arc<Context>,
    /// The view request of its batch, which decides the tools that the caller sees.
    pub view: Arc<ViewRequest>,
    /// Number of this attempt, from 1.
    pub attempt: u32,
    /// Canceled when the call is stopped or its time is over; child processes must end with it.
    pub cancel: CancellationToken,
    /// Deadline of this attempt.
    pub deadline: Instant,
    /// Opens streams for large results.
    pub streams: Arc<dyn Streams>,
    /// The files and folders that rules keep from this call. Every tool that reads or changes files
    /// skips them, and a program that it starts cannot access them.
    pub path_denials: Arc<dyn PathDenials>,
    /// Hosts beyond the owner's settings that policy has let this call reach: those of
    /// [`crate::Permission::Host`] of its assessment, so that a tool connects only to hosts that
    /// the approval named.
    pub approved_hosts: Arc<[String]>,
}

impl CallCtx {
    /// Opens a stream for a result that may be large.
    #[must_use]
    pub fn stream(&self, media_type: &str) -> Box<dyn StreamSink> {
        self.streams.open(self, media_type)
    }

    /// Reports progress. `say` is not called without a listener, or if the previous report was less
    /// than [`crate::defaults::PROGRESS_STEP`] ago.
    pub fn progress(&self, say: impl FnOnce() -> Progress) {
        if self.streams.wants_progress() {
            self.streams.progress(self, say());
        }
    }
}

/// A tool with typed arguments, implemented by tool authors. The schema of `Args` is the tool's
/// schema, its doc comments are the descriptions.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use toolcrib_core::{
///     CallCtx, Effect, Entry, Risk, Tool, ToolError, ToolName, ToolOutput, ToolSpec, TypedHandler,
/// };
///
/// struct Add;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Args {
///     /// The first number.
///     a: i64,
///     /// The second number.
///     b: i64,
/// }
///
/// impl Tool for Add {
///     type Args = Args;
///
///     fn spec(&self) -> ToolSpec {
///         let name = ToolName::local("add").expect("a name in snake case");
///         let schema = toolcrib_core::schema::for_type::<Args>();
///         let mut spec = ToolSpec::new(name, "Add two numbers.", schema);
///         (spec.effect, spec.risk) = (Effect::Pure, Risk::Safe);
///         spec
///     }
///
///     async fn call(&self, _: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
///         Ok(ToolOutput::text((args.a + args.b).to_string()))
///     }
/// }
///
/// // What a source offers; `toolcrib_app::Builder::source` takes it.
/// let entry = Entry::Local(TypedHandler::handler(Add));
/// assert_eq!(entry.spec().input_schema["required"], serde_json::json!(["a", "b"]));
/// ```
pub trait Tool: Send + Sync + 'static {
    /// The arguments.
    type Args: DeserializeOwned + JsonSchema + Send + Sync;

    /// Whether [`Tool::assess`] depends on the arguments. A tool whose calls all match its
    /// declaration sets it to `false`, which saves decoding the arguments once per call.
    const ASSESSES: bool = true;

    /// Returns the definition; [`crate::schema::for_type`] returns the schema of `Args`.
    fn spec(&self) -> ToolSpec;

    /// Assesses this call from its arguments.
    ///
    /// # Errors
    /// A [`ToolError`] ends the call: use `validation_error` for arguments that no schema can
    /// exclude.
    fn assess(&self, spec: &ToolSpec, args: &Self::Args) -> Result<Assessment, ToolError> {
        let _ = args;
        Ok(Assessment::from_spec(spec))
    }

    /// Runs the call.
    fn call(
        &self,
        ctx: &CallCtx,
        args: Self::Args,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// A tool with its type erased, as the engine calls it.
pub trait Handler: Send + Sync {
    /// Returns the definition.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// Returns the reason why the tool cannot be called, if its definition is broken
    /// ([`crate::Entry::broken`]). `None` if it can be called.
    fn broken_reason(&self) -> Option<&str> {
        None
    }

    /// Returns the status of the source of the tool, such as a paired app that is offline. `None`
    /// if the source has none; the configuration then decides the status.
    fn source_status(&self) -> Option<Status> {
        None
    }

    /// Returns the handler that replaces [`Handler::call`] for a tool that calls other tools;
    /// otherwise `None`.
    fn parent_handler(&self) -> Option<&dyn ParentHandler> {
        None
    }

    /// Assesses this call from its arguments.
    ///
    /// # Errors
    /// A [`ToolError`] ends the call.
    fn assess(&self, args: &Value) -> Result<Assessment, ToolError> {
        let _ = args;
        Ok(Assessment::from_spec(self.spec()))
    }

    /// Runs the call.
    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// A [`Tool`] as a [`Handler`].
pub struct TypedHandler<T> {
    spec: Arc<ToolSpec>,
    tool: T,
}

impl<T: Tool> TypedHandler<T> {
    /// Wraps a tool.
    pub fn new(tool: T) -> Self {
        Self { spec: Arc::new(tool.spec()), tool }
    }

    /// Wraps a tool and hides its type.
    pub fn handler(tool: T) -> Arc<dyn Handler> {
        Arc::new(Self::new(tool))
    }

    fn args(&self, args: &Value) -> Result<T::Args, ToolError> {
        use serde::Deserialize as _;
        T::Args::deserialize(args).map_err(|error| {
            ToolError::validation(format!(
                "The arguments of {} fit its schema but cannot be used: {error}. Correct them and call again.",
                self.spec.name
            ))
        })
    }
}

impl<T: Tool> Handler for TypedHandler<T> {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn assess(&self, args: &Value) -> Result<Assessment, ToolError> {
        if !T::ASSESSES {
            return Ok(Assessment::from_spec(&self.spec));
        }
        self.tool.assess(&self.spec, &self.args(args)?)
    }

    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { self.tool.call(ctx, self.args(args)?).await })
    }
}
