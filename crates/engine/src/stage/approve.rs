//! Stage 9: a person decides, unless a grant answers. The question is stored before it is shown; the decision is good for exactly what
//! was shown.

mod inbox;

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use serde_json::Value;
use toolcrib_core::grant::GrantQuery;
use toolcrib_core::invoke::DecideError;
use toolcrib_core::store::{ARGS_BYTES, Waiting};
use toolcrib_core::{
    Answer, ApprovalId, ApprovalRequest, AskReason, Asked, Batch, Call, CallEnd, CallFacts,
    CallRecord, Context, Decision, DecisionRecord, ErrorType, EventKind, Outcome, OutcomeKind,
    RawArgs, ReasonKind, Report, SealError, Settlement, StoreError, ToolError, Within, canonical,
};

use crate::again;
use crate::batch;
use crate::deciding::failed;
use crate::engine::Inner;
use crate::flight::{InFlight, Passed, Step, Stop, fail};
use crate::nest;
use crate::secrets::{Sealing, Secrets, restore};
use crate::waiting::Handed;
pub(crate) use inbox::{Way, way};

/// A decision that a call enters again with.
pub(crate) struct Resumed {
    pub(crate) request: ApprovalRequest,
    pub(crate) record: DecisionRecord,
}

impl Resumed {
    /// The arguments to run with: the person's, or those that were shown. `real` are the latter with the secrets in them; what a person
    /// left as it was shown means those.
    pub(crate) fn args(&self, sealing: &Sealing, real: Value) -> Result<Value, SealError> {
        match &self.record.decision {
            Decision::Edit { args } => {
                Ok(restore(&sealing.open_edit(args)?, &self.request.args, &real))
            }
            _ => Ok(real),
        }
    }
}

pub(crate) async fn run(flight: &mut InFlight) -> Step {
    if let Some(resumed) = flight.resumed.take() {
        return decided_before(flight, &resumed);
    }
    if flight.asks.is_empty() {
        return Ok(Passed::SKIPPED);
    }
    let open = unanswered(flight).await?;
    if open.is_empty() {
        return Ok(Passed::noting("a grant answers"));
    }
    match way(flight) {
        Way::Ask => {}
        Way::Wait => return inbox::wait(flight, open).await,
        Way::Keep => return inbox::keep(flight, open).await,
        Way::Deny => return inbox::deny(flight, &open),
    }
    let Some(approver) = flight.engine().approver.clone() else {
        return nobody(flight, &open);
    };
    let turn = tokio::select! {
        turn = approver.turn() => turn,
        () = flight.cancel.cancelled() => {
            return fail(ErrorType::Cancelled, "The call was stopped before anybody was asked about it; it was not run.");
        }
    };
    // What was decided about the question before this one may answer this one too.
    let open = if turn.is_some() { unanswered(flight).await? } else { open };
    if open.is_empty() {
        return Ok(Passed::noting("a grant answers"));
    }
    let wait = flight.policy().settings.approval_timeout;
    let request = question(flight, open, wait)?;
    // Before the question can be seen: whoever decides at once finds the call here, and one that is dropped closes its question.
    let mut place = flight.engine().waiting.enter(request.id);
    flight.question = Some(request.id);
    if let Err(error) = keep_question(flight, &request, true).await {
        flight.question = None;
        return not_asked(flight, error).await;
    }
    flight.tell(EventKind::ApprovalRequired, |event| event.approval = Some(request.id));
    if let Some(watch) = &flight.scope.watch {
        watch.asked(&request);
    }
    let asked = AssertUnwindSafe(async { approver.ask(&request).await }).catch_unwind();
    let asked = tokio::select! {
        asked = within(wait, asked) => asked,
        // Decided on another surface: the answer here is not waited for.
        Some(record) = place.decision() => {
            flight.place = Some(place);
            return apply(flight, Resumed { request, record });
        }
        () = flight.cancel.cancelled() => {
            close(flight, &request, "stopped").await;
            return fail(ErrorType::Cancelled, "The call was stopped while it waited for approval; it was not run.");
        }
    };
    if matches!(asked, Some(Ok(Asked::Later))) {
        flight.question = None;
        return match place.leave() {
            Some(record) => {
                flight.place = Some(place);
                apply(flight, Resumed { request, record })
            }
            None => Err(Stop::Suspend(Box::new(request))),
        };
    }
    // From here on the call goes on in this task, whoever decides in the meantime.
    place.goes_on();
    flight.place = Some(place);
    let step = match asked {
        Some(Ok(Asked::Decided { decision, by })) => {
            decided_now(flight, request, decision, by).await
        }
        Some(nobody_decided) => match close(flight, &request, "nobody").await {
            Some(record) => apply(flight, Resumed { request, record }),
            None if nobody_decided.is_ok() => nobody(flight, &request.reasons),
            None => {
                let operation = flight.operation();
                let text =
                    format!("{operation} could not be approved: asking failed. Do not retry it.");
                fail(ErrorType::ApprovalDenied, text)
            }
        },
        None => match close(flight, &request, DecisionRecord::DEADLINE).await {
            // Somebody decided at the last moment, on another surface.
            Some(record) => apply(flight, Resumed { request, record }),
            None => expired(flight),
        },
    };
    // Held until the decision is remembered, so that the next question can be answered by it.
    drop(turn);
    step
}

