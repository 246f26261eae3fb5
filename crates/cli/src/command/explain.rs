//! `toolcrib explain CALL`: all stored information about one call, and advice on it.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_core::audit::decision_name;
use toolcrib_core::{AuditRow, CallRow, Clock as _, Decision, Outcome, OutcomeKind, SystemClock};
use toolcrib_ops::advice;
use toolcrib_ops::approvals::{Continuation, may_run};
use toolcrib_ops::calls::{
    self, AskedQuestion, CallWorker, ExplainCallReply, ExplainCallRequest, ExplainedCall,
};

use super::approve::resume_target;
use super::explain_run;
use super::lookup;
use crate::clap_args::Explain;
use crate::output::{self, Failure};
use crate::{bootstrap, json_document, op_context, stage_trace, terminal, time_format};

/// Maximum number of characters of a result for people.
const RESULT_CHARS: usize = 600;
/// Maximum number of characters of arguments for people.
const ARGS_CHARS: usize = 1_000;

/// The information about a call, and the component that continues it.
struct CallDetails {
    reply: ExplainCallReply,
    /// Who continues it after the decision, where it waits for one or has not continued yet.
    resume_target: Option<Continuation>,
}

/// The phase of a call, which determines the advice.
enum CallPhase {
    /// It has ended.
    Ended(OutcomeKind),
    /// A process runs it.
    Running(String),
    /// The process that ran it has ended.
    Abandoned { repeatable: bool },
    /// It waits for a person.
    Waiting,
    /// A person decided; it has not continued yet.
    Decided,
}

pub(crate) fn run(command: &Explain, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let stores = bootstrap::stores()?;
        if command.call.trim().starts_with(explain_run::RUN_PREFIX) {
            return explain_run::run(&stores, &command.call, json).await;
        }
        let details = load_details(&stores, &command.call).await?;
        if json {
            output::print_json(&details.to_json(), true)?;
        } else {
            output::print_line(&details.to_text())?;
        }
        Ok(0)
    })
}

async fn load_details(stores: &Stores, text: &str) -> Result<CallDetails, Failure> {
    let ctx = op_context::for_stores(stores);
    let call = calls::resolve_call(&ctx, text).await?;
    let reply = calls::explain(&ctx, ExplainCallRequest { call }).await?;
    let resume_target = match &reply.question {
        Some(asked) if reply.row.is_none() || asked.decision.is_none() => {
            Some(resume_target::find(stores, &asked.waiting).await?)
        }
        _ => None,
    };
    Ok(CallDetails { reply, resume_target })
}

impl CallDetails {
    fn outcome(&self) -> Option<&Outcome> {
        self.reply.outcome.as_ref()
    }

    fn phase(&self) -> CallPhase {
        let Some(row) = &self.reply.row else {
            return match &self.reply.question {
                Some(AskedQuestion { decision: Some(_), .. }) => CallPhase::Decided,
                _ => CallPhase::Waiting,
            };
        };
        match (&row.end, &self.reply.worker) {
            (Some(end), _) => CallPhase::Ended(end.outcome),
            (None, Some(CallWorker::Alive { who })) => CallPhase::Running(who.clone()),
            (None, _) => CallPhase::Abandoned {
                repeatable: row.facts.effect.is_some_and(|effect| effect.is_repeatable()),
            },
        }
    }

