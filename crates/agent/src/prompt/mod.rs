//! The system prompt, built from pure parts.
//!
//! Parts that change rarely come first and the time comes near the end, so that providers can cache
//! the beginning. The same parts produce the same bytes.
//!
//! A golden file under `golden/` contains each combination; `TOOLCRIB_BLESS=1 cargo test -p
//! toolcrib-agent` rewrites them.

mod assemble;
mod automation;
mod parts;
mod sections;

pub use assemble::{PromptSection, join_sections, prompt_sections, system_prompt};
pub use parts::{ActiveSkill, Parts, PromptContext};

#[cfg(test)]
mod tests;
