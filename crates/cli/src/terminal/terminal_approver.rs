//! Asks the person at the terminal to approve a call.

use std::io;

use serde_json::Value;
use toolcrib_app::grant_from_decision;
use toolcrib_core::approval::PromptPermit;
use toolcrib_core::{
    ApprovalRequest, Approver, ApproverReply, BoxFuture, Clock as _, Decision, DecisionRecord,
    GrantScope, SystemClock,
};

use super::approval_prompt::render_approval;
use super::args_editor::{self, ArgsDraft};
use super::console::Console;
use super::key_decoder::Key;
use super::modal::Modal;
use crate::command::grant_preview::grant_text;
use crate::os_user;

/// Returns the keys of a prompt, without those that do not apply to the call.
fn menu(request: &ApprovalRequest) -> String {
    let run = if request.run.is_some() { " [r]: yes for this run," } else { "" };
    let has_conversation = !request.context.conversation.is_empty();
    let conversation = if has_conversation { " [c]: for this conversation," } else { "" };
    format!("Run it? [y]es once,{run}{conversation} [a]lways…, [n]o, [s]kip, [e]dit, [v]iew all: ")
}

/// Asks at this terminal, one question at a time.
#[derive(Clone, Default)]
pub(crate) struct TerminalApprover {
    console: Console,
}

impl TerminalApprover {
    pub(crate) fn new(console: Console) -> Self {
        Self { console }
    }
}

impl Approver for TerminalApprover {
    fn acquire_prompt(&self) -> BoxFuture<'_, Option<PromptPermit>> {
        Box::pin(async {
            match self.console.has_person() {
                true => Some(Box::new(self.console.lock_modal().await) as PromptPermit),
                false => None,
            }
        })
    }

    fn ask<'a>(&'a self, request: &'a ApprovalRequest) -> BoxFuture<'a, ApproverReply> {
        Box::pin(async move {
            // Without a terminal, no person can answer.
            if !self.console.has_person() {
                return ApproverReply::Unavailable;
            }
            match ask_decision(&self.console, request).await {
                Ok(decision) => ApproverReply::Decided { decision, by: os_user::current_user() },
                Err(_) => ApproverReply::Unavailable,
            }
        })
    }
}

/// Shows a call and reads the decision; the caller must hold the console's lock.
pub(crate) async fn ask_decision(
    console: &Console,
    request: &ApprovalRequest,
) -> io::Result<Decision> {
    let mut desk = console.open_modal()?;
    let card = render_approval(request, desk.paint(), false);
    desk.write(&card)?;
    let decision = ask(&mut desk, request).await?;
    desk.finish();
    Ok(decision)
}

async fn ask(desk: &mut Modal, request: &ApprovalRequest) -> io::Result<Decision> {
    let menu = menu(request);
    desk.write(&menu)?;
    loop {
        let Key::Char(c) = desk.read_key().await? else { continue };
        let c = c.to_ascii_lowercase();
        let word = match c {
            'y' => "yes, once",
            'r' if request.run.is_some() => "yes, for this run",
            'c' if !request.context.conversation.is_empty() => "yes, for this conversation",
            'a' => "always",
            'n' => "no",
            's' => "skipped",
            'e' => "edit",
            'v' => "view",
            _ => continue,
        };
        desk.write(&format!("{word}\n"))?;
        match c {
            'y' => return Ok(Decision::approve()),
            'r' => return Ok(Decision::approve_for(GrantScope::Run)),
            'c' => return Ok(Decision::approve_for(GrantScope::Conversation)),
            'a' => {
                if let Some(decision) = confirm_always(desk, request).await? {
                    return Ok(decision);
                }
            }
            's' => return Ok(Decision::Skip),
            'n' => {
                let note =
                    desk.read_line("Why? (for the model, may be empty): ", String::new(), None);
                let note = note.await?.map(|note| note.trim().to_owned());
                return Ok(Decision::Deny { note: note.filter(|note| !note.is_empty()) });
            }
            'e' => {
                if let Some(args) = edit_args(desk, &request.args).await? {
                    return Ok(Decision::Edit { args });
                }
            }
            _ => {
                let card = render_approval(request, desk.paint(), true);
                desk.write(&card)?;
            }
        }
        desk.write(&menu)?;
    }
}

/// Previews the calls that an approval for always would cover, and asks again; returns `None` if
/// the person declines.
async fn confirm_always(
    desk: &mut Modal,
    request: &ApprovalRequest,
) -> io::Result<Option<Decision>> {
    let decision = Decision::approve_for(GrantScope::Always);
    let record = DecisionRecord {
        decision: decision.clone(),
        decided_by: os_user::current_user(),
        decided_at: SystemClock.now_ms(),
    };
    let Some(grant) = grant_from_decision(request, &record) else {
        desk.write("  No remembered approval answers this question: such calls always ask.\n")?;
        return Ok(None);
    };
    desk.write(&format!(
        "  This will match {}.\n  `toolcrib approve always` limits it by arguments, and `toolcrib grant` takes it back.\nAlways? [y]es, [n]o: ",
        grant_text(&grant)
    ))?;
    loop {
        let Key::Char(c) = desk.read_key().await? else { continue };
        match c.to_ascii_lowercase() {
            'y' => {
                desk.write("yes\n")?;
                return Ok(Some(decision));
            }
            'n' => {
                desk.write("no\n")?;
                return Ok(None);
            }
            _ => {}
        }
    }
}

/// Lets the person edit the arguments; returns `None` if they are unchanged.
async fn edit_args(desk: &mut Modal, args: &Value) -> io::Result<Option<Value>> {
    let text = match args_editor::editor_command() {
        Some(editor) => edit_in_editor(desk, &editor, args).await,
        None => {
            let first = desk.skip_enter().await;
            Ok(desk.read_line("New arguments as JSON: ", String::new(), first).await?)
        }
    };
    let text = match text {
        Ok(text) => text.filter(|text| !text.trim().is_empty()),
        Err(error) => {
            desk.write(&format!("The editor does not work: {error}\n"))?;
            None
        }
    };
    let Some(text) = text else { return Ok(None) };
    match serde_json::from_str::<Value>(&text) {
        Ok(new) if new == *args => {
            desk.write("The arguments are unchanged.\n")?;
            Ok(None)
        }
        Ok(new) => Ok(Some(new)),
        Err(error) => {
            desk.write(&format!("That is not valid JSON: {error}\n"))?;
            Ok(None)
        }
    }
}

/// Opens a text in an editor; returns the edited text.
async fn edit_in_editor(
    desk: &mut Modal,
    editor: &str,
    args: &Value,
) -> io::Result<Option<String>> {
    let draft = ArgsDraft::from_args(args)?;
    let mut command = tokio::process::Command::from(draft.command(editor));
    command.kill_on_drop(true);
    let status = desk.suspend_during(async move { command.status().await }).await?;
    draft.text(status).map(Some)
}
