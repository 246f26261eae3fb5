//! What an author of a tool writes, and what the engine calls.

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
use crate::catalog::ViewRequest;
use crate::error::ToolError;
use crate::id::{CallId, RunId};
use crate::nest::Nesting;
use crate::output::{Block, ToolOutput};
use crate::spec::{Assessment, ToolSpec};

/// A result that is written piece by piece, however long it is: memory stays bounded, the whole becomes an artifact.
pub trait StreamSink: Send {
    /// Adds bytes.
    fn write(&mut self, bytes: &[u8]);

    /// Ends the stream: a block with both ends and the reference of the whole.
    fn finish(self: Box<Self>) -> Block;
}

/// Opens streams for a call, and passes on how far it is; the engine provides it.
pub trait Streams: Send + Sync {
    /// A new stream of this media type.
    fn open(&self, call: &CallCtx, media_type: &str) -> Box<dyn StreamSink>;

    /// Whether anybody wants to know how far the call is just now.
    fn wants_progress(&self) -> bool {
        false
    }

    /// Passes on how far the call is.
    fn progress(&self, call: &CallCtx, progress: Progress) {
        let _ = (call, progress);
    }
}

/// How far a call is that still runs: for people who watch, never for the model.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Progress {
    /// In words, or the newest lines of what it writes. What is beyond 2,000 characters is left out at the front.
    pub message: String,
    /// How much of it is done, in whatever the tool counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub done: Option<f64>,
    /// How much there is to do, in the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total: Option<f64>,
}

impl From<String> for Progress {
    fn from(message: String) -> Self {
        Self { message, ..Self::default() }
    }
}

/// What a running tool knows of its call.
#[derive(Clone)]
pub struct CallCtx {
    /// The call.
    pub call: CallId,
    /// Its run.
    pub run: Option<RunId>,
    /// Whose call it is.
    pub context: Arc<Context>,
    /// What decides which tools its caller sees: the request that its batch was sent with.
    pub view: Arc<ViewRequest>,
    /// Number of this attempt, from 1.
    pub attempt: u32,
    /// Cancelled when somebody stops the call or its time is over; child processes end with it.
    pub cancel: CancellationToken,
    /// When the time of this attempt is over.
    pub deadline: Instant,
    /// Opens streams for large results.
    pub streams: Arc<dyn Streams>,
}

impl CallCtx {
    /// A stream for a result that may be large.
    #[must_use]
    pub fn stream(&self, media_type: &str) -> Box<dyn StreamSink> {
        self.streams.open(self, media_type)
    }

    /// Says how far the call is. Nobody may be there, and of what comes in quick succession some is left out: then `say` is not called.
    pub fn progress(&self, say: impl FnOnce() -> Progress) {
        if self.streams.wants_progress() {
            self.streams.progress(self, say());
        }
    }
}

/// A tool with typed arguments: what an author writes. The schema of `Args` is the tool's schema, its doc comments are the descriptions.
pub trait Tool: Send + Sync + 'static {
    /// The arguments.
    type Args: DeserializeOwned + JsonSchema + Send + Sync;

    /// Whether [`Tool::assess`] looks at the arguments. A tool whose calls all mean what it declares says `false`, and its arguments are
    /// decoded once less per call.
    const ASSESSES: bool = true;

    /// The definition; [`crate::schema::of`] gives the schema of `Args`.
    fn spec(&self) -> ToolSpec;

    /// What this very call means.
    ///
    /// # Errors
    /// A [`ToolError`] ends the call; `validation_error` for arguments that no schema can express.
    fn assess(&self, spec: &ToolSpec, args: &Self::Args) -> Result<Assessment, ToolError> {
        let _ = args;
        Ok(Assessment::declared(spec))
    }

    /// Runs the call.
    fn call(
        &self,
        ctx: &CallCtx,
        args: Self::Args,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send;
}

/// A tool as the engine sees it: erased, so that tools from every source are one type.
pub trait Handler: Send + Sync {
    /// The definition.
    fn spec(&self) -> &Arc<ToolSpec>;

    /// Why nobody can call this tool: it is a row that shows what is wrong with a definition ([`crate::Entry::broken`]). `None` = it
    /// can be called.
    fn fault(&self) -> Option<&str> {
        None
    }

    /// What runs it in place of [`Handler::call`], when its calls call other tools. `None` = it calls none.
    fn nesting(&self) -> Option<&dyn Nesting> {
        None
    }

    /// What this very call means.
    ///
    /// # Errors
    /// A [`ToolError`] ends the call.
    fn assess(&self, args: &Value) -> Result<Assessment, ToolError> {
        let _ = args;
        Ok(Assessment::declared(self.spec()))
    }

    /// Runs the call.
    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// A [`Tool`] as a [`Handler`].
pub struct Typed<T> {
    spec: Arc<ToolSpec>,
    tool: T,
}

impl<T: Tool> Typed<T> {
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

impl<T: Tool> Handler for Typed<T> {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn assess(&self, args: &Value) -> Result<Assessment, ToolError> {
        if !T::ASSESSES {
            return Ok(Assessment::declared(&self.spec));
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
