//! A Toolcrib with in-memory stores and one scripted tool.

use std::sync::Arc;

use serde_json::Value;
use tempfile::TempDir;
use toolcrib_agent::library::Library;
use toolcrib_app::rules::RuleSet;
use toolcrib_app::{Builder, Settings, Stores, Toolcrib};
use toolcrib_core::{Answer, CallId, Origin, RawArgs, Risk};
use toolcrib_ops::{NoActiveCalls, OpContext, StoreContext};
use toolcrib_testkit::{ScriptedTool, fixed_source};

/// The folder is deleted with the fixture.
pub(crate) struct Fixture {
    _folder: TempDir,
    pub(crate) toolcrib: Toolcrib,
    pub(crate) library: Library,
    pub(crate) tool: Arc<ScriptedTool>,
}

impl Fixture {
    pub(crate) async fn new() -> Self {
        Self::with(|builder| builder).await
    }

    /// Creates a fixture with a tool that asks for an approval.
    pub(crate) async fn asking() -> Self {
        Self::build(Risk::High, |builder| builder).await
    }

    pub(crate) async fn with(change: impl FnOnce(Builder) -> Builder) -> Self {
        Self::build(Risk::Safe, change).await
    }

    pub(crate) async fn build(risk: Risk, change: impl FnOnce(Builder) -> Builder) -> Self {
        Self::build_with(risk, |_| (), change).await
    }

    pub(crate) async fn build_with(
        risk: Risk,
        configure: impl FnOnce(&mut Settings),
        change: impl FnOnce(Builder) -> Builder,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shop = folder.path().join("shop");
        std::fs::create_dir(&shop).unwrap();
        let mut settings = Settings::new(&shop, folder.path().join("state"));
        settings.engine.inbox = risk != Risk::Safe;
        configure(&mut settings);
        let tool = Arc::new(ScriptedTool::new("greet").spec(|spec| spec.risk = risk));
        let builder = Toolcrib::builder(settings)
            .stores(Stores::memory())
            .source(fixed_source("scripted", &[&tool]));
        let toolcrib = change(builder).build().await.unwrap();
        Self { _folder: folder, toolcrib, library: Library::default(), tool }
    }

    pub(crate) fn ctx(&self) -> OpContext<'_> {
        OpContext { toolcrib: &self.toolcrib, library: Some(&self.library), store: self.store() }
    }

    /// Creates a fixture with rules in force.
    pub(crate) async fn build_with_rules(risk: Risk, rules: RuleSet) -> Self {
        Self::build_with(risk, |settings| settings.rules = rules, |builder| builder).await
    }

    /// Returns the context of another caller.
    pub(crate) fn ctx_of<'a>(&'a self, store: StoreContext<'a>) -> OpContext<'a> {
        OpContext { store, ..self.ctx() }
    }

    pub(crate) fn store(&self) -> StoreContext<'_> {
        StoreContext {
            stores: self.toolcrib.stores(),
            owner: "",
            actor: "ann",
            shows_payloads: true,
            active_calls: &NoActiveCalls,
        }
    }

    /// Returns the context of a caller that sees no arguments and no results.
    pub(crate) fn viewer(&self) -> StoreContext<'_> {
        StoreContext { shows_payloads: false, ..self.store() }
    }

    /// Returns the context of another owner.
    pub(crate) fn other_owner(&self) -> StoreContext<'_> {
        StoreContext { owner: "ben", ..self.store() }
    }

    /// Makes a call that runs to its end.
    pub(crate) async fn call(&self, tool: &str, args: Value) -> CallId {
        match self.toolcrib.call(tool, RawArgs::Value(args), Origin::Rest).await.unwrap() {
            Answer::Done(outcome) => outcome.call,
            Answer::Suspended(request) => request.call,
        }
    }
}
