//! Asks a model: tries the chain of models in order, each with the history that fits its window.

use std::time::{Duration, Instant};

use toolcrib_core::{Call, CallId, Label, LabelSource, RunId, UsageRow};
use toolcrib_providers::conversation::UserKind;
use toolcrib_providers::model::{
    Delta, FailureKind, Model, ModelError, ModelInfo, ModelReply, ModelRequest,
};
use toolcrib_providers::{Turn, Usage};

use super::RunDriver;
use super::request_context::RequestContext;
use crate::context::{self, Candidate, ContextWindow, Money, NoneFits};
use crate::events::{Event, EventSink, ToolEvent, ToolState};
use crate::machine::{Machine, NextStep, RequestMode};

/// The reason why a model of the chain was skipped.
enum SkippedModel {
    Failed(ModelError),
    /// The conversation does not fit into its window.
    TooSmall(u64, Candidate),
}

impl RunDriver<'_> {
    pub(super) async fn ask_model(&mut self, machine: &mut Machine) {
        let NextStep::CallModel(ask) = machine.next() else { return };
        let ask = ask.clone();
        let Some(first) = self.job.models.first() else { return };
        let primary = first.info().clone();
        if ask == RequestMode::Open && self.time_left(machine.state().run) == Some(Duration::ZERO) {
            let messages = machine.history().len();
            machine.budget_used_up(self.time_used_up());
            return self.emit_guard_messages(machine, messages);
        }
        machine.before_request();
        for text in self.driver.refresh.refresh().await {
            self.driver.tell(Event::Notice { text });
        }
        let mut passed: Vec<SkippedModel> = Vec::new();
        for at in 0..self.job.models.len() {
            let Some(model) = self.job.models.get(at).cloned() else { break };
            let is_off = primary.on_device || model.info().on_device;
            if self.dead.contains(&at) || (at > 0 && is_off) {
                continue;
            }
            self.sent.model = at;
            match self.ask_one(machine, &*model, &ask).await {
                Ok((reply, surroundings)) => {
                    if ask == RequestMode::Open {
                        machine.add_tokens_saved(surroundings.offered.tokens_saved);
                    }
                    return self.take_answer(machine, &*model, reply, &surroundings);
                }
                Err(why) => {
                    let stops = self.note_failure(at, &model, &why);
                    passed.push(why);
                    if stops {
                        break;
                    }
                }
            }
        }
        let error = all_failed_error(&passed, &primary);
        if self.out_of_time {
            machine.out_of_time(&error, self.time_used_up());
        } else {
            machine.model_failed(&error);
        }
    }

    /// Asks one model of the chain. A model that proves to have no function calling is asked again
    /// in the text protocol; one whose window proves to be smaller than estimated is asked again
    /// with a shorter history.
    async fn ask_one(
        &mut self,
        machine: &mut Machine,
        model: &dyn Model,
        ask: &RequestMode,
    ) -> Result<(ModelReply, RequestContext), SkippedModel> {
        let info = model.info();
        let mut window = self.driver.windows.for_model(info);
        self.sent.sizes.update(machine.history());
        let format = model.tool_format();
        let (mut in_words, mut exceeded) = (false, None);
        loop {
            let around = self.request_context(machine, model, window);
            self.compact(machine, model, (window, around.tokens)).await;
            let error = match self.send(machine, model, ask, (window, &around)).await {
                Ok(reply) => return Ok((reply, around)),
                Err(SkippedModel::Failed(error)) => error,
                // The provider's own error is more reliable than the estimated window.
                Err(small) => return Err(exceeded.map_or(small, SkippedModel::Failed)),
            };
            let model_name = &info.model;
            let text = match error.kind {
                FailureKind::NoTools if !in_words && model.tool_format() != format => {
                    in_words = true;
                    format!(
                        "{model_name} takes no tools; they are described to it in words instead"
                    )
                }
                FailureKind::ContextExceeded if exceeded.is_none() => {
                    window.tokens = window.tokens.min(self.last_estimate) / 2;
                    exceeded = Some(error);
                    format!(
                        "the conversation is longer than {model_name} takes; older messages are left out"
                    )
                }
                _ => return Err(SkippedModel::Failed(error)),
            };
            self.driver.tell(Event::Notice { text });
        }
    }

    async fn send(
        &mut self,
        machine: &Machine,
        model: &dyn Model,
        ask: &RequestMode,
        (window, around): (ContextWindow, &RequestContext),
    ) -> Result<ModelReply, SkippedModel> {
        let info = model.info();
        let room = context::input_budget(&window, around.tokens, self.job.max_output);
        let summary = machine.state().summary.as_ref();
        let sent = context::trim_history(machine.history(), summary, room, &self.sent.sizes);
        self.last_estimate = sent.estimate + around.tokens;
        // The window of an unknown model is a guess, which is no reason to skip the chosen model.
        let counts = window.known || self.sent.model > 0;
        if counts && !context::fits(&window, self.last_estimate, self.job.max_output) {
            let (provider, model) = (info.provider.clone(), info.model.clone());
            let candidate = Candidate { provider, model, window };
            return Err(SkippedModel::TooSmall(self.last_estimate, candidate));
        }
        if sent.dropped > 0 {
            self.driver.tell(Event::Trimmed { dropped: sent.dropped });
        }
        let is_open = *ask == RequestMode::Open;
        let request = ModelRequest {
            system: around.system.to_string(),
            messages: sent.messages,
            tools: around.tools.clone().filter(|_| is_open),
            temperature: self.job.temperature,
            max_output: self.job.max_output,
            stream: self.job.stream,
        };
        let round = machine.state().rounds;
        self.driver.tell(Event::Request {
            round,
            provider: info.provider.clone(),
            model: info.model.clone(),
            tools: if is_open { around.offered.tools.len() } else { 0 },
            left_out: if is_open { around.offered.left_out } else { 0 },
            tokens_saved: if is_open { around.offered.tokens_saved } else { 0 },
            estimated_tokens: self.last_estimate,
        });
        let mut shown = DeltaEvents { events: &self.driver.events, round, tools: Vec::new() };
        let mut deltas = |delta| shown.tell(delta);
        let (run, begun) = (machine.state().run, Instant::now());
        let stop = self.control.token().child_token();
        // The last answer is requested because a budget is used up, so it has no time limit.
        let left = self.time_left(run).filter(|_| is_open);
        let asked = {
            let mut asking = std::pin::pin!(model.ask(&request, &mut deltas, &stop));
            tokio::select! {
                biased;
                asked = &mut asking => asked,
                () = wait_deadline(left) => {
                    self.out_of_time = true;
                    stop.cancel();
                    asking.await
                }
            }
        };
        self.driver.invoker.charge_time(run, begun.elapsed());
        asked.map_err(SkippedModel::Failed)
    }

    fn time_used_up(&self) -> String {
        let limit = self.job.limits.time.unwrap_or_default();
        format!("The run has used its time of {} s.", limit.as_secs_f64())
    }

    /// Returns the time left of the run's budget; `None` if there is no limit.
    fn time_left(&self, run: RunId) -> Option<Duration> {
        let used = self.driver.invoker.usage(run).unwrap_or_default().time;
        self.job.limits.time.map(|limit| limit.saturating_sub(used))
    }

    fn take_answer(
        &mut self,
        machine: &mut Machine,
        model: &dyn Model,
        reply: ModelReply,
        around: &RequestContext,
    ) {
        let info = model.info();
        let usage = reply.usage();
        let cost = self.cost(info, usage);
        let calls = calls_of(&reply.turn, around);
        self.driver.tell(answer_event(info, &reply.turn, self.sent.model > 0, cost));
        self.announce(machine, &calls);
        self.note_usage(machine, info, usage, cost);
        self.note_hosted(machine.state().run, &reply.turn);
        self.read_inbox(machine);
        let guards = machine.history().len();
        machine.model_answered(reply.turn, &info.provider, &info.model, calls, cost);
        let tokens = usage.and_then(|usage| usage.total()).unwrap_or(self.last_estimate);
        let run = machine.state().run;
        if let Err(error) = self.driver.invoker.charge_tokens(run, tokens) {
            machine.budget_used_up(error.message_for_people().to_owned());
        } else if let (Some(cap), Some(spent)) = (self.job.cost, machine.state().spent.cost)
            && spent > cap
        {
            machine.budget_used_up(format!(
                "The run has cost {spent} by estimate, more than its budget of {cap}."
            ));
        }
        self.emit_guard_messages(machine, guards);
    }

    /// Adds the label `untrusted`, because the model has read the results of hosted tools, whose
    /// origin is unknown.
    fn note_hosted(&self, run: RunId, turn: &Turn) {
        if let Some(hosted) = turn.hosted.first() {
            let tool = hosted.name.clone().unwrap_or_else(|| hosted.kind.clone());
            let by = LabelSource { call: None, tool, source: None };
            self.driver.invoker.raise_label(run, Label::Untrusted, by);
        }
    }

    /// Records the usage of one answer.
    pub(super) fn note_usage(
        &self,
        machine: &Machine,
        info: &ModelInfo,
        usage: Option<Usage>,
        cost: Option<Money>,
    ) {
        let usage = usage.unwrap_or_default();
        let window = self.driver.windows.for_model(info);
        self.driver.usage.add_usage(UsageRow {
            owner: self.job.context.owner.clone(),
            run: machine.state().run,
            conversation: machine.state().conversation,
            agent: self.job.agent.clone(),
            provider: info.provider.clone(),
            model: info.model.clone(),
            input: usage.input,
            output: usage.output,
            cache_read: usage.cache_read,
            cache_write: usage.cache_write,
            reasoning: usage.reasoning,
            cost_micros: cost.map(|Money(micros)| micros),
            window: Some(window.tokens).filter(|_| window.known),
            at: self.driver.clock.now_ms(),
        });
    }

    pub(super) fn cost(&self, info: &ModelInfo, usage: Option<Usage>) -> Option<Money> {
        self.driver.prices.cost(&info.provider, &info.model, &usage?)
    }

    /// Emits the messages that guards added to the conversation.
    pub(super) fn emit_guard_messages(&self, machine: &Machine, since: usize) {
        for message in machine.history().iter().skip(since) {
            if let toolcrib_providers::conversation::Message::User(message) = &**message
                && message.kind == UserKind::Guard
            {
                let (kind, text) = (message.kind, message.text.clone());
                let images = message.images.len();
                self.driver.tell(Event::Message { kind, text, images });
            }
        }
    }

    /// Records a failure; `true` if no further model is asked.
    fn note_failure(
        &mut self,
        at: usize,
        model: &std::sync::Arc<dyn Model>,
        why: &SkippedModel,
    ) -> bool {
        let (kind, text) = match why {
            SkippedModel::Failed(error) => (Some(error.kind), error.message.clone()),
            SkippedModel::TooSmall(..) => (None, reason(why)),
        };
        if matches!(kind, Some(FailureKind::Cancelled)) {
            return true;
        }
        let is_lasting = matches!(
            kind,
            Some(FailureKind::BadKey | FailureKind::UnknownModel | FailureKind::NoCredit)
        );
        if is_lasting {
            self.dead.push(at);
        }
        let rest = self.job.models.iter().enumerate().skip(at + 1);
        let next = rest
            .filter(|(i, next)| !self.dead.contains(i) && !next.info().on_device)
            .map(|(_, next)| name(next.info()))
            .next()
            .filter(|_| !model.info().on_device);
        if self.job.models.len() > 1 {
            self.driver.tell(Event::Fallback { from: name(model.info()), to: next, why: text });
        }
        // A model on this device takes no part in fallback, in either direction.
        model.info().on_device
    }
}