/// Ends a question that nobody will answer any more, so that it is shown to nobody. If somebody was faster, that is their decision.
async fn close(
    flight: &mut InFlight,
    request: &ApprovalRequest,
    by: &str,
) -> Option<DecisionRecord> {
    let record = denied_by(by, flight.engine().clock.now_ms());
    flight.question = None;
    flight.engine().approvals.decide(request.id, record).await.ok()?.err()
}

pub(crate) fn denied_by(by: &str, at: i64) -> DecisionRecord {
    DecisionRecord {
        decision: Decision::Deny { note: None },
        decided_by: by.to_owned(),
        decided_at: at,
    }
}

async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

/// The reasons that no grant answers. A store that cannot be read answers nothing.
pub(crate) async fn unanswered(flight: &InFlight) -> Result<Vec<AskReason>, Stop> {
    let tool = flight.tool()?;
    let context: &Context = &flight.scope.context;
    let query = GrantQuery {
        owner: &context.owner,
        operation: flight.operation(),
        args: flight.shown_args(),
        definition_hash: tool.definition_hash(),
        risk: flight.assessed()?.risk,
        run: flight.scope.run.as_ref().map(|run| run.id),
        conversation: &context.conversation,
        now_ms: flight.engine().clock.now_ms(),
    };
    let mut open = Vec::new();
    for ask in &flight.asks {
        let grant = flight.engine().grants.find(query, ask.kind).await;
        if !matches!(grant, Ok(Some(_))) {
            open.push(ask.clone());
        }
    }
    Ok(open)
}

fn question(
    flight: &InFlight,
    reasons: Vec<AskReason>,
    wait: Option<Duration>,
) -> Result<ApprovalRequest, Stop> {
    let tool = flight.tool()?;
    let assessed = flight.assessed()?;
    let secrets = &flight.engine().secrets;
    let now = flight.engine().clock.now_ms();
    let run = flight.scope.run.as_ref().map(|run| run.id);
    Ok(ApprovalRequest {
        id: ApprovalId::fresh(),
        call: flight.call,
        run,
        tool: tool.spec().name.clone(),
        operation: flight.operation().to_owned(),
        args: secrets.mask_data(flight.shown_args()),
        risk: assessed.risk,
        effect: assessed.effect,
        reach: assessed.reach,
        summary: secrets
            .mask(placed(flight, assessed.summary.as_ref().unwrap_or(&tool.spec().title))),
        reasons: reasons.into_iter().map(|ask| without_secrets(secrets, ask)).collect(),
        origin: flight.scope.origin,
        context: Context::clone(&flight.scope.context),
        definition_hash: tool.definition_hash().to_owned(),
        binding: ApprovalRequest::binding_of(tool.definition_hash(), flight.shown_args(), run),
        requested_at: now,
        expires_at: wait.map(|wait| now.saturating_add(wait.as_millis() as i64)),
        question: None,
    })
}

/// What a call will do, with its place where a script makes it (SPEC: the card says "inside script, call 7 of at most 50").
fn placed(flight: &InFlight, summary: &str) -> String {
    match &flight.scope.inside {
        Some(inside) => {
            let Within { number, most, .. } = &inside.within;
            format!("inside a script, call {number} of at most {most}: {summary}")
        }
        None => summary.to_owned(),
    }
}

pub(crate) fn without_secrets(secrets: &Secrets, ask: AskReason) -> AskReason {
    AskReason { text: secrets.mask(ask.text), ..ask }
}

