//! Approvals and questions of models: sends them, passes decisions on, and notes on the sent
//! message what was decided, here or elsewhere.

use std::fmt::Write as _;

use toolcrib_assistant::RowError;
use toolcrib_assistant::chat_channel::{ButtonPress, ChatPerson, ShownQuestion};
use toolcrib_channels::{Button, ChannelError, Question};
use toolcrib_core::display_text::{escape_controls, escape_to_line};
use toolcrib_core::store::ApprovalWithDecision;
use toolcrib_core::{
    ApprovalId, ApprovalRequest, Decision, DecisionRecord, RunStatus, StoreError, StoredRun,
    UserQuestion,
};
use toolcrib_ops::approvals::{DecideBody, nonce};
use toolcrib_ops::runs::pending_questions;

use super::account::Account;
use super::commands::command;
use crate::decision::{Decider, decide_question};
use crate::problem::{Code, Problem};

/// Characters of a message that are left for the buttons and the decision.
const RESERVED: usize = 600;
/// Maximum options that are buttons.
const MAX_OPTIONS: usize = 4;

/// Sends the open questions of a paused run that were not sent yet.
pub(super) async fn ask(
    account: &Account,
    user: &str,
    room: &str,
    run: &StoredRun,
) -> Result<(), RowError> {
    let waits = pending_questions(run);
    let ids: Vec<ApprovalId> = waits.iter().filter_map(|wait| wait.approval()).collect();
    for id in ids {
        let person = account.person(user).await?;
        if person.shown.iter().any(|shown| shown.approval == id) {
            continue;
        }
        let Some((waiting, None)) = account.supervisor.stores().approvals.get(id).await? else {
            continue;
        };
        if account.is_paused(user) {
            return Ok(());
        }
        let request = &waiting.request;
        let question = question_of(account, request);
        match ask_in_private(account, room, &question, id).await {
            Ok(message) => {
                account.end_pause(user);
                let shown = ShownQuestion {
                    approval: id,
                    nonce: nonce(request),
                    room: room.to_owned(),
                    message,
                    text: question.text,
                    options: request.question.as_ref().map(|asked| asked.options.clone()),
                };
                let add = |person: &mut ChatPerson| person.shown.push(shown.clone());
                account.change_and_log(user, Some("question sent"), add).await?;
            }
            Err(error) => {
                // The question is also in the inbox.
                tracing::debug!(channel = account.settings.id, %error, "a question was not sent");
                account.pause(user, &error);
                return Ok(());
            }
        }
    }
    answer_by_text(account, user).await
}

/// Sends a question, unless other people would read it.
async fn ask_in_private(
    account: &Account,
    room: &str,
    question: &Question,
    id: ApprovalId,
) -> Result<String, ChannelError> {
    account.require_private(room).await?;
    account.channel.ask(room, question, &id.to_string()).await
}

/// Takes a text as the answer to an open question of the model; it never decides about a call.
async fn answer_by_text(account: &Account, user: &str) -> Result<(), RowError> {
    let person = account.person(user).await?;
    let Some(text) = person.waiting.first().filter(|first| command(first).is_none()) else {
        return Ok(());
    };
    let Some(asked) = person.shown.iter().find(|shown| shown.options.is_some()) else {
        if person.turn.as_ref().is_some_and(|turn| !turn.told) {
            let words = "Your earlier message waits for a decision, so this one waits too. A text is no decision: use the buttons, or the inbox. /stop ends the wait.";
            account
                .change_person(user, |person| {
                    if let Some(turn) = &mut person.turn {
                        turn.told = true;
                    }
                    person.say(&text.room, format!("{}-told", text.id), words);
                })
                .await?;
        }
        return Ok(());
    };
    let decision = Decision::Answer { text: text.text.clone() };
    match decide(account, user, &person, asked, decision).await {
        Ok(()) => take_text(account, user, &text.id).await,
        Err(problem) if is_final(&problem) => {
            // It was answered elsewhere: the text is a message like any other.
            tracing::debug!(detail = problem.detail, "a text answers no question");
            Ok(())
        }
        Err(problem) => {
            tracing::warn!(detail = problem.detail, "an answer could not be stored");
            Ok(())
        }
    }
}

async fn take_text(account: &Account, user: &str, id: &str) -> Result<(), RowError> {
    account.change_person(user, |person| person.waiting.retain(|one| one.id != id)).await
}

