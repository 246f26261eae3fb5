//! Operations on skills.

mod add;
mod list;
mod show;
mod skill;
mod validate;

pub use add::{AddSkillRequest, add};
pub use list::{ListSkillsReply, list};
pub use show::{ShowSkillRequest, SkillDetails, SkillParameter, show};
pub use skill::SkillReply;
pub use validate::{ValidateSkillRequest, validate};
