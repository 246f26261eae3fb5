//! The tool `load_skill`: returns the instructions of a skill to the model.

use std::fmt::Write as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    CallCtx, Effect, Example, Handler, Risk, Tier, Tool, ToolError, ToolName, ToolOutput, ToolSpec,
    Trust, TypedHandler, defaults, remote_name, schema,
};

use super::loader::LibraryHandle;
use super::location::{Location, Scope};
use super::skill::{Skill, SkillBody};

/// Its name.
pub const NAME: &str = "load_skill";

/// Creates the tool for a library. Its structured result, `{skill, version, allowed_tools}`,
/// contains the limit that the loop enforces from then on; see [`super::skill_limit`].
#[must_use]
pub fn handler(library: LibraryHandle) -> Arc<dyn Handler> {
    TypedHandler::handler(LoadSkill { library })
}

struct LoadSkill {
    library: LibraryHandle,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Args {
    /// Name of the skill or kit, from their lists.
    name: String,
    /// One of the files that the skill lists: its text in place of the instructions.
    #[serde(default)]
    file: Option<String>,
}

impl Tool for LoadSkill {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        // The name is valid (tested); the fallback only avoids a panic.
        let name = ToolName::local(NAME).unwrap_or_else(|_| remote_name("builtin", NAME));
        let mut spec = ToolSpec::new(
            name,
            "Load the instructions of a skill or the steps of a tool kit, or one of a skill's files. Do it before you begin a task that one in the list fits.",
            schema::for_type::<Args>(),
        );
        spec.title = "Load skill".to_owned();
        spec.parameter_aliases = vec![("skill".to_owned(), "name".to_owned())];
        spec.tier = Tier::Innate;
        spec.risk = Risk::Safe;
        spec.effect = Effect::Read;
        spec.timeout = defaults::TIMEOUT_SIMPLE;
        spec.trust = Trust::Workspace;
        spec.group = Some("skills".to_owned());
        spec.examples = vec![Example {
            need: "Help me write a skill".to_owned(),
            args: json!({"name": "create-skill"}),
        }];
        spec
    }

    async fn call(&self, _: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let library = self.library.current();
        let name = args.name.trim().trim_start_matches('/');
        if let Some(kit) = library.kits.iter().find(|kit| kit.name == name) {
            let place = kit.location.to_string();
            return Ok(ToolOutput::text(kit.to_text()).with_origin(Trust::Workspace, place));
        }
        if library.skills_off.iter().any(|skill| skill.name == name) {
            return Err(ToolError::validation(format!(
                "The skill \"{name}\" is switched off. Go on without it."
            )));
        }
        let skill = library.skill(name).map_err(|unknown| {
            let known: Vec<&str> = library.skills.iter().map(|s| s.name.as_str()).collect();
            let next = match (unknown.near.is_empty(), known.is_empty()) {
                (false, _) => format!("Did you mean {}?", unknown.near.join(", ")),
                (true, false) => format!("The skills are: {}.", known.join(", ")),
                (true, true) => "There are no skills; continue without one.".to_owned(),
            };
            let name = super::suggest::quote_name(name);
            ToolError::validation(format!("There is no skill \"{name}\". {next}"))
        })?;
        match args.file {
            None => Ok(output(&read(skill.clone()).await?)),
            Some(file) => read_file(skill.clone(), file).await,
        }
    }
}

/// Reads the skill again, on a blocking thread.
async fn read(skill: Skill) -> Result<SkillBody, ToolError> {
    let name = skill.name.clone();
    let read = tokio::task::spawn_blocking(move || skill.body()).await;
    let fault = match read {
        Ok(Ok(body)) => return Ok(body),
        Ok(Err(fault)) => fault,
        Err(error) => error.to_string(),
    };
    Err(ToolError::execution(format!(
        "The skill \"{name}\" cannot be loaded now: its file is missing or invalid. Tell the user, and continue without it."
    ))
    .with_detail(fault))
}

/// Reads one of a skill's files, on a blocking thread.
async fn read_file(skill: Skill, asked: String) -> Result<ToolOutput, ToolError> {
    let body = read(skill).await?;
    let name = body.skill.name.clone();
    let file = asked.trim().trim_start_matches("./");
    let Some((folder, file)) =
        body.skill.folder().zip(body.files.iter().find(|listed| *listed == file))
    else {
        let next = if body.files.is_empty() {
            "It has no files; its instructions are all there is.".to_owned()
        } else {
            format!("Its files are: {}.", body.files.join(", "))
        };
        let file = super::suggest::quote_name(file);
        let text = format!("The skill \"{name}\" lists no file \"{file}\". {next}");
        return Err(ToolError::validation(text));
    };
    let (folder, path) = (folder.to_owned(), folder.join(file));
    let read = {
        let path = path.clone();
        tokio::task::spawn_blocking(move || super::bounded_file::read(&folder, &path)).await
    };
    match read.unwrap_or_else(|error| Err(error.to_string())) {
        Ok(text) => {
            let text = format!("# File {file} of the skill {name}\n\n{text}");
            Ok(of(&body.skill, text, path.display().to_string()))
        }
        Err(fault) => Err(ToolError::execution(format!(
            "The file \"{file}\" of the skill \"{name}\" {fault}. Go on without it."
        ))),
    }
}

fn output(body: &SkillBody) -> ToolOutput {
    let skill = &body.skill;
    let mut text =
        format!("# Skill {} (version {})\n\n{}\n", skill.name, skill.version, body.instructions);
    if !skill.tools_required.is_empty() {
        let _ =
            write!(text, "\nThe skill needs these tools: {}.\n", skill.tools_required.join(", "));
    }
    if let Some(first) = body.files.first() {
        let files = body.files.join("\n- ");
        let call = json!({"name": skill.name, "file": first});
        let _ = write!(
            text,
            "\nFiles of the skill, each read with {NAME}, such as {call}:\n- {files}\n"
        );
    }
    let source = match skill.location.path() {
        None => format!("skill {}", skill.name),
        Some(path) => path.display().to_string(),
    };
    of(skill, text, source)
}

/// Creates the result with the text of a skill. Its limits apply from then on, regardless of the
/// file that is read.
fn of(skill: &Skill, text: String, source: String) -> ToolOutput {
    let trust = match &skill.location {
        Location::BuiltIn => Trust::Tool,
        Location::File { scope: Scope::Server, .. } => Trust::External,
        Location::File { .. } => Trust::Workspace,
    };
    ToolOutput::text(text).with_origin(trust, source).with_structured(json!({
        "skill": skill.name,
        "version": skill.version,
        "allowed_tools": skill.allowed_tools,
    }))
}

#[cfg(test)]
mod tests;