/// No stored question, no asking: a card that nobody can find again would hold the call for ever. Where somebody else has asked about this
/// very call, because this process was taken for dead, that is the one question.
async fn not_asked(flight: &mut InFlight, error: StoreError) -> Step {
    let first = match error {
        StoreError::Conflict(_) => flight.engine().approvals.of_call(flight.call).await,
        error => Err(error),
    };
    match first {
        Ok(Some((waiting, None))) => Err(Stop::Suspend(Box::new(waiting.request))),
        Ok(Some((waiting, Some(record)))) => {
            let resumed = Resumed { request: waiting.request, record };
            match resumed.record.decision {
                Decision::Edit { .. } => Err(Stop::Again(Box::new(resumed))),
                _ => decided_before(flight, &resumed),
            }
        }
        Ok(None) => could_not_be_stored(flight, "another question has its id"),
        Err(error) => could_not_be_stored(flight, &error.to_string()),
    }
}

fn could_not_be_stored(flight: &InFlight, why: &str) -> Step {
    let text = format!(
        "The {} action needs approval, but the question could not be stored ({why}); it was not run. Do not retry it now.",
        flight.operation()
    );
    fail(ErrorType::StoreFailed, text)
}

/// What makes the call, as it can be kept.
fn kept_within(flight: &InFlight) -> Result<Option<Box<Within>>, StoreError> {
    let Some(inside) = &flight.scope.inside else { return Ok(None) };
    let parent = flight.engine().sealing().seal_batch(&inside.within.parent);
    let parent = Arc::new(parent.map_err(|error| StoreError::Failed(error.to_string()))?);
    Ok(Some(Box::new(Within { parent, ..inside.within.clone() })))
}

/// Stores a question with the call it is about. `here` = this process waits for the decision; otherwise whoever decides goes on with it.
async fn keep_question(
    flight: &InFlight,
    request: &ApprovalRequest,
    here: bool,
) -> Result<(), StoreError> {
    let args = RawArgs::Value(flight.shown_args().clone());
    let args = flight.engine().sealing().seal_args(args);
    let args = args.map_err(|error| StoreError::Failed(error.to_string()))?;
    let call = Call { id: request.call, name: flight.asked.clone(), args };
    let batch = Batch {
        run: request.run,
        origin: flight.scope.origin,
        context: Arc::clone(&flight.scope.context),
        view: Arc::clone(&flight.scope.view),
        calls: vec![call],
        again: false,
        within: kept_within(flight)?,
    };
    let mut setup = flight.engine().setup.clone();
    if let Some(setup) = setup.as_object_mut().filter(|_| here) {
        setup.insert("worker".to_owned(), flight.engine().epoch().into());
    }
    let waiting = Waiting { request: request.clone(), batch, setup };
    flight.engine().approvals.ask(waiting).await
}

async fn decided_now(
    flight: &mut InFlight,
    request: ApprovalRequest,
    decision: Decision,
    by: String,
) -> Step {
    let now = flight.engine().clock.now_ms();
    let record = DecisionRecord { decision, decided_by: by, decided_at: now };
    let engine = Arc::clone(flight.engine());
    let record = match engine.decisions().record(request.id, record).await {
        Ok(record) => record,
        // Somebody else was faster, on another surface: their decision stands.
        Err(DecideError::AlreadyDecided(first)) => *first,
        Err(DecideError::Expired) => DecisionRecord::expiry(now),
        Err(error) => {
            return fail(
                ErrorType::StoreFailed,
                format!("The decision could not be stored ({error}); the call was not run."),
            );
        }
    };
    apply(flight, Resumed { request, record })
}

/// In this very pipeline the arguments are those that were shown; only edited ones have to enter again.
fn apply(flight: &mut InFlight, resumed: Resumed) -> Step {
    flight.question = None;
    flight.approval = Some(resumed.request.id);
    flight.tell(EventKind::ApprovalDecided, |event| {
        event.approval = Some(resumed.request.id);
        event.decided_by = Some(resumed.record.decided_by.clone());
    });
    if let Some(watch) = &flight.scope.watch {
        watch.decided(&resumed.request, &resumed.record);
    }
    match &resumed.record.decision {
        Decision::Edit { .. } => Err(Stop::Again(Box::new(resumed))),
        _ => verdict(flight, &resumed),
    }
}