fn name(info: &ModelInfo) -> String {
    format!("{}/{}", info.provider, info.model)
}

/// Waits until this time has passed; forever for `None`.
async fn wait_deadline(left: Option<Duration>) {
    match left {
        Some(left) => tokio::time::sleep(left).await,
        None => std::future::pending().await,
    }
}

/// Returns the calls of a turn under their canonical names. An unknown name is passed on unchanged,
/// and the engine reports it.
fn calls_of(turn: &Turn, around: &RequestContext) -> Vec<Call> {
    let original = |name: &str| {
        let names = around.tools.as_ref().map(|tools| &tools.names);
        names.and_then(|names| names.original(name)).unwrap_or(name).to_owned()
    };
    turn.calls
        .iter()
        .map(|call| Call {
            id: CallId::fresh(),
            name: original(&call.name),
            args: call.args.clone(),
        })
        .collect()
}

fn answer_event(info: &ModelInfo, turn: &Turn, fallback: bool, cost: Option<Money>) -> Event {
    Event::Answer {
        text: turn.text.clone(),
        provider: info.provider.clone(),
        model: info.model.clone(),
        fallback,
        stop: turn.stop.clone(),
        usage: turn.usage,
        cost,
        hosted: turn.hosted.iter().map(|hosted| hosted.kind.clone()).collect(),
        notes: turn.notes.clone(),
    }
}