    fn status(&self) -> &'static str {
        match self.phase() {
            CallPhase::Ended(kind) => kind.as_str(),
            CallPhase::Running(_) => "running",
            CallPhase::Abandoned { .. } => "left_behind",
            CallPhase::Waiting => "waiting",
            CallPhase::Decided => "decided",
        }
    }

    /// Explains the phase, and the next step.
    fn advice(&self) -> Option<String> {
        let text = match self.phase() {
            CallPhase::Ended(OutcomeKind::Unknown) => {
                "It was started, and it is unknown whether it took effect: its process ended, or it was cut off, in between. It was not run again, and it \
                 will not be. Look at what it was to change (the arguments say what), and call it again only if that has not happened."
                    .to_owned()
            }
            // A question of the model belongs to a call that has ended.
            CallPhase::Ended(_) if self.has_open_question() => self.waiting_text(),
            CallPhase::Ended(kind) => return self.policy_advice(kind),
            CallPhase::Running(who) => {
                format!("{who} is running it. Its outcome is recorded when it ends.")
            }
            CallPhase::Abandoned { repeatable: true } => {
                "Its process ended. The call has no side effects, so resuming its run, or repeating its key, runs it again; otherwise it ends as cancelled."
                    .to_owned()
            }
            CallPhase::Abandoned { repeatable: false } => {
                "The process that ran it is gone, and it may have taken effect. The next command that runs calls records its outcome as unknown; it is not run \
                 again. Look at what it was to change before you call it again."
                    .to_owned()
            }
            CallPhase::Waiting => self.waiting_text(),
            CallPhase::Decided => self.next_step_text(),
        };
        Some(text)
    }

    /// Returns advice on a call that policy, or an earlier stage, kept from running.
    fn policy_advice(&self, kind: OutcomeKind) -> Option<String> {
        if !matches!(kind, OutcomeKind::Denied | OutcomeKind::Expired | OutcomeKind::Failed) {
            return None;
        }
        advice::outcome_advice(self.outcome()?)
    }

    /// Explains the next step after a decision without an effect yet.
    fn next_step_text(&self) -> String {
        let Some(AskedQuestion { waiting, decision: Some(record) }) = &self.reply.question else {
            return String::new();
        };
        let what = match record.is_expiry() {
            true => "Its deadline passed without a decision",
            false => "It is decided and has not continued yet",
        };
        match &self.resume_target {
            Some(Continuation::Elsewhere(who)) => format!("{what}; {who} continues it."),
            Some(Continuation::PausedRun(run)) => {
                format!("{what}: `toolcrib resume {}` resumes its run.", run.id)
            }
            Some(Continuation::Call) if may_run(&record.decision) => format!(
                "{what}, and the process that asked has ended: `toolcrib approve yes {}` runs it.",
                waiting.request.id
            ),
            Some(Continuation::Call) => "It did not run, and no process waits for it.".to_owned(),
            Some(Continuation::RunEnded) | None => {
                "It did not run, and its run has ended.".to_owned()
            }
        }
    }

    fn has_open_question(&self) -> bool {
        self.reply.question.as_ref().is_some_and(|asked| {
            asked.waiting.request.question.is_some() && asked.decision.is_none()
        })
    }

    fn waiting_text(&self) -> String {
        let Some(asked) = &self.reply.question else { return String::new() };
        let request = &asked.waiting.request;
        let until = match request.expires_at {
            Some(end) => format!(", until {}", time_format::format_local(end)),
            None => String::new(),
        };
        let id = request.id;
        let then = match &self.resume_target {
            Some(Continuation::RunEnded) => {
                return "It waited for a person, and its run has ended.".to_owned();
            }
            Some(Continuation::Elsewhere(who)) => format!(", and {who} continues it"),
            Some(Continuation::PausedRun(run)) => {
                format!(", `toolcrib resume {}` resumes its run", run.id)
            }
            Some(Continuation::Call) | None => String::new(),
        };
        if request.is_expired(SystemClock.now_ms()) {
            return "Its deadline passed without a decision, so it does not run.".to_owned();
        }
        match &request.question {
            Some(question) => format!(
                "The model asks{until}: {} `toolcrib approve answer {id} \"…\"` answers{then}.",
                terminal::escape_to_line(&question.question)
            ),
            None => format!(
                "It waits for a person{until}: {}. `toolcrib approve show {id}` shows it, `toolcrib approve yes {id}` or `no {id}` decides{then}.",
                terminal::escape_to_line(&request.summary)
            ),
        }
    }

    fn to_json(&self) -> Value {
        json_document::with_members(
            &ExplainedCall::from(&self.reply),
            json!({
                "status": self.status(),
                "outcome": self.outcome().map(outcome_json),
                "advice": self.advice(),
            }),
        )
    }

    fn to_text(&self) -> String {
        let mut page = TextPage::default();
        let tool = match (&self.reply.row, &self.reply.question) {
            (Some(row), _) => lookup::tool_name(row),
            (None, Some(asked)) => terminal::escape_to_line(asked.waiting.request.tool.as_str()),
            (None, None) => String::new(),
        };
        page.text = format!("{}  {tool}  {}\n\n", self.reply.call, self.status());
        self.write_facts(&mut page);
        self.policy(&mut page);
        self.decision(&mut page);
        self.end(&mut page);
        if let Some(at) = self.reply.undone_at {
            let at = time_format::format_local(at);
            page.line(
                "undone",
                &format!("{at}; `toolcrib redo --list` shows whether it can be redone"),
            );
        }
        if !self.reply.audit.is_empty() {
            page.line("audit", &self.audit_text());
        }
        if let Some(advice) = self.advice() {
            page.text += &format!("\n{advice}\n");
        }
        if !self.reply.stages.is_empty() {
            page.text +=
                &format!("\n{}\n", stage_trace::format_stages("the pipeline", &self.reply.stages));
        }
        page.text
    }

    fn write_facts(&self, page: &mut TextPage) {
        let (context, origin, run) = match (&self.reply.row, &self.reply.question) {
            (Some(CallRow { facts, .. }), _) => (&*facts.context, facts.origin, facts.run),
            (None, Some(AskedQuestion { waiting, .. })) => {
                let request = &waiting.request;
                (&request.context, request.origin, request.run)
            }
            (None, None) => return,
        };
        let mut asker = wire_name(&json!(origin));
        for (what, name) in
            [("agent", &context.agent), ("channel", &context.channel), ("device", &context.device)]
        {
            if !name.is_empty() {
                asker += &format!(", {what} {name}");
            }
        }
        page.line("asked by", &asker);
        if !context.conversation.is_empty() {
            let topic = lookup::non_empty(&context.topic).map(|topic| format!(" ({topic})"));
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
        match (&self.reply.row, &self.reply.question) {
            (Some(row), _) => write_record(row, page),
            (None, Some(asked)) => {
                page.line("arguments", &asked.waiting.request.args.to_string());
            }
            (None, None) => {}
        }
    }

    /// Writes the ruling of policy, the rule, and the taint labels of the run.
    fn policy(&self, page: &mut TextPage) {
        let stored = self.reply.row.as_ref().and_then(|row| row.facts.policy.as_ref());
        match (&self.reply.ruling, stored) {
            (Some(ruling), _) => {
                page.line("policy", &advice::ruling_line(ruling));
                if let Some(rule) = &ruling.rule {
                    page.line("rule", &rule.to_string());
                }
            }
            (None, Some(line)) => page.line("policy", line),
            (None, None) => {}
        }
        for (label, by) in self.reply.labels.iter().flat_map(|labels| labels.iter()) {
            page.line("had read", &format!("{} ({label}): {by}", label.description()));
        }
    }

    fn decision(&self, page: &mut TextPage) {
        let Some(AskedQuestion { waiting, decision }) = &self.reply.question else {
            let noted = self.reply.stages.iter().any(|stage| stage.note == "a grant answers");
            if noted {
                page.line("decision", "allowed by a remembered approval");
            }
            self.reply.grants.iter().filter(|_| noted).for_each(|grant| {
                let scope = wire_name(&json!(grant.scope));
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
            &format!(
                "{}, {}: {}",
                request.id,
                time_format::format_local(request.requested_at),
                request.summary
            ),
        );
        for reason in &request.reasons {
            page.line("because", &terminal::describe_reason(reason));
        }
        if let Some(record) = decision {
            let note = match &record.decision {
                Decision::Deny { note: Some(note) } => format!(": {note}"),
                Decision::Edit { args } => format!(": {args}"),
                Decision::Answer { text } => format!(": {text}"),
                _ => String::new(),
            };
            let (what, by, at) =
                (decision_name(&record.decision), &record.decided_by, record.decided_at);
            page.line(
                "decision",
                &format!("{what} by {by}, {}{note}", time_format::format_local(at)),
            );
        }
    }

    fn end(&self, page: &mut TextPage) {
        let Some(end) = self.reply.row.as_ref().and_then(|row| row.end.as_ref()) else {
            return;
        };
        self.write_interruption(page);
        let attempts = match end.attempts {
            0 => "it did not run".to_owned(),
            1 => format!("1 attempt, {}", time_format::format_elapsed(end.run_nanos)),
            more => format!("{more} attempts, {}", time_format::format_elapsed(end.run_nanos)),
        };
        page.line("ran", &attempts);
        let why = end.error_type.map(|error_type| format!(" ({error_type})")).unwrap_or_default();
        page.line(
            "outcome",
            &format!("{}{why}, {}", end.outcome, time_format::format_local(end.ended_at)),
        );
        match self.outcome() {
            Some(outcome) => self.result(outcome, page),
            None => page.line("result", "not stored"),
        }
    }

    /// Writes attempts that ended with their process.
    fn write_interruption(&self, page: &mut TextPage) {
        for attempt in &self.reply.earlier {
            let at = attempt.started_at.map(time_format::format_local).unwrap_or_default();
            page.line("before", &format!("an attempt, started {at}, ended with its process"));
        }
    }

    fn result(&self, outcome: &Outcome, page: &mut TextPage) {
        let text = match &outcome.result {
            Ok(result) => match &result.result {
                Value::String(text) => text.clone(),
                data => data.to_string(),
            },
            Err(error) => error.message.clone(),
        };
        let shown = truncate(&text, RESULT_CHARS);
        page.line("result", &shown);
        if let Some(source) = outcome.result.as_ref().ok().and_then(|result| result.source.as_ref())
        {
            page.line("from", &terminal::escape_to_line(source));
        }
        if shown.len() < text.len() {
            page.line("", &format!("all of it: toolcrib explain {} --json", self.reply.call));
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

    fn audit_text(&self) -> String {
        let word_of = |row: &AuditRow| {
            let record: Value = serde_json::from_str(&row.text).unwrap_or_default();
            let kind = record.get("kind").map(wire_name).unwrap_or_default();
            match row.chain {
                toolcrib_core::audit::LOCAL_CHAIN => format!("{} {kind}", row.seq),
                chain => format!("{chain}/{} {kind}", row.seq),
            }
        };
        self.reply.audit.iter().map(word_of).collect::<Vec<_>>().join(", ")
    }
}

/// Writes the record of a call besides its outcome.
fn write_record(row: &CallRow, page: &mut TextPage) {
    let facts = &row.facts;
    page.line("received", &time_format::format_local(facts.received_at));
    if let Some(asked) = &facts.asked {
        page.line("asked for", asked);
    }
    let args = match (&facts.args, &facts.args_hash) {
        (Some(args), _) => truncate(args, ARGS_CHARS),
        (None, Some(_)) => "too long to store".to_owned(),
        (None, None) => "unreadable, or none".to_owned(),
    };
    page.line("arguments", &args);
    if let Some(hash) = &facts.args_hash {
        page.line("", &format!("sha256 {hash}"));
    }
    if let (Some(risk), Some(effect)) = (facts.risk, facts.effect) {
        let operation = facts.operation.as_deref().unwrap_or("-");
        let (risk, effect) = (wire_name(&json!(risk)), wire_name(&json!(effect)));
        page.line("means", &format!("risk {risk}, effect {effect}, operation {operation}"));
    }
    if let Some(hash) = &facts.definition_hash {
        page.line("definition", &format!("sha256 {hash}"));
    }
    if let (Some(at), None) = (row.started_at, &row.end) {
        page.line("started", &time_format::format_local(at));
    }
}

/// Returns the outcome for machines: the form that a model gets, and the report.
fn outcome_json(outcome: &Outcome) -> Value {
    let mut value = outcome.to_wire();
    if let Value::Object(object) = &mut value {
        object.insert("outcome".to_owned(), json!(outcome.kind));
        object.insert("report".to_owned(), json!(outcome.report));
    }
    value
}

fn wire_name(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn truncate(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Lines with labels.
#[derive(Default)]
struct TextPage {
    text: String,
}

impl TextPage {
    fn line(&mut self, name: &str, text: &str) {
        let text = terminal::escape_controls(text.trim_end());
        for (at, line) in text.lines().enumerate() {
            let name = if at == 0 { name } else { "" };
            self.text += format!("{name:<13} {line}").trim_end();
            self.text.push('\n');
        }
    }
}