/// A call that enters again: its decision counts only for what was shown, or for what the person wrote instead.
fn decided_before(flight: &mut InFlight, resumed: &Resumed) -> Step {
    flight.approval = Some(resumed.request.id);
    let tool = flight.tool()?;
    if tool.definition_hash() != resumed.request.definition_hash {
        return fail(
            ErrorType::ApprovalDenied,
            format!(
                "{} has changed since it was approved, so it was not run. Call it again to ask anew.",
                flight.asked
            ),
        );
    }
    let now = ApprovalRequest::binding_of(
        tool.definition_hash(),
        flight.shown_args(),
        resumed.request.run,
    );
    let edited = matches!(resumed.record.decision, Decision::Edit { .. });
    if !edited && now != resumed.request.binding {
        return fail(
            ErrorType::ApprovalDenied,
            "The arguments are not those that were approved, so the call was not run.",
        );
    }
    if edited {
        flight.notes.push("The user changed the arguments before approving.".to_owned());
    }
    verdict(flight, resumed)
}

fn verdict(flight: &mut InFlight, resumed: &Resumed) -> Step {
    let by = &resumed.record.decided_by;
    match &resumed.record.decision {
        Decision::Approve { .. } | Decision::Edit { .. } => {
            flight.approved_by = Some(by.clone());
            Ok(Passed::noting(format!("approved by {by}")))
        }
        // Only the clock has spoken.
        Decision::Deny { .. } if resumed.record.is_expiry() => expired(flight),
        Decision::Deny { note } if only_permissions(&resumed.request) => {
            let because = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            let asked: Vec<&str> =
                resumed.request.reasons.iter().map(|r| r.text.as_str()).collect();
            flight.tell(EventKind::PermissionDenied, |event| {
                event.error_type = Some(ErrorType::PermissionDenied);
            });
            fail(
                ErrorType::PermissionDenied,
                format!("{} was denied by the user{because}. Do not retry it.", asked.join(", ")),
            )
        }
        Decision::Deny { note } => {
            let because = note.as_ref().map(|note| format!(": {note}")).unwrap_or_default();
            let operation = flight.operation().to_owned();
            fail(
                ErrorType::ApprovalDenied,
                format!("The {operation} action was denied by the user{because}. Do not retry it."),
            )
        }
        Decision::Skip | Decision::Answer { .. } => {
            let operation = flight.operation().to_owned();
            fail(
                ErrorType::ApprovalDenied,
                format!(
                    "The {operation} action was skipped by the user and not run. Go on without it."
                ),
            )
        }
    }
}

/// Whether the person was asked for permissions of the host alone (seed 001, error scenario 3).
fn only_permissions(request: &ApprovalRequest) -> bool {
    request.reasons.iter().all(|reason| reason.kind == ReasonKind::Permission)
}

fn texts(asks: &[AskReason]) -> String {
    asks.iter().map(|ask| ask.text.as_str()).collect::<Vec<_>>().join("; ")
}

fn nobody(flight: &InFlight, open: &[AskReason]) -> Step {
    fail(
        ErrorType::ApprovalDenied,
        format!(
            "The {} action needs approval and nobody can be asked here ({}). Do not retry it; say what you would have done.",
            flight.operation(),
            texts(open)
        ),
    )
}

fn expired(flight: &InFlight) -> Step {
    fail(ErrorType::ApprovalExpired, not_in_time(flight.operation()))
}

fn not_in_time(operation: &str) -> String {
    format!(
        "Nobody answered in time whether {operation} may run; it was not run. Ask the user before you try again."
    )
}

/// The one outcome of a call that nobody decided about in time; the question was closed just before, so nobody else settles it.
async fn settle_expired(engine: &Inner, waiting: &Waiting) -> Answer {
    let request = &waiting.request;
    let error = ToolError::new(ErrorType::ApprovalExpired, not_in_time(&request.operation));
    let text = canonical::to_string(&engine.secrets.mask_data(&request.args));
    let real = real_args(engine, waiting).unwrap_or_else(|_| request.args.clone());
    let facts = CallFacts {
        call: request.call,
        run: request.run,
        origin: request.origin,
        context: Arc::new(request.context.clone()),
        tool: Some(request.tool.clone()),
        asked: None,
        operation: Some(request.operation.clone()),
        definition_hash: Some(request.definition_hash.clone()),
        risk: Some(request.risk),
        effect: Some(request.effect),
        args: Some(text).filter(|text| text.len() <= ARGS_BYTES),
        args_hash: Some(canonical::sha256(&real)),
        approval: Some(request.id),
        approved_by: None,
        policy: request.reasons.first().map(|reason| format!("ask: {}", reason.text)),
        received_at: request.requested_at,
    };
    let end = CallEnd {
        outcome: OutcomeKind::Expired,
        error_type: Some(error.error_type),
        message: Some(error.message.clone()),
        attempts: 0,
        run_nanos: 0,
        ended_at: engine.clock.now_ms(),
        output_hash: None,
    };
    let outcome = Outcome {
        call: request.call,
        asked: request.tool.to_string(),
        tool: Some(request.tool.clone()),
        kind: OutcomeKind::Expired,
        result: Err(error),
        notes: Vec::new(),
        report: Report::default(),
    };
    // What cannot be written now is written by whoever asks for the call again: the stored decision stands.
    if let Ok(epoch) = engine.claim().await {
        let record = CallRecord { facts, started_at: None, epoch, end };
        let mut settlement = Settlement { record, outcome: None };
        if engine.calls.keeps_evidence() {
            settlement = settlement.with_outcome(&outcome);
        }
        let _ = engine.calls.settle(settlement).await;
    }
    Answer::Done(Box::new(outcome))
}

