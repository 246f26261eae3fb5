//! A tool whose specification and behaviour are set by the test.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};
use toolcrib_core::entry::FixedSource;
use toolcrib_core::{
    Assessment, BoxFuture, CallCtx, Entry, Handler, ToolError, ToolName, ToolOutput, ToolSpec,
};

type Behaviour = dyn for<'a> Fn(&'a CallCtx, &'a Value) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
    + Send
    + Sync;
type Assess = dyn Fn(&ToolSpec, &Value) -> Result<Assessment, ToolError> + Send + Sync;

/// A tool for tests. Unless told otherwise it is safe, pure, takes any object and answers "done".
pub struct ScriptedTool {
    spec: Arc<ToolSpec>,
    behaviour: Box<Behaviour>,
    assess: Box<Assess>,
    runs: AtomicUsize,
    seen: Mutex<Vec<Value>>,
}

impl ScriptedTool {
    /// A tool of this name.
    ///
    /// # Panics
    /// When the name is not a tool name.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let Ok(name) = ToolName::local(name) else { panic!("{name} is not a tool name") };
        let mut spec = ToolSpec::new(name, "A tool for tests.", json!({"type": "object"}));
        spec.risk = toolcrib_core::Risk::Safe;
        spec.effect = toolcrib_core::Effect::Pure;
        spec.trust = toolcrib_core::Trust::Tool;
        Self {
            spec: Arc::new(spec),
            behaviour: Box::new(|_, _| Box::pin(std::future::ready(Ok(ToolOutput::text("done"))))),
            assess: Box::new(|spec, _| Ok(Assessment::from_spec(spec))),
            runs: AtomicUsize::new(0),
            seen: Mutex::default(),
        }
    }

    /// Changes the specification.
    #[must_use]
    pub fn spec(mut self, change: impl FnOnce(&mut ToolSpec)) -> Self {
        let mut spec = ToolSpec::clone(&self.spec);
        change(&mut spec);
        self.spec = Arc::new(spec);
        self
    }

    /// Takes arguments of this schema.
    #[must_use]
    pub fn takes(self, schema: Value) -> Self {
        self.spec(|spec| spec.input_schema = Arc::new(schema))
    }

    /// Does this.
    #[must_use]
    pub fn does<F>(mut self, behaviour: F) -> Self
    where
        F: for<'a> Fn(&'a CallCtx, &'a Value) -> BoxFuture<'a, Result<ToolOutput, ToolError>>
            + Send
            + Sync
            + 'static,
    {
        self.behaviour = Box::new(behaviour);
        self
    }

    /// Answers with this.
    #[must_use]
    pub fn returns(self, output: ToolOutput) -> Self {
        self.does(move |_, _| Box::pin(std::future::ready(Ok(output.clone()))))
    }

    /// Fails with this.
    #[must_use]
    pub fn fails(self, error: ToolError) -> Self {
        self.does(move |_, _| Box::pin(std::future::ready(Err(error.clone()))))
    }

    /// Never ends.
    #[must_use]
    pub fn hangs(self) -> Self {
        self.does(|_, _| Box::pin(std::future::pending()))
    }

    /// Judges its calls like this.
    #[must_use]
    pub fn assesses<F>(mut self, assess: F) -> Self
    where
        F: Fn(&ToolSpec, &Value) -> Result<Assessment, ToolError> + Send + Sync + 'static,
    {
        self.assess = Box::new(assess);
        self
    }

    /// How often its code ran.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.runs.load(Ordering::SeqCst)
    }

    /// The arguments it ran with.
    #[must_use]
    pub fn seen(&self) -> Vec<Value> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Handler for ScriptedTool {
    fn spec(&self) -> &Arc<ToolSpec> {
        &self.spec
    }

    fn assess(&self, args: &Value) -> Result<Assessment, ToolError> {
        (self.assess)(&self.spec, args)
    }

    fn call<'a>(
        &'a self,
        ctx: &'a CallCtx,
        args: &'a Value,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(args.clone());
        (self.behaviour)(ctx, args)
    }
}

/// A source of these tools.
#[must_use]
pub fn fixed_source(id: &str, tools: &[&Arc<ScriptedTool>]) -> FixedSource {
    let entries = tools.iter().map(|tool| Entry::Local(Arc::clone(*tool) as _)).collect();
    FixedSource::new(id, entries)
}
