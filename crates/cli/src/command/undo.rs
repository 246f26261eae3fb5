//! `toolcrib undo` and `toolcrib redo`: undo changes that tools made in the workspace, or redo
//! them.
//!
//! COUNT counts entries of the list. Exactly the displayed changes are undone or redone.

use std::io::{self, IsTerminal as _};

use serde_json::{Value, json};
use toolcrib_core::{Clock as _, SystemClock};
use toolcrib_ops::OpContext;
use toolcrib_ops::calls;
use toolcrib_ops::changes::{
    self, Change, ChangeDone, ChangeRefused, Direction, FileAct, FilePreview, FilesPreview,
    ListChangesRequest, PreviewRequest, RedoRequest, UndoRequest,
};

use crate::clap_args::{Redo, TakeChanges, Undo, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::terminal::{self, Styler};
use crate::{bootstrap, json_document, op_context, time_format};

pub(crate) fn undo(command: &Undo, json: bool) -> Result<u8, Failure> {
    run(&command.take, json, Direction::Undo, command.run.as_ref(), command.conversation.as_ref())
}

pub(crate) fn redo(command: &Redo, json: bool) -> Result<u8, Failure> {
    run(&command.take, json, Direction::Redo, None, None)
}

fn run(
    command: &TakeChanges,
    json: bool,
    direction: Direction,
    run: Option<&String>,
    conversation: Option<&String>,
) -> Result<u8, Failure> {
    let world = WorkspaceArgs { root: command.root.clone(), ..WorkspaceArgs::default() };
    bootstrap::block_on(async {
        let toolcrib = bootstrap::build_for_person(&world).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        let mut request = ListChangesRequest::all(direction);
        if let Some(id) = run {
            request.run = Some(calls::resolve_run(&ctx.store, id).await?);
        }
        if let Some(id) = conversation {
            let id = calls::resolve_conversation(&ctx.store, id).await?;
            request.conversation = Some(id.to_string());
        }
        let is_filtered = run.is_some() || conversation.is_some();
        let mut listed = changes::list(&ctx, request).await?;
        if command.list {
            return list(&listed, json, direction);
        }
        let default = if is_filtered { usize::MAX } else { 1 };
        listed.truncate(command.count.map_or(default, usize::from));
        take(&ctx, command, json, direction, &listed).await
    })
}

/// The verb and its forms.
struct Words {
    verb: &'static str,
    done: &'static str,
}

fn words(direction: Direction) -> Words {
    match direction {
        Direction::Undo => Words { verb: "undo", done: "undone" },
        Direction::Redo => Words { verb: "redo", done: "redone" },
    }
}

fn list(listed: &[Change], json: bool, direction: Direction) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(listed), true)?;
        return Ok(0);
    }
    let Words { verb, done } = words(direction);
    let now = SystemClock.now_ms();
    for (place, change) in (1..).zip(listed) {
        let note = change.not_undoable.as_ref().map(|why| format!(" (cannot be {done}: {why})"));
        let age = time_format::format_age(change.at, now);
        let note = note.unwrap_or_default();
        output::print_line(&format!("{place:>3}  {age:>7} ago  {}{note}", change.summary))?;
    }
    if listed.is_empty() {
        output::warn(&format!("there is nothing to {verb}"), false);
    }
    Ok(0)
}

async fn take(
    ctx: &OpContext<'_>,
    command: &TakeChanges,
    json: bool,
    direction: Direction,
    chosen: &[Change],
) -> Result<u8, Failure> {
    let Words { verb, done } = words(direction);
    let ids: Vec<u64> = chosen.iter().map(|change| change.id).collect();
    if command.dry_run || (chosen.len() > 1 && !command.yes) {
        let request = PreviewRequest { direction, changes: ids.clone() };
        let preview = match chosen {
            [] => FilesPreview { files: Vec::new() },
            _ => changes::preview(ctx, request).await?,
        };
        if command.dry_run {
            return dry_run(direction, chosen, &preview, json);
        }
        if !is_confirmed(direction, chosen, &preview.files)? {
            return Err(Failure { code: 5, message: format!("nothing was {done}") });
        }
    }
    let (taken, refused, document) = take_now(ctx, direction, ids, command.force).await?;
    if json {
        output::print_json(&document, true)?;
    } else {
        for one in &taken {
            let did = one.did.join(", ");
            let did = if did.is_empty() { "nothing to do".to_owned() } else { did };
            output::print_line(&format!("{done}: {} ({did})", one.change.summary))?;
        }
        if taken.is_empty() && refused.is_none() {
            output::warn(&format!("there is nothing to {verb}"), false);
        }
    }
    match refused {
        Some(refused) => Err(Failure::run(format!(
            "{} was not {done}: {} (--force overwrites it)",
            refused.change.summary, refused.why
        ))),
        None => Ok(0),
    }
}

