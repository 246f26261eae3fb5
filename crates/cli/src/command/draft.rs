//! `toolcrib draft`: messages that models write and a person sends.

use std::io::{IsTerminal as _, Write as _};

use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_ops::drafts::{
    self, CreateDraftRequest, DiscardDraftRequest, DraftDifferenceReply, DraftHistoryRequest,
    DraftReply, DraftVersionReply, EditDraftRequest, ListDraftsRequest, SendDraftRequest,
    ShowDraftRequest,
};
use toolcrib_ops::{OpContext, OpError};

use super::library_snapshot;
use crate::clap_args::{Draft, EditDraft, NewDraft, SendDraft, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::terminal::{escape_controls, escape_to_line, truncate_to_width};
use crate::{bootstrap, op_context, time_format};

/// Number of columns of a subject in the list.
const SUBJECT_WIDTH: usize = 40;

pub(crate) fn run(command: Draft, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Draft::List { open } => {
                print_list(&drafts::list(&ctx, ListDraftsRequest { open }).await?, json)
            }
            Draft::Show { draft, since } => {
                let request = ShowDraftRequest { draft, since };
                print_draft(&drafts::show(&ctx, request).await?, json)
            }
            Draft::History { draft } => {
                let request = DraftHistoryRequest { draft };
                print_history(&drafts::history(&ctx, request).await?, json)
            }
            Draft::New(NewDraft { kind, to, subject, body, account }) => {
                let request = CreateDraftRequest { kind, account, to, subject, body };
                print_draft(&drafts::create(&ctx, request).await?, json)
            }
            Draft::Edit(EditDraft { draft, to, subject, body }) => {
                let to = Some(to).filter(|to| !to.is_empty());
                let request = EditDraftRequest { draft, version: None, to, subject, body };
                print_draft(&drafts::edit(&ctx, request).await?, json)
            }
            Draft::Discard { draft } => {
                print_draft(&drafts::discard(&ctx, DiscardDraftRequest { draft }).await?, json)
            }
            Draft::Send(request) => send(&ctx, request, json).await,
        }
    })
}

async fn send(ctx: &OpContext<'_>, send: SendDraft, json: bool) -> Result<u8, Failure> {
    let SendDraft { draft, shown, again } = send;
    let show = |since| ShowDraftRequest { draft: draft.clone(), since };
    let version = match shown {
        Some(version) => version,
        None => confirmed(&drafts::show(ctx, show(None)).await?)?,
    };
    let request = SendDraftRequest { draft: draft.clone(), version, again };
    let sent = drafts::send(ctx, request).await;
    if let Err(OpError::Stale(_)) = &sent
        && let Ok(now) = drafts::show(ctx, show(Some(version))).await
    {
        output::eprint_line(&format!(
            "{}\nIt is now version {}.",
            changes_of(now.changed.as_deref().unwrap_or_default()),
            now.version
        ));
    }
    let sent = sent?;
    print_draft(&sent, json)?;
    Ok(u8::from(sent.status != "sent"))
}

/// Shows the draft and asks; returns the version that was shown.
fn confirmed(draft: &DraftReply) -> Result<i64, Failure> {
    if !std::io::stdin().is_terminal() {
        return Err(Failure::usage(format!(
            "there is no terminal to ask at; read the draft and pass `--shown {}`",
            draft.version
        )));
    }
    let mut shown = std::io::stderr().lock();
    write!(shown, "{}\n\nSend this? [y/N] ", text_of(draft))?;
    shown.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if !matches!(answer.trim(), "y" | "Y" | "yes") {
        return Err(Failure::usage("the draft was not sent".to_owned()));
    }
    Ok(draft.version)
}

fn print_list(all: &[DraftReply], json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no drafts");
        return Ok(0);
    }
    let head = ["DRAFT", "STATUS", "WRITTEN", "TO", "SUBJECT"].map(str::to_owned).to_vec();
    let row = |draft: &DraftReply| {
        let subject = escape_to_line(draft.subject.as_deref().unwrap_or_default());
        vec![
            draft.draft.clone(),
            draft.status.clone(),
            time_format::format_local(draft.created_at),
            truncate_to_width(&escape_to_line(&draft.to.join(", ")), SUBJECT_WIDTH),
            truncate_to_width(&subject, SUBJECT_WIDTH),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

fn print_history(all: &[DraftVersionReply], json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    let mut text = String::new();
    for one in all {
        let (at, by) = (time_format::format_local(one.at), escape_to_line(&one.by));
        text += &format!("version {}, {} by {by}, {at}\n", one.draft.version, one.change);
        text += &format!("Subject: {}\n", subject_of(&one.draft));
        let body = escape_controls(one.draft.body.as_deref().unwrap_or_default());
        text += &format!("\n{}\n\n", body.trim_end());
    }
    output::print_line(text.trim_end())?;
    Ok(0)
}

/// Renders the changes since a version, part by part.
fn changes_of(changed: &[DraftDifferenceReply]) -> String {
    if changed.is_empty() {
        return "Nothing that leaves changed since that version.".to_owned();
    }
    let part =
        |one: &DraftDifferenceReply| format!("{}:\n{}", one.part, escape_controls(&one.diff));
    let parts: Vec<String> = changed.iter().map(part).collect();
    format!("Changed since that version:\n{}", parts.join("\n"))
}

fn subject_of(draft: &DraftReply) -> String {
    escape_to_line(draft.subject.as_deref().unwrap_or_default())
}

fn print_draft(draft: &DraftReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(draft), true)?;
        return Ok(0);
    }
    output::print_line(&text_of(draft))?;
    Ok(0)
}

fn text_of(draft: &DraftReply) -> String {
    let mut text = format!("{}  {}  version {}\n", draft.draft, draft.status, draft.version);
    text += &format!("From: {}\n", escape_to_line(&draft.account));
    text += &format!("To: {}\n", escape_to_line(&draft.to.join(", ")));
    if let Some(letters) = &draft.unusual_letters {
        text += &format!("Warning: the recipients contain {}\n", escape_to_line(letters));
    }
    text += &format!("Subject: {}\n", escape_to_line(draft.subject.as_deref().unwrap_or_default()));
    for file in &draft.attachments {
        text += &format!("File: {} ({} bytes)\n", escape_to_line(&file.name), file.bytes);
    }
    if let Some(source) = &draft.untrusted {
        text += &format!("Written after the run read untrusted text: {}\n", escape_to_line(source));
    }
    text += &format!("\n{}\n", escape_controls(draft.body.as_deref().unwrap_or_default()));
    if let Some(changed) = &draft.changed {
        text += &format!("\n{}\n", changes_of(changed));
    }
    if let Some(note) = &draft.note {
        text += &format!("\n{}\n", escape_controls(note));
    }
    text.trim_end().to_owned()
}
