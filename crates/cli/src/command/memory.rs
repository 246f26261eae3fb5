//! `toolcrib memory`: shows and changes the memories that models store about a person.

use std::path::Path;

use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_ops::OpContext;
use toolcrib_ops::memories::{
    self, EditMemoryRequest, ExportMemoriesRequest, ForgetMemoryRequest, ImportMemoriesRequest,
    ListMemoriesRequest, MemoryReply, ShowMemoryRequest, UndoMemoryRequest,
};

use super::library_snapshot;
use crate::clap_args::{Memory, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal, time_format};

/// Number of columns of a text in the list.
const TEXT_WIDTH: usize = 70;

pub(crate) fn run(command: Memory, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Memory::List { query } => list(&ctx, query, json).await,
            Memory::Show { key } => {
                let memory = memories::show(&ctx, ShowMemoryRequest { key }).await?;
                print_memory(&memory, json)
            }
            Memory::Edit { key, text, category } => {
                let content = match text {
                    Some(text) => text,
                    None => stdin_text()?,
                };
                let category = category.map(Into::into);
                let request = EditMemoryRequest { key, content, category };
                print_memory(&memories::edit(&ctx, request).await?, json)
            }
            Memory::Forget { key } => forget(&ctx, key, json).await,
            Memory::Undo { key } => undo(&ctx, key, json).await,
            Memory::Export { file } => export(&ctx, file.as_deref()).await,
            Memory::Import { file, replace } => import(&ctx, file.as_deref(), replace, json).await,
        }
    })
}

async fn list(ctx: &OpContext<'_>, query: Option<String>, json: bool) -> Result<u8, Failure> {
    let all = memories::list(ctx, ListMemoriesRequest { query }).await?;
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no such memory; `toolcrib memory edit KEY` adds one");
        return Ok(0);
    }
    let head = ["KEY", "CATEGORY", "HITS", "CHANGED", "TEXT"].map(str::to_owned).to_vec();
    let row = |memory: &MemoryReply| {
        let mark = if memory.untrusted.is_some() { "[untrusted] " } else { "" };
        let text = format!("{mark}{}", memory.content.as_deref().unwrap_or_default());
        vec![
            terminal::escape_to_line(&memory.key),
            memory.category.to_lowercase(),
            memory.hit_count.to_string(),
            time_format::format_local(memory.updated_at),
            terminal::truncate_to_width(&terminal::escape_to_line(&text), TEXT_WIDTH),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

fn print_memory(memory: &MemoryReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(memory), true)?;
        return Ok(0);
    }
    let mut text = format!(
        "{}  {}, confirmed {}\n",
        terminal::escape_to_line(&memory.key),
        memory.category.to_lowercase(),
        if memory.hit_count == 1 {
            "once".to_owned()
        } else {
            format!("{} times", memory.hit_count)
        },
    );
    let from = [memory.run.as_ref(), memory.call.as_ref()];
    let from: String = from.into_iter().flatten().map(|id| format!(", {id}")).collect();
    text += &format!(
        "written by {}{from}, {}\n",
        terminal::escape_to_line(&memory.by),
        time_format::format_local(memory.updated_at)
    );
    if let Some(source) = &memory.untrusted {
        text += &format!(
            "from outside: {}; it is in no system prompt until you write it yourself\n",
            terminal::escape_to_line(source)
        );
    }
    text += &format!(
        "\n{}\n",
        terminal::escape_controls(memory.content.as_deref().unwrap_or_default())
    );
    output::print_line(&text)?;
    Ok(0)
}

async fn forget(ctx: &OpContext<'_>, key: String, json: bool) -> Result<u8, Failure> {
    let gone = memories::forget(ctx, ForgetMemoryRequest { key }).await?;
    if json {
        output::print_json(&json!({ "forgotten": gone }), true)?;
    } else {
        let key = terminal::escape_to_line(&gone.key);
        output::eprint_line(&format!(
            "toolcrib: {key} is forgotten; `toolcrib memory undo` takes it back"
        ));
    }
    Ok(0)
}

async fn undo(ctx: &OpContext<'_>, key: Option<String>, json: bool) -> Result<u8, Failure> {
    let undone = memories::undo(ctx, UndoMemoryRequest { key }).await?;
    if json {
        output::print_json(&json!(undone), true)?;
    } else {
        let key = terminal::escape_to_line(&undone.key);
        let now = if undone.memory.is_some() { "is as it was before" } else { "is gone again" };
        let instruction = if undone.instruction_removed {
            ", and its instruction is out of the system prompt"
        } else {
            ""
        };
        output::eprint_line(&format!("toolcrib: {key} {now}{instruction}"));
    }
    Ok(0)
}

async fn export(ctx: &OpContext<'_>, file: Option<&Path>) -> Result<u8, Failure> {
    let memories = memories::export(ctx, ExportMemoriesRequest).await?;
    let text = serde_json::to_string_pretty(&memories)
        .map_err(|error| Failure::run(format!("the memories cannot be written: {error}")))?;
    match file.filter(|file| *file != Path::new("-")) {
        None => output::print_line(&text)?,
        Some(file) => std::fs::write(file, format!("{text}\n")).map_err(|error| {
            Failure::run(format!("{} cannot be written: {error}", file.display()))
        })?,
    }
    Ok(0)
}

async fn import(
    ctx: &OpContext<'_>,
    file: Option<&Path>,
    replace: bool,
    json: bool,
) -> Result<u8, Failure> {
    let text = match file.filter(|file| *file != Path::new("-")) {
        None => stdin_text()?,
        Some(file) => std::fs::read_to_string(file).map_err(|error| {
            Failure::usage(format!("{} cannot be read: {error}", file.display()))
        })?,
    };
    let file = serde_json::from_str(&text)
        .map_err(|error| Failure::usage(format!("this is not a file of memories: {error}")))?;
    let done = memories::import(ctx, ImportMemoriesRequest { file, replace }).await?;
    if json {
        output::print_json(&json!(done), true)?;
    } else {
        output::eprint_line(&format!(
            "toolcrib: {} added, {} replaced, {} unchanged, {} removed",
            done.added, done.replaced, done.unchanged, done.removed
        ));
    }
    Ok(0)
}

fn stdin_text() -> Result<String, Failure> {
    let bytes = output::read_stdin()
        .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8"))
}