/// Returns one error for the whole chain: the only one, or all of them in one message.
fn all_failed_error(passed: &[SkippedModel], primary: &ModelInfo) -> ModelError {
    let last = passed.iter().rev().find_map(|passed| match passed {
        SkippedModel::Failed(error) => Some(error.clone()),
        SkippedModel::TooSmall(..) => None,
    });
    let Some(mut error) = last else { return too_small(passed, primary) };
    let each: Vec<String> = passed.iter().map(reason).collect();
    error.message = match each.as_slice() {
        [only] => only.clone(),
        _ => format!("no model of the chain answered: {}", each.join("; ")),
    };
    error
}

fn reason(passed: &SkippedModel) -> String {
    match passed {
        SkippedModel::Failed(error) => error.to_string(),
        SkippedModel::TooSmall(estimate, candidate) => {
            NoneFits { estimate: *estimate, candidates: vec![candidate.clone()] }.to_string()
        }
    }
}

/// Returns the error if no model of the chain has a large enough window.
fn too_small(passed: &[SkippedModel], primary: &ModelInfo) -> ModelError {
    let mut none = NoneFits { estimate: 0, candidates: Vec::new() };
    for passed in passed {
        if let SkippedModel::TooSmall(estimate, candidate) = passed {
            none.estimate = none.estimate.max(*estimate);
            none.candidates.push(candidate.clone());
        }
    }
    ModelError {
        kind: FailureKind::ContextExceeded,
        provider: primary.provider.clone(),
        model: primary.model.clone(),
        status: None,
        message: none.to_string(),
        retry_after: None,
        attempts: 0,
        partial: String::new(),
    }
}

