//! `HttpModel`: a model over HTTP, with the retry loop around one request.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolcrib_core::{BoxFuture, CancellationToken};
use toolcrib_net::Bytes;

use super::attempt::Attempt;
use super::attempt_failure::AttemptFailure;
use super::classify_error::is_server_flag;
use super::endpoint::{EndpointState, ModelOptions};
use super::error_message::ErrorContext;
use super::list_models;
use super::retry::{MAX_DELAY, retry_delay};
use crate::model::{
    Delta, DeltaSink, FailureKind, Model, ModelError, ModelInfo, ModelReply, ModelRequest,
};
use crate::model_turn::Turn;
use crate::quirks::Dialect;
use crate::request;
use crate::tool_declarations::Options;
use crate::wire_format::Format;

/// A model of an [`Endpoint`](super::Endpoint).
#[derive(Clone)]
pub struct HttpModel {
    shared: Arc<EndpointState>,
    info: ModelInfo,
    /// With native function calling.
    native: Dialect,
    /// With tools as text.
    text: Dialect,
    /// Whether the model has no function calling according to the configuration.
    text_tools: bool,
    streaming_url: String,
    whole_url: String,
}

impl HttpModel {
    pub(super) fn new(shared: Arc<EndpointState>, model: String, options: ModelOptions) -> Self {
        let settings = &shared.settings;
        let quirks = options.quirks.unwrap_or_else(|| shared.quirks.clone());
        let info = ModelInfo {
            provider: settings.id.clone(),
            format: settings.kind.format(),
            scripted: false,
            on_device: settings.on_device,
            requested_window: quirks.requested_window(&model, options.window),
            model,
        };
        let native = Dialect { format: info.format, quirks, text_tools: false };
        Self {
            text: native.clone().with_text_tools(),
            native,
            text_tools: options.text_tools,
            streaming_url: shared.address.generate(&info.model, true),
            whole_url: shared.address.generate(&info.model, false),
            info,
            shared,
        }
    }

    /// Returns the current dialect.
    #[must_use]
    pub fn dialect(&self) -> &Dialect {
        if self.is_text_only() { &self.text } else { &self.native }
    }

    fn is_text_only(&self) -> bool {
        self.text_tools || self.shared.takes_no_tools(&self.info.model)
    }

    /// Returns the dialect in which this request's tools were declared.
    fn dialect_of(&self, request: &ModelRequest) -> &Dialect {
        match request.tools.as_ref().map(|tools| &tools.value) {
            Some(Value::String(_)) => &self.text,
            Some(Value::Null) | None => self.dialect(),
            Some(_) => &self.native,
        }
    }

