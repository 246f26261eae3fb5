//! Advice for the owner on making an excluded tool available.

use toolcrib_core::{Exclusion, Status};

/// Returns advice for the owner on making the tool available.
#[must_use]
pub fn exclusion_advice(reason: &Exclusion, tool: &str, agent: Option<&str>) -> String {
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
        // The reason itself names the required configuration keys.
        Exclusion::NotReady { status: Status::Available { missing } }
            if missing.iter().any(|key| key.contains('.')) =>
        {
            "docs/web.md describes the settings.".to_owned()
        }
        Exclusion::NotReady { status: Status::Available { missing } }
            if missing.iter().any(|key| key == toolcrib_mail::ACCOUNT_KEY) && is_mail(tool) =>
        {
            "`toolcrib mail add ADDRESS` sets up a mail account.".to_owned()
        }
        Exclusion::NotReady { status: Status::Available { .. } } if is_of_channels(tool) => {
            "`toolcrib channel add telegram` sets up a chat channel.".to_owned()
        }
        Exclusion::NotReady { status: Status::Available { missing } } if is_of_sms(tool) => {
            let options: Vec<String> = missing.iter().map(|key| format!("--{key} true")).collect();
            format!(
                "`toolcrib sms set {}` allows it, after `toolcrib sms add http://ADDRESS:8080` has set up a phone.",
                options.join(" ")
            )
        }
        Exclusion::NotReady { status: Status::Available { missing } } => format!(
            "Set {} in [tools.{tool}.config] of the configuration, or a secret with `toolcrib secret set`.",
            missing.join(", ")
        ),
        Exclusion::NotReady { .. } => {
            format!("`toolcrib tool show {tool}` shows the error of its source.")
        }
        Exclusion::Provider => {
            "The provider of a model runs it: it is offered to models that have it.".to_owned()
        }
        Exclusion::Model => format!(
            "Add {tool} to `on_device_tools` in [discovery] of the configuration, or choose a model that does not run on this device."
        ),
    }
}

/// Returns whether a tool needs a mail account.
fn is_mail(tool: &str) -> bool {
    toolcrib_mail::specs().iter().any(|spec| spec.name.as_str() == tool)
}

/// Returns whether a tool needs a chat channel.
fn is_of_channels(tool: &str) -> bool {
    toolcrib_channels::specs().iter().any(|spec| spec.name.as_str() == tool)
}

/// Returns whether a tool needs a phone for SMS.
fn is_of_sms(tool: &str) -> bool {
    toolcrib_sms::specs().iter().any(|spec| spec.name.as_str() == tool)
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolcrib_core::{RuleRef, Tier, Verdict};

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
            (Exclusion::Model, "on_device_tools"),
        ] {
            let advice = exclusion_advice(&reason, "shell", Some("ann"));
            assert!(advice.contains(part), "{reason:?}: {advice}");
        }
    }
}
