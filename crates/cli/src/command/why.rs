//! `toolcrib tool why`: whether a tool is offered to a caller, else what keeps it away and how to change that.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_app::Toolcrib;
use toolcrib_app::agent::library::Agent;
use toolcrib_app::core::{Exclusion, Status, ViewRequest};

use super::agent::find;
use super::shelf::Shelf;
use super::tool::unknown_tool;
use crate::cli::ToolWhy;
use crate::output::{self, Failure};
use crate::terminal;

pub(super) fn run(command: &ToolWhy, json: bool) -> Result<u8, Failure> {
    let shelf = Shelf::open(&command.places, json)?;
    let agent = command.agent.as_deref().map(|name| find(&shelf, name)).transpose()?;
    let toolcrib = &shelf.toolcrib;
    let Some(spec) = toolcrib.spec(&command.name) else {
        return Err(unknown_tool(toolcrib, &command.name));
    };
    let tool = spec.name.as_str();
    let reasons = reasons(toolcrib, &request(agent));
    let reason = reasons.iter().find(|(name, _)| name == tool).map(|(_, reason)| reason);
    let agent = agent.map(|agent| agent.name.as_str());
    let advice = reason.map(|reason| advice(reason, tool, agent));
    if json {
        let mut answer = json!({"tool": tool, "agent": agent, "offered": reason.is_none()});
        if let (Some(reason), Value::Object(answer)) = (reason, &mut answer) {
            answer.insert("excluded".to_owned(), json!(reason));
            answer.insert("reason".to_owned(), json!(reason.to_string()));
            answer.insert("advice".to_owned(), json!(advice));
        }
        output::document(&answer, true)?;
        return Ok(0);
    }
    let to = agent.map(|name| format!(" to {}", terminal::one_line(name))).unwrap_or_default();
    let text = match reason {
        None => format!("{tool} is offered{to}\n"),
        Some(reason) => {
            let reason = terminal::one_line(&reason.to_string());
            let advice = advice.map(|advice| format!("{advice}\n")).unwrap_or_default();
            format!("{tool} is not offered{to}: {reason}\n{advice}")
        }
    };
    output::data(&text)?;
    Ok(0)
}

/// What decides which tools this caller sees; providers' own tools aside.
pub(super) fn request(agent: Option<&Agent>) -> ViewRequest {
    match agent {
        None => ViewRequest::default(),
        Some(agent) => ViewRequest {
            role: agent.role.clone(),
            agent: agent.tools.clone(),
            ..ViewRequest::default()
        },
    }
}

/// Every tool that this caller is not offered, with the reason.
pub(super) fn reasons(toolcrib: &Toolcrib, request: &ViewRequest) -> Vec<(String, Exclusion)> {
    if !toolcrib.engine().tools_enabled() {
        let all = toolcrib.infos().into_iter();
        return all.map(|info| (info.id.to_string(), Exclusion::KillSwitch)).collect();
    }
    let view = toolcrib.catalog().view(&Arc::new(request.clone()));
    let excluded = view.excluded.iter();
    excluded.map(|excluded| (excluded.name.to_string(), excluded.reason.clone())).collect()
}

/// What to do about it.
fn advice(reason: &Exclusion, tool: &str, agent: Option<&str>) -> String {
    match reason {
        Exclusion::KillSwitch => "`toolcrib start-tools` switches tools on.".to_owned(),
        Exclusion::SourceOff { source } => {
            format!("`toolcrib tool enable --source {source}` switches it on.")
        }
        Exclusion::TierOff { tier } => {
            format!("`toolcrib tool enable --tier {}` switches it on.", tier.as_str())
        }
        Exclusion::GroupOff { group } => {
            format!("`toolcrib tool enable --group {group}` switches it on.")
        }
        Exclusion::FeatureOff { feature } => {
            format!("`toolcrib tool enable --feature {feature}` switches it on.")
        }
        Exclusion::Disabled => format!("`toolcrib tool enable {tool}` switches it on."),
        Exclusion::Rule { rule } => format!(
            "The rule is written at {}: change it there; `toolcrib rules list` shows all rules.",
            rule.origin
        ),
        Exclusion::Role { flag } => format!(
            "Take `{flag} = false` out of the section [flags] of the configuration, or give the agent another role."
        ),
        Exclusion::Agent => match agent {
            Some(agent) => {
                format!("`toolcrib agent tools {agent} --add {tool}` adds it to the agent's list.")
            }
            None => "Add it to the agent's list of tools.".to_owned(),
        },
        Exclusion::Skill => "Add it to `allowed_tools` of the skill, or end the skill.".to_owned(),
        Exclusion::NotReady { status: Status::Available { missing } } => format!(
            "Set {} in [tools.{tool}.config] of the configuration, or a secret with `toolcrib secret set`.",
            missing.join(", ")
        ),
        Exclusion::NotReady { .. } => {
            format!("`toolcrib tool show {tool}` shows it; mend what its source says.")
        }
        Exclusion::Provider => {
            "The provider of a model runs it: it is offered to models that have it.".to_owned()
        }
        Exclusion::Model => "Choose another model, or allow it this tool.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_app::core::{RuleRef, Tier, Verdict};

    #[test]
    fn every_reason_comes_with_what_to_do() {
        let rule = RuleRef {
            effect: Verdict::Deny,
            rule: "shell".into(),
            origin: "rules.toml:3".into(),
            reason: None,
        };
        for (reason, part) in [
            (Exclusion::KillSwitch, "start-tools"),
            (Exclusion::SourceOff { source: "own".into() }, "--source own"),
            (Exclusion::TierOff { tier: Tier::Interface }, "--tier interface"),
            (Exclusion::GroupOff { group: "files".into() }, "--group files"),
            (Exclusion::FeatureOff { feature: "mail".into() }, "--feature mail"),
            (Exclusion::Disabled, "tool enable shell"),
            (Exclusion::Rule { rule }, "rules.toml:3"),
            (Exclusion::Role { flag: "allow_shell".into() }, "`allow_shell = false`"),
            (Exclusion::Agent, "agent tools ann --add shell"),
            (Exclusion::Skill, "allowed_tools"),
            (
                Exclusion::NotReady { status: Status::Available { missing: vec!["key".into()] } },
                "[tools.shell.config]",
            ),
            (Exclusion::Provider, "provider"),
            (Exclusion::Model, "another model"),
        ] {
            let advice = advice(&reason, "shell", Some("ann"));
            assert!(advice.contains(part), "{reason:?}: {advice}");
        }
    }
}