    fn about(&self) -> ErrorContext<'_> {
        self.shared.error_context(&self.info.model)
    }

    /// Sends attempts until an answer or a permanent failure; `progress` always shows the current
    /// state.
    async fn attempts(
        &self,
        request: &ModelRequest,
        deltas: DeltaSink<'_>,
        progress: &mut AttemptProgress,
    ) -> Result<Turn, AttemptFailure> {
        let shared = &*self.shared;
        let clock = &shared.settings.clock;
        let pass =
            shared.breaker.acquire(clock.now()).map_err(|left| self.circuit_open_failure(left))?;
        let retries = if pass.is_probe() { 0 } else { shared.settings.retries };
        let end = clock.now().checked_add(shared.settings.timeout);
        let time_left =
            || end.map_or(Duration::MAX, |end| end.saturating_duration_since(clock.now()));
        let dialect = self.dialect_of(request);
        let body = Bytes::from(request::render_body(&self.info, dialect, request));
        loop {
            self.throttle(progress.attempts + 1, time_left(), &mut *deltas).await?;
            progress.attempts += 1;
            progress.partial.clear();
            let attempt = Attempt {
                shared,
                about: self.about(),
                url: if request.stream { &self.streaming_url } else { &self.whole_url },
                body: body.clone(),
                stream: request.stream,
                format: dialect.format,
                text_tools: dialect.text_tools,
                left: time_left(),
            };
            let partial = &mut progress.partial;
            let mut watched = |delta: Delta| {
                if let Delta::Text { text } = &delta {
                    partial.push_str(text);
                }
                deltas(delta);
            };
            let mut failure = match attempt.run(&mut watched).await {
                Ok(turn) => {
                    pass.record_success();
                    return Ok(turn);
                }
                Err(failure) => failure,
            };
            if !failure.kind.is_transient() {
                pass.record_success();
                return Err(failure);
            }
            let pause = retry_delay(progress.attempts, failure.retry_after, fastrand::f64());
            let again = progress.attempts <= retries;
            let Some(pause) = pause.filter(|pause| again && *pause < time_left()) else {
                pass.record_failure(clock.now());
                failure.message =
                    gave_up_message(failure.message, progress.attempts, failure.retry_after);
                return Err(failure);
            };
            let next = progress.attempts + 1;
            deltas(Delta::Retry { attempt: next, wait: pause, why: failure.message });
            clock.sleep(pause).await;
        }
    }

    /// Waits for the configured rate limits, if the wait is short. Reports the wait as a retry,
    /// even before the first attempt.
    async fn throttle(
        &self,
        attempt: u32,
        left: Duration,
        deltas: DeltaSink<'_>,
    ) -> Result<(), AttemptFailure> {
        let clock = &self.shared.settings.clock;
        while let Err(pause) = self.shared.windows.acquire(clock.now()) {
            let why = format!(
                "The limit of requests that you set for {} is reached.",
                self.info.provider
            );
            if pause > MAX_DELAY.min(left) {
                let message =
                    format!("{why} The next one is possible in {}.", duration_text(pause));
                let failure = AttemptFailure::new(FailureKind::RateLimited, message);
                return Err(AttemptFailure { retry_after: Some(pause), ..failure });
            }
            deltas(Delta::Retry { attempt, wait: pause, why });
            clock.sleep(pause).await;
        }
        Ok(())
    }

    fn circuit_open_failure(&self, left: Duration) -> AttemptFailure {
        let when = if left.is_zero() {
            "a request that finds out whether it works again is on its way".to_owned()
        } else {
            format!("it is asked again in {}", duration_text(left))
        };
        let message = format!("{} failed several times in a row; {when}.", self.info.provider);
        let failure = AttemptFailure::new(FailureKind::CircuitOpen, message);
        AttemptFailure { retry_after: Some(left).filter(|left| !left.is_zero()), ..failure }
    }

    /// Records properties of the model that a failure reveals, and adds a hint to the failure's
    /// message.
    async fn learn(&self, request: &ModelRequest, failure: &mut AttemptFailure) {
        let has_tools = request.tools.as_ref().is_some_and(|tools| !tools.value.is_null());
        match failure.kind {
            FailureKind::NoTools if has_tools && !self.dialect_of(request).text_tools => {
                self.shared.remember_no_tools(&self.info.model, is_server_flag(&failure.message));
            }
            // The request had no tools; declaring them in another way would not help.
            FailureKind::NoTools => failure.kind = FailureKind::BadRequest,
            FailureKind::UnknownModel => {
                list_models::add_suggestions(&self.shared, &self.info.model, failure).await;
            }
            _ => {}
        }
    }
}

/// State of a request.
#[derive(Default)]
struct AttemptProgress {
    attempts: u32,
    partial: String,
}

fn gave_up_message(message: String, attempts: u32, retry_after: Option<Duration>) -> String {
    let tried = match attempts {
        1 => String::new(),
        attempts => format!(" Tried {attempts} times."),
    };
    match retry_after {
        Some(after) if !after.is_zero() => {
            format!("{message}{tried} It asks to come back in {}.", duration_text(after))
        }
        _ => format!("{message}{tried}"),
    }
}

/// Formats a duration as `12 s`, `3 min` or `2 h`, rounded up.
fn duration_text(time: Duration) -> String {
    let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds.div_ceil(60)),
        _ => format!("{} h", seconds.div_ceil(3600)),
    }
}

impl Model for HttpModel {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn tool_format(&self) -> Format {
        self.dialect().tools_format()
    }

    fn tool_options(&self) -> Options {
        let quirks = &self.dialect().quirks;
        Options { strict: quirks.strict, rules: quirks.strict_rules }
    }

    fn ask<'a>(
        &'a self,
        request: &'a ModelRequest,
        deltas: DeltaSink<'a>,
        cancel: &'a CancellationToken,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>> {
        Box::pin(async move {
            let mut progress = AttemptProgress::default();
            let asking = async {
                match self.attempts(request, deltas, &mut progress).await {
                    Ok(turn) => Ok(turn),
                    Err(mut failure) => {
                        self.learn(request, &mut failure).await;
                        Err(failure)
                    }
                }
            };
            let outcome = tokio::select! {
                biased;
                () = cancel.cancelled() => {
                    Err(AttemptFailure::new(FailureKind::Cancelled, "The request was stopped."))
                }
                outcome = asking => outcome,
            };
            let AttemptProgress { attempts, partial } = progress;
            match outcome {
                Ok(turn) => Ok(ModelReply { turn, attempts }),
                Err(failure) => {
                    Err(self.shared.error(&self.info.model, failure, attempts, partial))
                }
            }
        })
    }
}

impl fmt::Debug for HttpModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpModel")
            .field("info", &self.info)
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}
