//! The floor: commands that always ask, regardless of presets, rules and grants.
//!
//! They destroy the workspace, the home folder or a disk, or run text that was just downloaded
//! (`downloads`). `targets` defines the critical places, `destroyers` the programs, and
//! `found_files`, `disk_writers`, `containers` and `inline_code` those whose check needs more than
//! their options.
#![deny(clippy::indexing_slicing)]

mod containers;
mod destroyers;
mod disk_writers;
mod downloads;
mod folder_changes;
mod found_files;
mod inline_code;
mod line_check;
mod targets;
mod words;

pub(super) use line_check::Floor;