/// Emits the pieces of an answer as events.
struct DeltaEvents<'a> {
    events: &'a EventSink,
    round: u32,
    /// Names of the calls that have started.
    tools: Vec<(usize, String)>,
}

impl DeltaEvents<'_> {
    fn tell(&mut self, delta: Delta) {
        let event = match delta {
            Delta::Text { text } => Event::TextDelta { text },
            Delta::Reasoning { text } => Event::ReasoningDelta { text },
            Delta::CallStart { index, name } => {
                self.tools.push((index, name));
                self.input(index, String::new())
            }
            Delta::CallArgs { index, text } => self.input(index, text),
            Delta::Hosted { kind } => Event::Notice { text: format!("the provider runs {kind}") },
            Delta::Retry { attempt, wait, why } => {
                self.tools.clear();
                Event::Retry { attempt, wait_seconds: wait.as_secs_f64(), why }
            }
        };
        (self.events)(event);
    }

    fn input(&self, index: usize, delta: String) -> Event {
        let tool = self.tools.iter().rev().find(|(at, _)| *at == index);
        let tool = tool.map(|(_, name)| name.clone()).unwrap_or_default();
        let state = ToolState::InputStreaming { delta };
        Event::Tool(ToolEvent { round: self.round, index, call: None, tool, state, report: None })
    }
}
