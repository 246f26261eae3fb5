//! The commands of a chat. Their texts are for terminals and pipes, and safe to display.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use toolcrib_agent::events::ToolState;
use toolcrib_app::SwitchTarget;
use toolcrib_core::{
    ConversationId, ModelCapabilities, RawArgs, Risk, StoredMessage, SwitchState, View, ViewRequest,
};
use toolcrib_providers::conversation::{Message, UserKind, UserMessage};

use super::slash_command::{COMMANDS, Command, help};
use super::{Chat, lock};
use crate::command::switches;
use crate::output::Failure;
use crate::session::{CallRow, check_continuable, format_ended};
use crate::stage_trace;
use crate::terminal::{Styler, escape_controls, escape_to_line};

/// The result of a command.
pub(super) enum CommandOutcome {
    /// Finished lines.
    Says(String),
    /// The chat is over.
    Leave,
}

impl Chat {
    /// Runs a command.
    ///
    /// # Errors
    /// The reason why it cannot be done; nothing is changed in that case.
    pub(super) async fn run_command(
        &mut self,
        command: Command,
    ) -> Result<CommandOutcome, Failure> {
        let text = match command {
            Command::Exit => return Ok(CommandOutcome::Leave),
            Command::Help => help(&self.skills()),
            Command::Tools => self.tools(),
            Command::Enable(tool) => self.switch_tool(tool, SwitchState::On).await?,
            Command::Disable(tool) => self.switch_tool(tool, SwitchState::Off).await?,
            Command::Usage => format!("{}\n", lock(&self.record).used.summary()),
            Command::Stop => "Nothing runs.\n".to_owned(),
            Command::Expand(number) => self.expand(number)?,
            Command::Explain(number) => self.explain(number)?,
            Command::New => self.start_new_conversation(),
            Command::Agent(None) => self.agents(),
            Command::Agent(Some(name)) => self.use_agent(&name).await?,
            Command::Model(None) => format!("{}\n", self.model_words()),
            Command::Model(Some(name)) => {
                let warnings = self.session.use_model(&name).await?;
                format!("Model: {}\n{}", self.model_words(), join_lines(&warnings))
            }
            Command::Workspace(None) => format!("{}\n", self.workspace_words()),
            Command::Workspace(Some(path)) => self.use_workspace(&path).await?,
        };
        Ok(CommandOutcome::Says(text))
    }

    /// Returns the names that start a message when they follow a slash.
    pub(super) fn skills(&self) -> Vec<String> {
        self.session.runner.library().skills.iter().map(|skill| skill.name.clone()).collect()
    }

    /// Returns the names of commands and skills.
    pub(super) fn names(&self) -> Vec<String> {
        // A command has precedence over a skill with the same name.
        let commands = COMMANDS.iter().map(|(name, ..)| (*name).to_owned());
        let names: BTreeSet<String> = commands.chain(self.skills()).collect();
        names.into_iter().collect()
    }

    /// Returns the banner above the first prompt.
    pub(super) fn banner(&self, messages: usize) -> String {
        let paint = self.session.console.paint();
        let agent = paint.bold(&escape_to_line(&self.session.agent.name));
        let mut text = format!(
            "{agent} · {} · {}\n{}\n",
            self.model_words(),
            self.workspace_words(),
            paint.dim("/help shows the commands, Ctrl-D leaves")
        );
        if messages > 0 {
            let id = self.conversation;
            text += &format!("{}\n", paint.dim(&format!("goes on with {id}, {messages} messages")));
        }
        text
    }

    /// Describes the model that answers, and whether it replays a file.
    pub(super) fn model_words(&self) -> String {
        let Some(model) = self.session.models.first() else { return "no model".to_owned() };
        let info = model.info();
        match info.scripted {
            true => {
                format!(
                    "{} (scripted: replays a file, no model is asked)",
                    escape_to_line(&info.model)
                )
            }
            false => escape_to_line(&format!("{}/{}", info.provider, info.model)),
        }
    }

    fn workspace_words(&self) -> String {
        let workspace = self.session.setup.workspace();
        workspace.map_or_else(
            || "no workspace".to_owned(),
            |path| escape_to_line(&path.display().to_string()),
        )
    }

    fn start_new_conversation(&mut self) -> String {
        // The old conversation gets no further messages from here on.
        self.session.toolcrib.end_conversation("", &self.conversation.to_string());
        self.conversation = ConversationId::fresh();
        *lock(&self.record) = super::ChatRecord::default();
        "A new conversation.\n".to_owned()
    }

    fn agents(&self) -> String {
        let library = self.session.runner.library();
        let row = |name: &str, about: &str| {
            let mark = if name == self.session.agent.name { "*" } else { " " };
            format!("{mark} {:<24} {}\n", escape_to_line(name), escape_to_line(about))
        };
        library.agents.iter().map(|agent| row(&agent.name, &agent.description)).collect()
    }

    async fn use_agent(&mut self, name: &str) -> Result<String, Failure> {
        let warnings = self.session.use_agent(name).await?;
        let note = format!("Switched to {}", self.session.agent.name);
        self.remark(&note).await?;
        Ok(format!("{}\n{}", escape_controls(&note), join_lines(&warnings)))
    }

