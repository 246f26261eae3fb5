//! The target of a switch.

use toolcrib_app::SwitchTarget;
use toolcrib_core::similar_names;

use super::row::switchable;
use crate::context::OpContext;
use crate::error::{OpError, Resource};
use crate::tools::find_tool;

/// Returns the target, with the canonical name of a tool.
///
/// # Errors
/// [`OpError::NotFound`] for an unknown target, [`OpError::NoOwnSwitch`] for a tool that a feature
/// controls, [`OpError::Invalid`] for all tools at once, which the kill switch stops.
pub fn canonical_target(
    ctx: &OpContext<'_>,
    target: SwitchTarget,
) -> Result<SwitchTarget, OpError> {
    match target {
        SwitchTarget::Everything => Err(OpError::Invalid(
            "all tools at once are stopped and started with /kill-switch".to_owned(),
        )),
        SwitchTarget::Tool(name) => {
            let spec = find_tool(ctx.toolcrib, &name)?;
            match &spec.controlled_by {
                Some(feature) => Err(OpError::NoOwnSwitch {
                    tool: spec.name.to_string(),
                    feature: feature.clone(),
                }),
                None => Ok(SwitchTarget::Tool(spec.name.to_string())),
            }
        }
        SwitchTarget::Skill(name) => {
            check_skill(ctx, &name)?;
            Ok(SwitchTarget::Skill(name))
        }
        target => {
            let (all, name) = (switchable(&ctx.toolcrib.infos()), target.name());
            if all.contains_key(&name) {
                return Ok(target);
            }
            let near = similar_names::similar_names(&name, all.keys().map(String::as_str));
            let mut near: Vec<String> = near.into_iter().map(str::to_owned).collect();
            if near.is_empty() {
                // There are few sources, groups, tiers and features.
                let kind = name.split_inclusive(':').next().unwrap_or_default();
                near.extend(all.into_keys().filter(|known| known.starts_with(kind)));
            }
            Err(OpError::NotFound { what: Resource::Switch, name, near })
        }
    }
}

/// Refuses a skill that is not in the library. Without a library, as in a command, the caller has
/// checked it.
fn check_skill(ctx: &OpContext<'_>, name: &str) -> Result<(), OpError> {
    let Some(library) = ctx.library else { return Ok(()) };
    if library.skills_off.iter().any(|skill| skill.name == name) {
        return Ok(());
    }
    let found = library.skill(name).map(|_| ());
    found.map_err(|unknown| OpError::NotFound {
        what: Resource::Skill,
        name: name.to_owned(),
        near: unknown.near,
    })
}
