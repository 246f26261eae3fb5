//! `toolcrib explain CALL`: everything that is known of one call, and what to do about it.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_app::core::audit::decision_word;
use toolcrib_app::core::store::Question;
use toolcrib_app::core::{
    AuditRow, CallId, Clock as _, Decision, ErrorType, Grant, Outcome, OutcomeKind, StoredCall,
    SystemClock, WorkerState,
};

use super::approve::{Place, may_run};
use super::past::{self, OWNER, store};
use super::ruling;
use crate::cli::Explain;
use crate::output::{self, Failure};
use crate::{terminal, trace, when, world};

/// Characters of a result that people are shown.
const RESULT: usize = 600;
/// Characters of arguments that people are shown.
const ARGS: usize = 1_000;

/// What is known of a call.
struct Known {
    call: CallId,
    stored: Option<StoredCall>,
    /// Who runs it, of one that is open.
    worker: Option<WorkerState>,
    question: Option<Question>,
    /// Who goes on with it when that is decided, of one that has not gone on.
    place: Option<Place>,
    /// Remembered approvals of its operation that were there when it came.
    grants: Vec<Grant>,
    audit: Vec<AuditRow>,
}

/// Where a call stands, and with that what is to be done.
enum Standing {
    /// It has ended.
    Ended(OutcomeKind),
    /// Somebody runs it.
    Running(String),
    /// Whoever ran it is gone.
    LeftBehind { repeatable: bool },
    /// It waits for a person.
    Waiting,
    /// A person decided; it has not gone on yet.
    Decided,
}

pub(crate) fn run(command: &Explain, json: bool) -> Result<u8, Failure> {
    world::block_on(async {
        let stores = world::stores()?;
        let call = past::call(&stores, &command.call).await?;
        let known = look_up(&stores, call).await?;
        if json {
            output::document(&known.machine(), true)?;
        } else {
            output::data(&known.people())?;
        }
        Ok(0)
    })
}

async fn look_up(stores: &Stores, call: CallId) -> Result<Known, Failure> {
    let stored = stores.calls.call(call).await.map_err(store)?;
    let question = stores.approvals.of_call(call).await.map_err(store)?;
    let worker = match &stored {
        Some(stored) if stored.row.end.is_none() => {
            Some(stores.calls.worker(stored.row.epoch).await.map_err(store)?)
        }
        _ => None,
    };
    let place = match &question {
        Some((waiting, decided)) if stored.is_none() || decided.is_none() => {
            Some(Place::of(stores, waiting).await?)
        }
        _ => None,
    };
    let mut grants = stores.grants.list(OWNER).await.map_err(store)?;
    grants.retain(|grant| {
        stored.as_ref().is_some_and(|stored| {
            let facts = &stored.row.facts;
            facts.operation.as_ref() == Some(&grant.operation)
                && facts.definition_hash.as_ref() == Some(&grant.definition_hash)
                && grant.created_at <= facts.received_at
        })
    });
    let audit = stores.audit.records_of(call).await.map_err(store)?;
    Ok(Known { call, stored, worker, question, place, grants, audit })
}

impl Known {
    fn outcome(&self) -> Option<&Outcome> {
        self.stored.as_ref()?.outcome.as_ref()
    }

    fn standing(&self) -> Standing {
        let Some(stored) = &self.stored else {
            return match &self.question {
                Some((_, Some(_))) => Standing::Decided,
                _ => Standing::Waiting,
            };
        };
        match (&stored.row.end, &self.worker) {
            (Some(end), _) => Standing::Ended(end.outcome),
            (None, Some(WorkerState::Alive(who))) => Standing::Running(who.clone()),
            (None, _) => Standing::LeftBehind {
                repeatable: stored.row.facts.effect.is_some_and(|effect| effect.is_repeatable()),
            },
        }
    }

