//! Test model: a scripted model with any name that records its requests.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::Notify;
use toolcrib_core::{BoxFuture, CancellationToken};
use toolcrib_providers::Format;
use toolcrib_providers::conversation::Message;
use toolcrib_providers::model::{
    DeltaSink, FailureKind, Model, ModelError, ModelInfo, ModelReply, ModelRequest,
};
use toolcrib_providers::scripted::{ScriptTurn, ScriptedModel};

pub(super) struct TestModel {
    info: ModelInfo,
    script: ScriptedModel,
    /// Whether the model has learned that it has no function calling.
    in_words: AtomicBool,
    asked: Mutex<Vec<ModelRequest>>,
    /// Notified when a request arrives.
    pub(super) begun: Notify,
}

impl TestModel {
    pub(super) fn new(turns: impl IntoIterator<Item = ScriptTurn>) -> Arc<Self> {
        Arc::new(Self::make("script", turns))
    }

    /// With the name of another model.
    pub(super) fn named(name: &str, turns: impl IntoIterator<Item = ScriptTurn>) -> Arc<Self> {
        Arc::new(Self::make(name, turns).called(name))
    }

    /// A model that runs on this device.
    pub(super) fn on_device(name: &str, turns: impl IntoIterator<Item = ScriptTurn>) -> Arc<Self> {
        let mut model = Self::make(name, turns).called(name);
        model.info.on_device = true;
        Arc::new(model)
    }

    fn make(name: &str, turns: impl IntoIterator<Item = ScriptTurn>) -> Self {
        let script = ScriptedModel::from_turns(name, turns).unwrap();
        Self {
            info: script.info().clone(),
            script,
            in_words: AtomicBool::new(false),
            asked: Mutex::default(),
            begun: Notify::new(),
        }
    }

    fn called(mut self, name: &str) -> Self {
        self.info.model = name.to_owned();
        self.info.provider = format!("{name}-provider");
        self
    }

    /// The requests so far.
    pub(super) fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().unwrap().clone()
    }

    /// Names of the tools that each request declares.
    pub(super) fn declared(&self) -> Vec<Vec<String>> {
        let names = |request: &ModelRequest| {
            let Some(tools) = &request.tools else { return Vec::new() };
            let list = tools.value.as_array().cloned().unwrap_or_default();
            let names = list.iter().map(|item| item["function"]["name"].as_str().unwrap());
            names.map(str::to_owned).collect()
        };
        self.asked().iter().map(names).collect()
    }

    /// Texts of the messages of a request, in order.
    pub(super) fn texts(&self, request: usize) -> Vec<String> {
        let messages = self.asked()[request].messages.clone();
        let text = |message: &Arc<Message>| match &**message {
            Message::User(message) => message.text.clone(),
            Message::Model(message) => message.turn.text.clone(),
        };
        messages.iter().map(text).collect()
    }
}

impl Model for TestModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn tool_format(&self) -> Format {
        if self.in_words.load(Ordering::SeqCst) { Format::Text } else { self.info.format }
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(request.clone());
            self.begun.notify_one();
            self.script.ask(request, deltas, cancel).await.map_err(|error| {
                if error.kind == FailureKind::NoTools && request.tools.is_some() {
                    self.in_words.store(true, Ordering::SeqCst);
                }
                let ModelInfo { provider, model, .. } = self.info.clone();
                ModelError { provider, model, ..error }
            })
        })
    }
}
