//! The values of all layers, each with where it is written.

use std::collections::BTreeMap;

use crate::config::key_path::KeyPath;
use crate::config::layer::ConfigValue;
use crate::config::permissions::PermissionsSection;

/// All layers together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LayeredConfig {
    /// Values that hold, by key. `[[hooks]]` are not among them.
    pub(crate) values: BTreeMap<KeyPath, ConfigValue>,
    /// The entries of `[[hooks]]`, those of the strongest word first.
    pub(crate) hooks: Vec<ConfigValue>,
    /// Where each table is opened.
    pub(super) tables: BTreeMap<KeyPath, String>,
    /// Values that other layers may only make stricter, as the operator of the machine has it.
    pub(super) pins: Vec<(KeyPath, ConfigValue)>,
    /// Permissions that only tighten those of all others.
    pub(super) tighteners: Vec<PermissionsSection>,
}
