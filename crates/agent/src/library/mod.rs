//! The library: agents, skills, kits and guides as files.
//!
//! [`Library::load`] reads only the given folders. A file is loaded completely or not at all: its
//! error is a [`Problem`] with its path, and all other files still load.

mod agent;
mod agent_fields;
mod bounded_file;
mod built_in;
mod front_matter;
mod guide;
pub mod instructions;
mod kit;
pub mod load_skill;
mod loader;
mod location;
mod name_rules;
mod run_limits;
mod skill;
mod skill_bundle;
mod skill_folder;
mod slash_command;
mod suggest;
mod tool_lists;

pub use agent::{Agent, AgentPreset, DEFAULT_ROLE, GENERAL_ASSISTANT, ModelRef, agent_template};
pub use agent_fields::{AgentFault, AgentFields, read_agent};
pub use guide::{Guide, GuideExample};
pub use instructions::Instructions;
pub use kit::{Kit, Step};
pub use loader::{Library, LibraryHandle, UnknownName};
pub use location::{Folder, Folders, Location, Problem, Scope};
pub use run_limits::{Limits, Rounds};
pub use skill::{FILE as SKILL_FILE, Parameter, Skill, SkillBody};
pub use skill_folder::{add_skill, validate_skill};
pub use slash_command::parse_slash_command;
pub use tool_lists::{
    ArgsCheck, ExpandedEntry, Expansion, KnownTools, ON_DEVICE_TOOLS, ToolNames, UnknownEntry,
    expand_tool_list, skill_limit,
};

pub use skill_bundle::{SkillBundle, read_bundle};

#[cfg(test)]
mod tests;
