//! The values of all layers, each with its position.

use std::collections::BTreeMap;

use crate::config::key_path::KeyPath;
use crate::config::layer::ConfigValue;
use crate::config::permissions::PermissionsSection;

/// All layers together.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LayeredConfig {
    /// Values in force, by key, without `[[hooks]]`.
    pub(crate) values: BTreeMap<KeyPath, ConfigValue>,
    /// The entries of `[[hooks]]`, those of the strongest layer first.
    pub(crate) hooks: Vec<ConfigValue>,
    /// The position of each table's header.
    pub(super) tables: BTreeMap<KeyPath, String>,
    /// Values pinned by the operator of the machine, which other layers may only make stricter.
    pub(super) pins: Vec<(KeyPath, ConfigValue)>,
    /// Permissions that can only tighten those of all other layers.
    pub(super) tighteners: Vec<PermissionsSection>,
}