/// Whether the same decision will never succeed.
fn is_final(problem: &Problem) -> bool {
    !matches!(problem.code, Code::Unavailable | Code::Internal)
}

/// Handles the pressed buttons.
pub(super) async fn decide_presses(account: &Account, user: &str) -> Result<(), RowError> {
    let person = account.person(user).await?;
    for press in &person.presses {
        let words = match decide_press(account, user, &person, press).await {
            Ok(words) => words.to_owned(),
            Err(problem) if is_final(&problem) => problem.detail,
            Err(_) => "This could not be stored. Press again in a moment.".to_owned(),
        };
        let event = format!("button: {words}");
        let handled = |person: &mut ChatPerson| person.presses.retain(|one| one.id != press.id);
        account.change_and_log(user, Some(&event), handled).await?;
        if let Err(error) = account.channel.acknowledge(&press.id, &words).await {
            tracing::debug!(channel = account.settings.id, %error, "a press was not acknowledged");
        }
    }
    Ok(())
}

async fn decide_press(
    account: &Account,
    user: &str,
    person: &ChatPerson,
    press: &ButtonPress,
) -> Result<&'static str, Problem> {
    let Some(shown) = person.shown.iter().find(|shown| shown.message == press.message) else {
        return Ok("This question is not open any more.");
    };
    let option = |at: usize| shown.options.as_ref().and_then(|options| options.get(at)).cloned();
    let (decision, words) = match (press.data.as_str(), shown.options.is_some()) {
        ("allow" | "deny", false) if !account.settings.may_approve => {
            return Ok("Only the owner decides this, in the inbox.");
        }
        ("allow", false) => (Decision::approve(), "Allowed once."),
        ("deny", false) => (Decision::Deny { note: None }, "Denied."),
        ("skip", true) => (Decision::Skip, "Skipped."),
        (data, true) => {
            let at = data.strip_prefix("opt").and_then(|at| at.parse().ok());
            let Some(text) = at.and_then(option) else { return Ok("There is no such answer.") };
            (Decision::Answer { text }, "Answered.")
        }
        (_, false) => return Ok("There is no such decision."),
    };
    // The button is not offered if the question could not be shown as a whole.
    if matches!(decision, Decision::Approve { .. }) && shown.text.ends_with(TOO_LONG) {
        return Ok("This question is too long to be decided here; decide it in the inbox.");
    }
    decide(account, user, person, shown, decision).await?;
    Ok(words)
}

async fn decide(
    account: &Account,
    user: &str,
    person: &ChatPerson,
    shown: &ShownQuestion,
    decision: Decision,
) -> Result<(), Problem> {
    let found = account.supervisor.stores().approvals.get(shown.approval).await?;
    let gone = || Problem::new(Code::Gone, "This question is not open any more.");
    let found: ApprovalWithDecision = found.ok_or_else(gone)?;
    let conversation = person.conversation.map(|id| id.to_string());
    if conversation.as_ref() != Some(&found.0.request.context.conversation) {
        return Err(gone());
    }
    let name = account.record_name(user);
    let decider = Decider {
        name: &name,
        sees_payloads: true,
        may_read_secrets: false,
        four_eyes: account.four_eyes,
    };
    let wanted = DecideBody::new(decision, shown.nonce.clone());
    decide_question(&account.supervisor, &decider, found, &wanted).await.map(drop)
}

/// Notes on sent questions that they are decided, or that their run is over.
pub(super) async fn refresh(account: &Account, user: &str) -> Result<(), RowError> {
    let person = account.person(user).await?;
    for shown in &person.shown {
        let found = account.supervisor.stores().approvals.get(shown.approval).await?;
        let end = match &found {
            None => Some("This question is gone.".to_owned()),
            Some((_, Some(record))) => Some(decided(record)),
            Some((waiting, None)) => over(account, &waiting.request).await?,
        };
        let Some(end) = end else { continue };
        if account.is_paused(user) {
            return Ok(());
        }
        let text = format!("{}\n\n→ {end}", shown.text);
        match account.channel.edit(&shown.room, &shown.message, &text).await {
            Err(error) if error.is_passing() => {
                account.pause(user, &error);
                return Ok(());
            }
            Ok(()) | Err(_) => {}
        }
        let answer = match &found {
            Some((_, Some(DecisionRecord { decision: Decision::Answer { text }, .. }))) => {
                Some(text.as_str())
            }
            _ => None,
        };
        account
            .change_and_log(user, Some("question closed"), |person| {
                person.shown.retain(|one| one.approval != shown.approval);
                // A daemon that was killed after it stored an answer finds its text here again.
                if person.waiting.first().is_some_and(|first| Some(first.text.as_str()) == answer) {
                    person.waiting.remove(0);
                }
            })
            .await?;
    }
    Ok(())
}

