//! `toolcrib approve show`: everything that a decision is about.

use serde_json::{Value, json};
use toolcrib_app::Stores;
use toolcrib_app::core::store::{Question, Waiting};
use toolcrib_app::core::{ApprovalRequest, Clock as _, Reach, SystemClock, channel};

use super::super::scope;
use super::list::{deadline, decision_words, risk};
use super::{LOOKED_AT, find, store, surroundings};
use crate::output::{self, Failure};
use crate::terminal::{self, Paint};
use crate::when;

/// Earlier decisions that are shown.
const EARLIER: usize = 5;

pub(super) async fn run(stores: &Stores, id: &str, json: bool) -> Result<u8, Failure> {
    let question = find(stores, id).await?;
    let earlier = earlier(stores, &question.0.request).await?;
    if json {
        output::document(&machine(&question, &earlier), true)?;
    } else {
        output::data(&people(&question, &earlier))?;
    }
    Ok(0)
}

/// What was decided about calls like this one before, the newest first.
async fn earlier(stores: &Stores, request: &ApprovalRequest) -> Result<Vec<Question>, Failure> {
    let all = stores.approvals.questions("", LOOKED_AT).await.map_err(store)?;
    let like = |(waiting, decided): &Question| {
        let other = &waiting.request;
        decided.is_some()
            && other.id != request.id
            && other.operation == request.operation
            && other.question.is_some() == request.question.is_some()
    };
    Ok(all.into_iter().filter(like).take(EARLIER).collect())
}

fn machine((waiting, decided): &Question, earlier: &[Question]) -> Value {
    let now = SystemClock.now_ms();
    let earlier = earlier.iter().map(|(waiting, decided)| {
        json!({"id": waiting.request.id, "args": waiting.request.args, "decision": decided})
    });
    json!({
        "request": waiting.request,
        "expired": decided.is_none() && waiting.request.is_expired(now),
        "decision": decided,
        "earlier": earlier.collect::<Vec<_>>(),
    })
}

fn people((waiting, decided): &Question, earlier: &[Question]) -> String {
    let request = &waiting.request;
    let now = SystemClock.now_ms();
    let line = |text: &str| terminal::one_line(text);
    let asked = format!(
        "{} ({} ago)",
        when::local(request.requested_at),
        when::age(request.requested_at, now)
    );
    let deadline = match (request.expires_at, decided) {
        (Some(end), Some(_)) => when::local(end),
        (Some(end), None) => format!("{} ({})", when::local(end), deadline(request, now)),
        (None, _) => "none, it waits as long as it takes".to_owned(),
    };
    let mut facts: Vec<(&str, String)> = vec![
        ("id", request.id.to_string()),
        ("call", request.call.to_string()),
        ("run", request.run.map(|run| run.to_string()).unwrap_or_default()),
        ("agent", line(&request.context.agent)),
        ("conversation", line(&request.context.conversation)),
        ("topic", line(&request.context.topic)),
        ("workspace", line(&workspace(waiting))),
        ("asked by", json!(request.origin).as_str().unwrap_or_default().to_owned()),
        ("channel", line(channel(&request.context, request.origin))),
        ("asked at", asked),
        ("deadline", deadline),
    ];
    if request.question.is_none() {
        facts.extend(request.reasons.iter().enumerate().map(|(at, reason)| {
            let name = if at == 0 { "why asked" } else { "and" };
            (name, line(&terminal::because(reason)))
        }));
        facts.extend([
            ("operation", line(&request.operation)),
            ("risk", risk(request)),
            ("effect", json!(request.effect).as_str().unwrap_or_default().to_owned()),
            ("reach", reach(request.reach)),
            ("definition", scope::hash(&request.definition_hash).to_owned()),
        ]);
    }
    if let Some(record) = decided {
        let at = when::local(record.decided_at);
        facts.push(("decision", format!("{}, {at}", decision_words(record))));
    }
    let mut text = format!("{}: {}\n\n", line(request.tool.as_str()), line(&request.summary));
    for (name, value) in facts.iter().filter(|(_, value)| !value.is_empty()) {
        text += &format!("{name:<13} {value}\n");
    }
    text += &what(waiting);
    for (at, (waiting, decided)) in earlier.iter().enumerate() {
        let head = if at == 0 { "\nearlier decisions about calls like this:\n" } else { "" };
        let words = decided.as_ref().map(decision_words).unwrap_or_default();
        let args = terminal::shorten(&line(&waiting.request.args.to_string()), 60);
        text += &format!("{head}  {words}  {args}\n");
    }
    text
}

/// The arguments whole, and what they would do; or the question.
fn what(waiting: &Waiting) -> String {
    let request = &waiting.request;
    if let Some(question) = &request.question {
        let mut text = format!("\n{}\n", terminal::visible(&question.question));
        if !question.context.is_empty() {
            text += &format!("\n{}\n", terminal::visible(&question.context));
        }
        for (at, option) in question.options.iter().enumerate() {
            text += &format!("  {}) {}\n", at + 1, terminal::one_line(option));
        }
        return text;
    }
    let mut text = format!("\n{}", terminal::arguments(&request.args, &[]));
    let paint = Paint { colour: false };
    if let Some(preview) =
        terminal::preview(request.tool.as_str(), &request.args, &workspace(waiting), paint)
    {
        text += &format!("\n{}", preview.text);
    }
    text
}

/// The folder that the call works in.
fn workspace(waiting: &Waiting) -> String {
    let own = &waiting.request.context.workspace;
    if !own.is_empty() {
        return own.clone();
    }
    let setup = surroundings::setup(waiting).ok();
    let path = setup.and_then(|setup| setup.workspace());
    path.map(|path| path.display().to_string()).unwrap_or_default()
}

fn reach(reach: Reach) -> String {
    let parts = [
        (reach.outbound, "sends outside this machine"),
        (reach.exec, "runs programs"),
        (reach.private_read, "reads private data"),
    ];
    let parts: Vec<&str> = parts.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    if parts.is_empty() { "this machine".to_owned() } else { parts.join(", ") }
}