    /// Adds a note to a conversation that has begun, so that the model knows which agent or model
    /// wrote the older answers. A waiting run in it is not changed, because it must continue from
    /// the newest message.
    async fn remark(&self, text: &str) -> Result<(), Failure> {
        let store = self.session.runner.store();
        if check_continuable(&self.session.stores, self.conversation).await.is_err() {
            return Ok(());
        }
        let seq = store.messages(self.conversation, 0).await?.len() as u64;
        let message =
            UserMessage { text: text.to_owned(), kind: UserKind::Guard, ..UserMessage::default() };
        let body = serde_json::to_value(Message::User(message))
            .map_err(|error| Failure::run(error.to_string()))?;
        let created_at = toolcrib_core::Clock::now_ms(&toolcrib_core::SystemClock);
        let message = StoredMessage { seq, run: None, body, created_at };
        Ok(store.put_messages(self.conversation, vec![message]).await?)
    }

    async fn use_workspace(&mut self, path: &Path) -> Result<String, Failure> {
        let mut session = self.session.with_workspace(path).await?;
        let warnings = std::mem::take(&mut session.warnings);
        self.session = session;
        Ok(format!("Workspace: {}\n{}", self.workspace_words(), join_lines(&warnings)))
    }

    fn tools(&self) -> String {
        let model = self.session.models.first().map(|model| model.info());
        let ability = ModelCapabilities {
            provider: model.map(|info| info.format.to_string()).unwrap_or_default(),
            allow: model
                .filter(|info| info.on_device)
                .map(|_| self.session.toolcrib.on_device_tools()),
        };
        let request = ViewRequest {
            role: self.session.agent.role.clone(),
            agent: self.session.agent.tools.clone(),
            model: ability,
            ..ViewRequest::default()
        };
        tools(&self.session.toolcrib.catalog().view(&Arc::new(request)))
    }

    /// Changes the switch of a tool, as `toolcrib tool enable` and `disable` do.
    async fn switch_tool(&self, tool: String, state: SwitchState) -> Result<String, Failure> {
        let toolcrib = &self.session.toolcrib;
        let change =
            switches::change_switch(toolcrib, SwitchTarget::Tool(tool), Some(state)).await?;
        // If a daemon set it, this process still has to read it.
        let read = toolcrib.refresh_switches().await;
        read.map_err(|error| Failure::run(error.to_string()))?;
        let name = match change.target {
            SwitchTarget::Tool(name) => name,
            other => other.name(),
        };
        Ok(format!("{} is {state} from the next step on.\n", escape_to_line(&name)))
    }

    fn expand(&self, number: Option<usize>) -> Result<String, Failure> {
        let paint = self.session.console.paint();
        Ok(render_call(&self.call(number)?, paint))
    }

    fn explain(&self, number: Option<usize>) -> Result<String, Failure> {
        let row = self.call(number)?;
        let title = format!("#{} {}", row.number, escape_to_line(&row.tool));
        match &row.report {
            Some(report) => Ok(format!("{}\n", stage_trace::format_stages(&title, &report.stages))),
            None => Err(Failure::usage(format!("{title} has no report: it has not ended here"))),
        }
    }

    fn call(&self, number: Option<usize>) -> Result<CallRow, Failure> {
        let record = lock(&self.record);
        record.calls.find(number).cloned().ok_or_else(|| match record.calls.count() {
            0 => Failure::usage("there was no call yet"),
            count => Failure::usage(format!("there were {count} calls so far")),
        })
    }
}

fn join_lines(warnings: &[String]) -> String {
    warnings.iter().map(|warning| format!("· {}\n", escape_controls(warning))).collect()
}

fn tools(view: &View) -> String {
    let mut text = format!("{} tools\n", view.tools.len());
    for entry in &view.tools {
        let spec = entry.spec();
        let risk = match spec.risk {
            Risk::Safe => "safe",
            Risk::High => "high",
            Risk::Critical => "critical",
        };
        text += &format!(
            "  {:<20} {risk:<9} {}\n",
            escape_to_line(spec.name.as_str()),
            escape_to_line(&spec.title)
        );
    }
    if !view.excluded.is_empty() {
        text += &format!("{} more are not given to the model\n", view.excluded.len());
    }
    for excluded in &view.excluded {
        let why = excluded.reason.to_string();
        text +=
            &format!("  {:<20} {}\n", escape_to_line(excluded.name.as_str()), escape_to_line(&why));
    }
    text
}

/// Renders all information about a call.
fn render_call(row: &CallRow, paint: Styler) -> String {
    let head = format_ended(row, paint, None).unwrap_or_else(|| row.label(paint));
    let head = format!("#{} {head}", row.number);
    let args = match &row.args {
        RawArgs::Value(value) => format!("{value:#}"),
        RawArgs::Text(text) => match serde_json::from_str::<Value>(text) {
            Ok(value) => format!("{value:#}"),
            Err(_) => text.clone(),
        },
        RawArgs::Broken(why) | RawArgs::Sealed(why) => why.clone(),
    };
    let result = match &row.end {
        Some(
            ToolState::OutputAvailable { output, .. }
            | ToolState::OutputError { output, .. }
            | ToolState::OutputDenied { output, .. },
        ) => result(output),
        _ => "still running".to_owned(),
    };
    let part = |name: &str, text: &str| {
        format!("{}\n{}\n", paint.dim(name), escape_controls(text.trim_end()))
    };
    format!("{head}\n{}{}", part("arguments", &args), part("result", &result))
}

/// Renders text unchanged, and other values as JSON.
fn result(output: &Value) -> String {
    match output.get("result").or_else(|| output.get("message")) {
        Some(Value::String(text)) => text.clone(),
        Some(other) => format!("{other:#}"),
        None => format!("{output:#}"),
    }
}