/// Returns the end of a question whose run has ended without a decision.
async fn over(account: &Account, request: &ApprovalRequest) -> Result<Option<String>, StoreError> {
    let Some(run) = request.run else { return Ok(None) };
    let stored = account.supervisor.stores().runs.run(run).await?;
    let is_over = stored.is_none_or(|stored| stored.status == RunStatus::Ended);
    Ok(is_over.then(|| "This is no longer needed.".to_owned()))
}

fn decided(record: &DecisionRecord) -> String {
    let what = match &record.decision {
        Decision::Approve { .. } => "Allowed",
        Decision::Edit { .. } => "Allowed with changes",
        Decision::Deny { .. } if record.is_expiry() => return "Not decided in time.".to_owned(),
        Decision::Deny { .. } => "Denied",
        Decision::Skip => "Skipped",
        Decision::Answer { .. } => "Answered",
    };
    let by: String = escape_to_line(&record.decided_by).chars().take(100).collect();
    format!("{what} by {by}.")
}

/// End of a question that could not be shown as a whole.
const TOO_LONG: &str =
    "[This is too long to be shown here. Read it in the inbox and decide it there.]";

fn question_of(account: &Account, request: &ApprovalRequest) -> Question {
    let max = account.channel.max_chars().saturating_sub(RESERVED);
    if let Some(asked) = &request.question {
        return model_question(asked, max);
    }
    let tool = escape_to_line(request.tool.as_str());
    if !account.settings.may_approve {
        let text = format!("A call of {tool} waits in the inbox for a decision of the owner.");
        return Question { text, buttons: Vec::new() };
    }
    let (text, is_whole) = approval_text(request, &tool, max);
    let button =
        |label: &str, data: &str| Button { label: label.to_owned(), data: data.to_owned() };
    let mut buttons = vec![button("Allow once", "allow"), button("Deny", "deny")];
    if !is_whole {
        buttons.remove(0);
    }
    Question { text, buttons }
}

/// Returns the text of a question about a call, and whether it is shown as a whole: a person can
/// allow only what they have seen.
fn approval_text(request: &ApprovalRequest, tool: &str, max: usize) -> (String, bool) {
    let mut text = format!("The assistant asks to run {tool}.");
    let summary = escape_to_line(&request.summary);
    if !summary.trim().is_empty() {
        let _ = write!(text, "\n\n{}", summary.trim());
    }
    let args = serde_json::to_string_pretty(&request.args).unwrap_or_default();
    let _ = write!(text, "\n\nArguments:\n{}", escape_controls(&args));
    let reasons: Vec<String> =
        request.reasons.iter().map(|reason| escape_to_line(&reason.text)).collect();
    let _ = write!(text, "\n\nIt is asked because: {}", reasons.join("; "));
    if text.encode_utf16().count() <= max {
        return (text, true);
    }
    let start: String = text.chars().take(max / 2).collect();
    (format!("{start} …\n\n{TOO_LONG}"), false)
}

fn model_question(asked: &UserQuestion, max: usize) -> Question {
    let mut text = escape_controls(&asked.question).into_owned();
    if !asked.context.trim().is_empty() {
        let _ = write!(text, "\n\n{}", escape_controls(asked.context.trim()));
    }
    let text: String = text.chars().take(max / 2).collect();
    let option = |(at, option): (usize, &String)| Button {
        label: escape_to_line(option).chars().take(60).collect(),
        data: format!("opt{at}"),
    };
    let mut buttons: Vec<Button> =
        asked.options.iter().take(MAX_OPTIONS).enumerate().map(option).collect();
    buttons.push(Button { label: "Skip".to_owned(), data: "skip".to_owned() });
    Question { text: format!("{text}\n\n(Write your answer, or choose.)"), buttons }
}
