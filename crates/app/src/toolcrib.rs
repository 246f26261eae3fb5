//! A working Toolcrib, and how it is built.

use std::sync::Arc;

use toolcrib_builtins::{Builtins, journal::Journal};
use toolcrib_core::{
    Answer, Approver, Batch, Call, Catalog, Gate, Guard, Invoker as _, Observer, Origin,
    Permissions, RawArgs, Source, ToolInfo, ToolSpec, ViewRequest,
};
use toolcrib_engine::store::FileArtifacts;
use toolcrib_engine::{Engine, EngineBuilder};
use toolcrib_net::{AddressPolicy, HttpClient, StaticResolver};
use toolcrib_providers::{self as providers, Declarations, Format, Options};

use crate::exec::{self, ExecError, ExecReply, ExecRequest};
use crate::settings::{Settings, SetupError};

/// Tools, policy and the door to them.
#[derive(Clone)]
pub struct Toolcrib {
    engine: Engine,
}

/// Builds a [`Toolcrib`].
pub struct Builder {
    settings: Settings,
    engine: EngineBuilder,
    sources: Vec<Box<dyn Source>>,
}

impl Toolcrib {
    /// Begins with these settings.
    #[must_use]
    pub fn builder(settings: Settings) -> Builder {
        let engine = Engine::builder().settings(settings.engine.clone());
        Builder { settings, engine, sources: Vec::new() }
    }

    /// The engine: [`toolcrib_core::Invoker`] and switches.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// The registry.
    #[must_use]
    pub fn catalog(&self) -> &dyn Catalog {
        self.engine.catalog()
    }

    /// Every tool, whether enabled or not.
    #[must_use]
    pub fn infos(&self) -> Vec<ToolInfo> {
        self.catalog().infos()
    }

    /// The definition of a tool that is in the default view.
    #[must_use]
    pub fn spec(&self, name: &str) -> Option<Arc<ToolSpec>> {
        let view = self.catalog().view(&Arc::default());
        view.find(name).map(|entry| Arc::clone(entry.spec()))
    }

    /// What to put into a provider's request so that its model can call what is in this view.
    #[must_use]
    pub fn declare(&self, format: Format, view: &Arc<ViewRequest>, strict: bool) -> Declarations {
        let view = self.catalog().view(view);
        providers::declare(format, &view.tools, Options { strict })
    }

    /// Runs the calls of one response; see [`ExecRequest`].
    ///
    /// # Errors
    /// [`ExecError`] when the response cannot be read. Failing calls are not errors: they are results.
    pub async fn exec(&self, request: ExecRequest<'_>) -> Result<ExecReply, ExecError> {
        exec::run(self, request).await
    }

    /// Runs one call by hand, through the same door.
    pub async fn call(&self, name: &str, args: RawArgs, origin: Origin) -> Option<Answer> {
        let batch = Batch::new(origin, vec![Call::new(name, args)]);
        self.engine.invoke(batch).await.pop()
    }
}

impl Builder {
    /// Who is asked; nobody by default, which denies.
    #[must_use]
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.engine = self.engine.approver(approver);
        self
    }

    /// The host's permissions; all granted by default.
    #[must_use]
    pub fn permissions(mut self, permissions: Arc<dyn Permissions>) -> Self {
        self.engine = self.engine.permissions(permissions);
        self
    }

    /// Adds a gate.
    #[must_use]
    pub fn gate(mut self, gate: Arc<dyn Gate>) -> Self {
        self.engine = self.engine.gate(gate);
        self
    }

    /// Adds a guard hook.
    #[must_use]
    pub fn guard(mut self, guard: Arc<dyn Guard>) -> Self {
        self.engine = self.engine.guard(guard);
        self
    }

    /// Adds an observer.
    #[must_use]
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.engine = self.engine.observer(observer);
        self
    }

    /// Adds a source of tools beside the built-in ones.
    #[must_use]
    pub fn source(mut self, source: impl Source + 'static) -> Self {
        self.sources.push(Box::new(source));
        self
    }

    /// Puts it all together.
    ///
    /// # Errors
    /// [`SetupError`] when a root, a network entry or a source cannot be used.
    pub async fn build(self) -> Result<Toolcrib, SetupError> {
        let artifacts = Arc::new(FileArtifacts::new(self.settings.state.join("artifacts")));
        let engine = self.engine.artifacts(Arc::clone(&artifacts) as _).build();
        let builtins = builtins(&self.settings, artifacts)?;
        engine.catalog().attach(&builtins).await.map_err(SetupError::Source)?;
        for source in &self.sources {
            engine.catalog().attach(&**source).await.map_err(SetupError::Source)?;
        }
        Ok(Toolcrib { engine })
    }
}
