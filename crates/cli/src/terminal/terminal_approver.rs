//! Asks the person at the terminal about a call.

use std::io;

use serde_json::Value;
use toolcrib_app::core::approval::PromptPermit;
use toolcrib_app::core::{
    ApprovalRequest, Approver, ApproverReply, BoxFuture, Decision, GrantScope,
};

use super::approval_prompt::render_approval;
use super::args_editor::{self, ArgsDraft};
use super::console::Console;
use super::key_decoder::Key;
use super::modal::Modal;
use crate::os_user;

const MENU: &str = "Run it? [y]es once, [r]: yes for this run, [n]o, [s]kip, [e]dit, [v]iew all: ";

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
            // Without a terminal there is no person to answer.
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

/// Shows a call and reads what becomes of it; the caller has the console's seat.
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
    desk.write(MENU)?;
    loop {
        let Key::Char(c) = desk.read_key().await? else { continue };
        let c = c.to_ascii_lowercase();
        let word = match c {
            'y' => "yes, once",
            'r' => "yes, for this run",
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
        desk.write(MENU)?;
    }
}

/// The arguments as the person wants them; `None` = as they were.
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
            desk.write(&format!("That is no JSON: {error}\n"))?;
            Ok(None)
        }
    }
}

/// The text that the person leaves in an editor.
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