    fn status(&self) -> &'static str {
        match self.standing() {
            Standing::Ended(kind) => kind.as_str(),
            Standing::Running(_) => "running",
            Standing::LeftBehind { .. } => "left_behind",
            Standing::Waiting => "waiting",
            Standing::Decided => "decided",
        }
    }

    /// What this means, and what to do now.
    fn advice(&self) -> Option<String> {
        let text = match self.standing() {
            Standing::Ended(OutcomeKind::Unknown) => {
                "It was started, and nobody knows whether it took effect: its process ended, or it was cut off, in between. It was not run again, and it \
                 will not be. Look at what it was to change (the arguments say what), and call it again only if that has not happened."
                    .to_owned()
            }
            // A question of the model is asked by a call that has ended.
            Standing::Ended(_) if self.asks_still() => self.what_it_waits_for(),
            Standing::Ended(kind) => return self.about_policy(kind),
            Standing::Running(who) => {
                format!("{who} runs it now. Its outcome is recorded when it ends; look again then.")
            }
            Standing::LeftBehind { repeatable: true } => {
                "The process that ran it is gone. It changes nothing, so whoever goes on with its run or its key runs it again; else it ends as cancelled."
                    .to_owned()
            }
            Standing::LeftBehind { repeatable: false } => {
                "The process that ran it is gone, and it may have taken effect. The next command that runs calls records its outcome as unknown; it is not run \
                 again. Look at what it was to change before you call it again."
                    .to_owned()
            }
            Standing::Waiting => self.what_it_waits_for(),
            Standing::Decided => self.how_it_goes_on(),
        };
        Some(text)
    }

    /// What to do about a call that policy, or what comes before it, kept from running.
    fn about_policy(&self, kind: OutcomeKind) -> Option<String> {
        if !matches!(kind, OutcomeKind::Denied | OutcomeKind::Expired | OutcomeKind::Failed) {
            return None;
        }
        let outcome = self.outcome()?;
        let error = outcome.error_type()?;
        let tool = outcome.tool.as_ref().map_or(outcome.asked.as_str(), |tool| tool.as_str());
        let operation = outcome.report.operation.as_deref().unwrap_or(tool);
        let ruling = outcome.report.ruling.as_ref().filter(|_| {
            matches!(
                error,
                ErrorType::PolicyDenied
                    | ErrorType::PermissionDenied
                    | ErrorType::ApprovalDenied
                    | ErrorType::ApprovalExpired
            )
        });
        match ruling {
            Some(ruling) => ruling::advice(ruling, tool, operation),
            None => ruling::advice_on(error, tool),
        }
    }

    /// A person decided, and nothing came of it yet.
    fn how_it_goes_on(&self) -> String {
        let Some((waiting, Some(record))) = &self.question else { return String::new() };
        let what = match record.is_expiry() {
            true => "Nobody decided in time",
            false => "It was decided about and has not gone on yet",
        };
        match &self.place {
            Some(Place::Live(who)) => format!("{what}; {who} goes on with it."),
            Some(Place::Aside(run)) => {
                format!("{what}: `toolcrib resume {}` goes on with its run.", run.id)
            }
            Some(Place::Nobody) if may_run(&record.decision) => format!(
                "{what}, and whoever asked has ended: `toolcrib approve yes {}` carries it out.",
                waiting.request.id
            ),
            Some(Place::Nobody) => "It was not run, and nobody waits for it any more.".to_owned(),
            Some(Place::Over) | None => "It was not run, and its run is over.".to_owned(),
        }
    }

    fn asks_still(&self) -> bool {
        self.question.as_ref().is_some_and(|(waiting, decision)| {
            waiting.request.question.is_some() && decision.is_none()
        })
    }

    fn what_it_waits_for(&self) -> String {
        let Some((waiting, _)) = &self.question else { return String::new() };
        let request = &waiting.request;
        let until = match request.expires_at {
            Some(end) => format!(", until {}", when::local(end)),
            None => String::new(),
        };
        let id = request.id;
        let then = match &self.place {
            Some(Place::Over) => return "It waited for a person, and its run is over.".to_owned(),
            Some(Place::Live(who)) => format!(", and {who} goes on with it"),
            Some(Place::Aside(run)) => {
                format!(", `toolcrib resume {}` goes on with its run", run.id)
            }
            Some(Place::Nobody) | None => String::new(),
        };
        if request.is_expired(SystemClock.now_ms()) {
            return "Nobody decided in time, so it is not run.".to_owned();
        }
        match &request.question {
            Some(question) => format!(
                "The model asks{until}: {} `toolcrib approve answer {id} \"…\"` answers{then}.",
                terminal::one_line(&question.question)
            ),
            None => format!(
                "It waits for a person{until}: {}. `toolcrib approve show {id}` shows it, `toolcrib approve yes {id}` or `no {id}` decides{then}.",
                terminal::one_line(&request.summary)
            ),
        }
    }

    fn machine(&self) -> Value {
        let worker = self.worker.as_ref().map(|worker| match worker {
            WorkerState::Alive(who) => json!({"state": "alive", "who": who}),
            WorkerState::Gone => json!({"state": "gone"}),
            WorkerState::Unknown => json!({"state": "unknown"}),
        });
        let question = self.question.as_ref().map(|(waiting, decision)| {
            json!({
                "id": waiting.request.id,
                "summary": waiting.request.summary,
                "reasons": waiting.request.reasons,
                "question": waiting.request.question,
                "args": waiting.request.args,
                "requested_at": waiting.request.requested_at,
                "expires_at": waiting.request.expires_at,
                "decision": decision,
            })
        });
        let audit = self.audit.iter().map(|row| {
            let record: Value = serde_json::from_str(&row.text).unwrap_or(Value::Null);
            json!({"chain": row.chain, "seq": row.seq, "hash": row.hash, "record": record})
        });
        json!({
            "call": self.call,
            "status": self.status(),
            "ruling": self.outcome().and_then(|outcome| outcome.report.ruling.as_ref()),
            "labels": self.outcome().map(|outcome| &outcome.report.labels),
            "facts": self.stored.as_ref().map(|stored| past::machine(&stored.row)),
            "worker": worker,
            "earlier": self.stored.as_ref().map(|stored| &stored.earlier),
            "question": question,
            "grants": self.grants,
            "outcome": self.outcome().map(outcome),
            "advice": self.advice(),
            "audit": audit.collect::<Vec<_>>(),
        })
    }

    fn people(&self) -> String {
        let mut page = Page::default();
        let tool = match (&self.stored, &self.question) {
            (Some(stored), _) => past::tool_name(&stored.row),
            (None, Some((waiting, _))) => terminal::one_line(waiting.request.tool.as_str()),
            (None, None) => String::new(),
        };
        page.text = format!("{}  {tool}  {}\n\n", self.call, self.status());
        self.facts(&mut page);
        self.policy(&mut page);
        self.decision(&mut page);
        self.end(&mut page);
        if !self.audit.is_empty() {
            page.line("audit", &self.audit_words());
        }
        if let Some(advice) = self.advice() {
            page.text += &format!("\n{advice}\n");
        }
        if let Some(outcome) = self.outcome().filter(|outcome| !outcome.report.stages.is_empty()) {
            page.text += &format!("\n{}\n", trace::stages("the door", &outcome.report));
        }
        page.text
    }

    fn facts(&self, page: &mut Page) {
        let context = match (&self.stored, &self.question) {
            (Some(stored), _) => &*stored.row.facts.context,
            (None, Some((waiting, _))) => &waiting.request.context,
            (None, None) => return,
        };
        let (origin, run) = match (&self.stored, &self.question) {
            (Some(stored), _) => (Some(stored.row.facts.origin), stored.row.facts.run),
            (None, question) => {
                let request = question.as_ref().map(|(waiting, _)| &waiting.request);
                (request.map(|r| r.origin), request.and_then(|r| r.run))
            }
        };
        let mut asker = origin.map(|origin| word(&json!(origin))).unwrap_or_default();
        for (what, name) in
            [("agent", &context.agent), ("channel", &context.channel), ("device", &context.device)]
        {
            if !name.is_empty() {
                asker += &format!(", {what} {name}");
            }
        }
        page.line("asked by", &asker);
        if !context.conversation.is_empty() {
            let topic = past::some(&context.topic).map(|topic| format!(" ({topic})"));
            page.line(
                "conversation",
                &format!("{}{}", context.conversation, topic.unwrap_or_default()),
            );
        }
        if let Some(run) = run {
            page.line("run", &run.to_string());
        }
        if !context.workspace.is_empty() {
            page.line("workspace", &context.workspace);
        }
        match (&self.stored, &self.question) {
            (Some(stored), _) => recorded(stored, page),
            (None, Some((waiting, _))) => {
                page.line("arguments", &waiting.request.args.to_string());
            }
            (None, None) => {}
        }
    }

    /// What policy said, which rule it was, and what the run had read.
    fn policy(&self, page: &mut Page) {
        let kept = self.stored.as_ref().and_then(|stored| stored.row.facts.policy.as_ref());
        match (self.outcome().and_then(|outcome| outcome.report.ruling.as_ref()), kept) {
            (Some(said), _) => {
                page.line("policy", &ruling::line(said));
                if let Some(rule) = &said.rule {
                    page.line("rule", &rule.to_string());
                }
            }
            (None, Some(line)) => page.line("policy", line),
            (None, None) => {}
        }
        for (label, by) in self.outcome().iter().flat_map(|outcome| outcome.report.labels.iter()) {
            page.line("had read", &format!("{} ({label}): {by}", label.words()));
        }
    }

    fn decision(&self, page: &mut Page) {
        let Some((waiting, decision)) = &self.question else {
            let noted = self.outcome().is_some_and(|outcome| {
                outcome.report.stages.iter().any(|stage| stage.note == "a grant answers")
            });
            if noted {
                page.line("decision", "a remembered approval answered");
            }
            self.grants.iter().filter(|_| noted).for_each(|grant| {
                let scope = word(&json!(grant.scope));
                page.line(
                    "grant",
                    &format!("{} ({scope}), given by {}", grant.id, grant.created_by),
                );
            });
            return;
        };
        let request = &waiting.request;
        page.line(
            "question",
            &format!("{}, {}: {}", request.id, when::local(request.requested_at), request.summary),
        );
        for reason in &request.reasons {
            page.line("because", &terminal::because(reason));
        }
        if let Some(record) = decision {
            let note = match &record.decision {
                Decision::Deny { note: Some(note) } => format!(": {note}"),
                Decision::Edit { args } => format!(": {args}"),
                Decision::Answer { text } => format!(": {text}"),
                _ => String::new(),
            };
            let (what, by, at) =
                (decision_word(&record.decision), &record.decided_by, record.decided_at);
            page.line("decision", &format!("{what} by {by}, {}{note}", when::local(at)));
        }
    }

    fn end(&self, page: &mut Page) {
        let Some(end) = self.stored.as_ref().and_then(|stored| stored.row.end.as_ref()) else {
            return;
        };
        self.cut_off(page);
        let attempts = match end.attempts {
            0 => "it did not run".to_owned(),
            1 => format!("1 attempt, {}", when::took(end.run_nanos)),
            more => format!("{more} attempts, {}", when::took(end.run_nanos)),
        };
        page.line("ran", &attempts);
        let why = end.error_type.map(|error_type| format!(" ({error_type})")).unwrap_or_default();
        page.line("outcome", &format!("{}{why}, {}", end.outcome, when::local(end.ended_at)));
        match self.outcome() {
            Some(outcome) => self.result(outcome, page),
            None => page.line("result", "it was not kept"),
        }
    }

    /// Attempts that ended with their process.
    fn cut_off(&self, page: &mut Page) {
        for attempt in self.stored.iter().flat_map(|stored| &stored.earlier) {
            let at = attempt.started_at.map(when::local).unwrap_or_default();
            page.line("before", &format!("an attempt, started {at}, ended with its process"));
        }
    }

    fn result(&self, outcome: &Outcome, page: &mut Page) {
        let text = match &outcome.result {
            Ok(result) => match &result.result {
                Value::String(text) => text.clone(),
                data => data.to_string(),
            },
            Err(error) => error.message.clone(),
        };
        let shown = cut(&text, RESULT);
        page.line("result", &shown);
        if shown.len() < text.len() {
            page.line("", &format!("all of it: toolcrib explain {} --json", self.call));
        }
        if let Some(detail) = outcome.result.as_ref().err().and_then(|error| error.detail.as_ref())
        {
            page.line("detail", detail);
        }
        if let Some(artifact) =
            outcome.result.as_ref().ok().and_then(|result| result.artifact.as_ref())
        {
            page.line(
                "artifact",
                &format!("{artifact}: toolcrib tool call read_artifact --args '{{\"ref\": \"{artifact}\"}}'"),
            );
        }
        for note in &outcome.notes {
            page.line("note", note);
        }
    }

    fn audit_words(&self) -> String {
        let word_of = |row: &AuditRow| {
            let record: Value = serde_json::from_str(&row.text).unwrap_or_default();
            let kind = record.get("kind").map(word).unwrap_or_default();
            match row.chain {
                toolcrib_app::core::audit::LOCAL_CHAIN => format!("{} {kind}", row.seq),
                chain => format!("{chain}/{} {kind}", row.seq),
            }
        };
        self.audit.iter().map(word_of).collect::<Vec<_>>().join(", ")
    }
}

