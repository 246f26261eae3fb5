//! `toolcrib prompt`: the system prompt of models, and the person's own part of it.

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::runner::PromptPreview;
use toolcrib_core::ConversationId;
use toolcrib_ops::custom_instructions::{
    self, ChangeInstructionsRequest, InstructionsHistoryRequest, InstructionsReply,
    ShowInstructionsRequest,
};

use super::library_snapshot;
use super::run::runner_failure;
use crate::clap_args::{Prompt, PromptShow, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::session::{self, SessionOptions};
use crate::terminal::{escape_controls, escape_to_line};
use crate::{bootstrap, op_context, time_format};

pub(crate) fn run(command: Prompt, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let request = match command {
            Prompt::Show(show) => return show_prompt(&show, json).await,
            Prompt::Instructions | Prompt::History => None,
            Prompt::Set { text: Some(ref text) } => {
                Some(ChangeInstructionsRequest::Set(text.clone()))
            }
            Prompt::Set { text: None } => Some(ChangeInstructionsRequest::Set(stdin_text()?)),
            Prompt::Clear => Some(ChangeInstructionsRequest::Clear),
            Prompt::Undo => Some(ChangeInstructionsRequest::Undo),
        };
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match (request, command) {
            (Some(request), _) => {
                print_instructions(&custom_instructions::change(&ctx, request).await?, json)
            }
            (None, Prompt::History) => {
                let changes =
                    custom_instructions::history(&ctx, InstructionsHistoryRequest).await?;
                if json {
                    output::print_json(&json!(changes), true)?;
                    return Ok(0);
                }
                for change in &changes {
                    let at = time_format::format_local(change.at);
                    let by = escape_to_line(&change.by);
                    let before = change.before.as_deref().unwrap_or("(none)");
                    let before = escape_controls(before);
                    output::print_line(&format!(
                        "{at}  {} ({by}); before:\n{before}\n",
                        change.change
                    ))?;
                }
                Ok(0)
            }
            (None, _) => print_instructions(
                &custom_instructions::show(&ctx, ShowInstructionsRequest).await?,
                json,
            ),
        }
    })
}

fn print_instructions(own: &InstructionsReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(own), true)?;
        return Ok(0);
    }
    match &own.text {
        Some(text) => output::print_line(&escape_controls(text))?,
        None => output::eprint_line("toolcrib: there is no text; `toolcrib prompt set` writes one"),
    }
    Ok(0)
}

async fn show_prompt(show: &PromptShow, json: bool) -> Result<u8, Failure> {
    let options = SessionOptions::at_terminal(None);
    let session = session::open_session(&show.model_args, &show.workspace_args, options).await?;
    session.warnings.iter().for_each(|warning| output::warn(warning, json));
    let start = session.start("", ConversationId::fresh());
    let preview = session.runner.preview(&start).await.map_err(runner_failure)?;
    if json {
        output::print_json(&to_json(&preview), true)?;
        return Ok(0);
    }
    for (_, text, _) in &preview.parts {
        output::print_line(&format!("{}\n", escape_controls(text)))?;
    }
    print_tokens(&preview);
    Ok(0)
}

fn to_json(preview: &PromptPreview) -> Value {
    let parts = preview.parts.iter().map(
        |(name, text, tokens)| json!({"part": name, "former_name": former_name(name), "tokens": tokens, "chars": text.chars().count(), "text": text}),
    );
    let tools = preview.tools.iter().map(|(tool, tokens)| json!({"tool": tool, "tokens": tokens}));
    let texts: Vec<&str> = preview.parts.iter().map(|(_, text, _)| text.as_str()).collect();
    json!({
        "model": preview.model,
        "system": texts.join("\n\n") + "\n",
        "parts": parts.collect::<Vec<_>>(),
        "tools": tools.collect::<Vec<_>>(),
        "declaration_tokens": preview.declaration_tokens,
        "left_out": preview.left_out,
        "window": preview.window,
    })
}

/// The name that a part had in 0.1, for programs that look for it; to be removed in 0.3.
fn former_name(part: &str) -> Option<&'static str> {
    (part == "custom instructions").then_some("soul")
}

/// The table of tokens, beside the prompt itself.
fn print_tokens(preview: &PromptPreview) {
    let head = ["PART", "TOKENS", "CHARACTERS"].map(str::to_owned).to_vec();
    let row = |(name, text, tokens): &(&'static str, String, u64)| {
        vec![(*name).to_owned(), tokens.to_string(), text.chars().count().to_string()]
    };
    let prompt: u64 = preview.parts.iter().map(|(_, _, tokens)| tokens).sum();
    let chars: usize = preview.parts.iter().map(|(_, text, _)| text.chars().count()).sum();
    let sum = vec!["system prompt".to_owned(), prompt.to_string(), chars.to_string()];
    let tools = format!("{} definitions", preview.tools.len());
    let tools = vec![tools, preview.declaration_tokens.to_string(), String::new()];
    let rows: Vec<_> =
        std::iter::once(head).chain(preview.parts.iter().map(row)).chain([sum, tools]).collect();
    output::eprint_line(&library_snapshot::table(&rows));
    let total = prompt + preview.declaration_tokens;
    let more = match preview.left_out {
        0 => String::new(),
        count => format!("; {count} further tools can be found"),
    };
    output::eprint_line(&format!(
        "toolcrib: about {total} of {} tokens for {}{more}",
        preview.window,
        escape_to_line(&preview.model)
    ));
}

fn stdin_text() -> Result<String, Failure> {
    let bytes = output::read_stdin()
        .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    String::from_utf8(bytes).map_err(|_| Failure::usage("standard input is not UTF-8"))
}