/// What was taken, the change that blocks the others, and both as the document of the operation.
async fn take_now(
    ctx: &OpContext<'_>,
    direction: Direction,
    ids: Vec<u64>,
    force: bool,
) -> Result<(Vec<ChangeDone>, Option<ChangeRefused>, Value), Failure> {
    let Words { done, .. } = words(direction);
    Ok(match direction {
        _ if ids.is_empty() => (Vec::new(), None, json!({done: [], "refused": null})),
        Direction::Undo => {
            let request = UndoRequest { changes: Some(ids), force, ..UndoRequest::default() };
            let reply = changes::undo(ctx, request).await?;
            let document = json!(reply);
            (reply.undone, reply.refused, document)
        }
        Direction::Redo => {
            let reply = changes::redo(ctx, RedoRequest { changes: ids, force }).await?;
            let document = json!(reply);
            (reply.redone, reply.refused, document)
        }
    })
}

fn dry_run(
    direction: Direction,
    chosen: &[Change],
    preview: &FilesPreview,
    json: bool,
) -> Result<u8, Failure> {
    if json {
        let own = json!({ "changes": chosen });
        output::print_json(&json_document::with_members(preview, own), true)?;
    } else if chosen.is_empty() {
        output::warn(&format!("there is nothing to {}", words(direction).verb), false);
    } else {
        output::print_line(&files_text(&preview.files, output_styler(&io::stdout())))?;
    }
    Ok(0)
}

/// Shows several changes and asks whether to undo or redo all of them.
///
/// # Errors
/// Exit code 2 if no person can be asked.
fn is_confirmed(
    direction: Direction,
    chosen: &[Change],
    files: &[FilePreview],
) -> Result<bool, Failure> {
    let Words { verb, done } = words(direction);
    let (count, order) = match direction {
        Direction::Undo => (chosen.len(), "newest first"),
        Direction::Redo => (chosen.len(), "last undone first"),
    };
    output::eprint_line(&format!("toolcrib: these {count} changes would be {done}, {order}:"));
    for (place, change) in (1..).zip(chosen) {
        output::eprint_line(&format!("{place:>5}  {}", change.summary));
    }
    output::eprint_line(files_text(files, output_styler(&io::stderr())).trim_end());
    if !io::stdin().is_terminal() {
        let message = format!("nothing was {done}: --yes {verb}es several changes unasked");
        return Err(Failure::usage(message));
    }
    output::eprint_prompt(&format!("toolcrib: {verb} these {count} changes? [y/N] "));
    let mut answer = String::new();
    io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn output_styler(stream: &impl io::IsTerminal) -> Styler {
    if stream.is_terminal() { Styler::from_env() } else { Styler::default() }
}

/// Renders the effect on each file, with its diff.
fn files_text(files: &[FilePreview], paint: Styler) -> String {
    let mut text = String::new();
    for file in files {
        let act = match file.act {
            FileAct::Remove => "remove",
            FileAct::Restore => "restore",
            FileAct::Change => "change",
            FileAct::Move => "move",
        };
        let head = match &file.from {
            Some(from) => format!("{act} {from} to {}", file.path),
            None => format!("{act} {}", file.path),
        };
        text += &format!("{}\n", paint.bold(&head));
        // The first two lines repeat the path.
        for line in file.diff.iter().flat_map(|diff| diff.lines().skip(2)) {
            text += &format!("{}\n", terminal::style_diff_line(line, paint));
        }
    }
    text
}
