//! Agents, skills, kits and guides as files: read, checked, listed.
//!
//! [`Library::load`] reads the folders it is given and nothing else. A file is taken whole or not at all: what is wrong with it is a
//! [`Problem`] with its path, and everything else still loads.

mod agent;
mod built_in;
mod file;
mod front_matter;
mod guide;
pub mod instructions;
mod kit;
mod limits;
mod load;
pub mod load_skill;
mod name;
mod near;
mod place;
mod skill;
mod skill_folder;
mod slash;
mod tools;
mod whole;

pub use agent::{Agent, DEFAULT_ROLE, GENERAL_ASSISTANT, Mode, ModelRef, template};
pub use guide::{Guide, GuideExample};
pub use instructions::Instructions;
pub use kit::{Kit, Step};
pub use limits::{Limits, Rounds};
pub use load::{Library, LibraryHandle, UnknownName};
pub use place::{Folder, Folders, Place, Problem, Scope};
pub use skill::{Parameter, Skill, SkillBody};
pub use skill_folder::{add, validate};
pub use slash::slash;
pub use tools::{
    Check, Expanded, Expansion, ON_DEVICE_TOOLS, ToolNames, Tools, Unknown, expand, skill_limit,
};

pub use whole::{WholeSkill, whole};

#[cfg(test)]
mod tests;