/// What was recorded of a call besides its end.
fn recorded(stored: &StoredCall, page: &mut Page) {
    let facts = &stored.row.facts;
    page.line("received", &when::local(facts.received_at));
    if let Some(asked) = &facts.asked {
        page.line("asked for", asked);
    }
    let args = match (&facts.args, &facts.args_hash) {
        (Some(args), _) => cut(args, ARGS),
        (None, Some(_)) => "too long to be kept".to_owned(),
        (None, None) => "they could not be read, or there are none".to_owned(),
    };
    page.line("arguments", &args);
    if let Some(hash) = &facts.args_hash {
        page.line("", &format!("sha256 {hash}"));
    }
    if let (Some(risk), Some(effect)) = (facts.risk, facts.effect) {
        let operation = facts.operation.as_deref().unwrap_or("-");
        let (risk, effect) = (word(&json!(risk)), word(&json!(effect)));
        page.line("means", &format!("risk {risk}, effect {effect}, operation {operation}"));
    }
    if let Some(hash) = &facts.definition_hash {
        page.line("definition", &format!("sha256 {hash}"));
    }
    if let (Some(at), None) = (stored.row.started_at, &stored.row.end) {
        page.line("started", &when::local(at));
    }
}

/// The outcome for machines: the form that a model gets, and the report.
fn outcome(outcome: &Outcome) -> Value {
    let mut value = outcome.to_wire();
    if let Value::Object(object) = &mut value {
        object.insert("outcome".to_owned(), json!(outcome.kind));
        object.insert("report".to_owned(), json!(outcome.report));
    }
    value
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Lines with a name in front.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, name: &str, text: &str) {
        let text = terminal::visible(text.trim_end());
        for (at, line) in text.lines().enumerate() {
            let name = if at == 0 { name } else { "" };
            self.text += format!("{name:<13} {line}").trim_end();
            self.text.push('\n');
        }
    }
}