/// Decides about a suspended call and goes on with it.
pub(crate) async fn decide(
    engine: Arc<Inner>,
    id: ApprovalId,
    record: DecisionRecord,
) -> Result<Option<Answer>, DecideError> {
    let recorded = engine.decisions().record(id, record).await;
    let (waiting, decided) =
        engine.approvals.get(id).await.map_err(failed)?.ok_or(DecideError::NotFound)?;
    match (recorded, decided) {
        (Ok(record), _) => proceed(engine, waiting, record, false).await,
        (Err(DecideError::Expired), Some(expiry)) => {
            let has_parent = waiting.batch.within.is_some();
            let answer = proceed(engine, waiting, expiry, false).await?;
            // What was asked about is over; whatever made the call goes on without it.
            answer.filter(|_| has_parent).map(Some).ok_or(DecideError::Expired)
        }
        (Err(error), _) => Err(error),
    }
}

/// Goes on with a call that was decided about before, by a process that is gone or on a surface that only wrote the decision down; a call
/// that has its outcome is answered with it.
pub(crate) async fn go_on(
    engine: Arc<Inner>,
    id: ApprovalId,
    inside: bool,
) -> Result<Option<Answer>, DecideError> {
    let (waiting, decided) =
        engine.approvals.get(id).await.map_err(failed)?.ok_or(DecideError::NotFound)?;
    let record = decided.ok_or(DecideError::Undecided)?;
    proceed(engine, waiting, record, inside).await
}

/// `None` = it waits in another task of this process, and goes on there. `inside` = whatever made the call goes on by itself.
pub(crate) async fn proceed(
    engine: Arc<Inner>,
    waiting: Waiting,
    record: DecisionRecord,
    inside: bool,
) -> Result<Option<Answer>, DecideError> {
    if !inside && waiting.batch.within.is_some() {
        if engine.waiting.tell(waiting.request.id, &record) {
            return Ok(None);
        }
        return nest::decided(engine, waiting, record).await;
    }
    if waiting.request.question.is_some() {
        // A question of the model is answered where its run goes on.
        return Ok(None);
    }
    let _place = match engine.waiting.hand_over(waiting.request.id, record.clone()) {
        Handed::There => return Ok(None),
        Handed::Free(place) => place,
    };
    // Looked up with the place in hand: it may have gone on, and ended, a moment ago.
    if let Some(answer) = again::known(&engine, waiting.request.call).await.map_err(failed)? {
        return Ok(Some(answer));
    }
    if record.is_expiry() {
        return Ok(Some(settle_expired(&engine, &waiting).await));
    }
    carry_out(engine, waiting, record).await.map(Some)
}

/// The arguments that the question is about, with the secrets that are masked where it is shown.
fn real_args(engine: &Inner, waiting: &Waiting) -> Result<Value, SealError> {
    let call = waiting.batch.calls.first().map(|call| call.args.clone());
    match call.map(|args| engine.sealing().open_args(args)).transpose()? {
        Some(RawArgs::Value(args)) => Ok(args),
        _ => Ok(waiting.request.args.clone()),
    }
}

async fn carry_out(
    engine: Arc<Inner>,
    waiting: Waiting,
    record: DecisionRecord,
) -> Result<Answer, DecideError> {
    let unread =
        |error: SealError| DecideError::Store(format!("its arguments cannot be opened: {error}"));
    let real = real_args(&engine, &waiting).map_err(unread)?;
    let resumed = Resumed { request: waiting.request, record };
    let mut batch = waiting.batch;
    if let Some(call) = batch.calls.first_mut() {
        call.args = RawArgs::Value(resumed.args(engine.sealing(), real).map_err(unread)?);
    }
    batch::resume(engine, batch, resumed).await.ok_or(DecideError::NotFound)
}
