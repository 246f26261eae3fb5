//! `[permissions]`: the permissions that the host grants, asks about, and refuses.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use toolcrib_app::{PermissionChoice, PermissionChoices, PermissionTable, parse_permission};
use toolcrib_core::Permission;

/// The section.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PermissionsSection {
    pub(super) general: PermissionChoices,
    pub(super) agents: BTreeMap<String, PermissionChoices>,
    pub(super) workspaces: BTreeMap<String, PermissionChoices>,
}

impl PermissionsSection {
    /// Converts the section for the engine; `file` is the file in which a person changes it.
    pub(super) fn to_permission_table(&self, file: String) -> PermissionTable {
        let Self { general, agents, workspaces } = self.clone();
        PermissionTable { general, agents, workspaces, file }
    }
}

/// A key of the section.
enum Field {
    Agents,
    Workspaces,
    Named(Permission),
}

impl<'de> Deserialize<'de> for Field {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        Ok(match String::deserialize(d)?.as_str() {
            "agents" => Self::Agents,
            "workspaces" => Self::Workspaces,
            name => Self::Named(parse_permission(name).map_err(Error::custom)?),
        })
    }
}

/// A permission as a key.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct PermissionName(Permission);

impl<'de> Deserialize<'de> for PermissionName {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        parse_permission(&String::deserialize(d)?).map(Self).map_err(Error::custom)
    }
}

/// The setting of a permission.
struct PermissionChoiceText(PermissionChoice);

impl<'de> Deserialize<'de> for PermissionChoiceText {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        String::deserialize(d)?.parse().map(Self).map_err(Error::custom)
    }
}

type PermissionTables = BTreeMap<String, BTreeMap<PermissionName, PermissionChoiceText>>;

fn choices(inner: PermissionTables) -> BTreeMap<String, PermissionChoices> {
    let one = |said: BTreeMap<PermissionName, PermissionChoiceText>| {
        said.into_iter().map(|(n, c)| (n.0, c.0)).collect()
    };
    inner.into_iter().map(|(name, said)| (name, one(said))).collect()
}

impl<'de> Deserialize<'de> for PermissionsSection {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(SectionVisitor)
    }
}

struct SectionVisitor;

impl<'de> Visitor<'de> for SectionVisitor {
    type Value = PermissionsSection;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("permissions, each granted, ask, denied or never")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut section = PermissionsSection::default();
        while let Some(field) = map.next_key()? {
            match field {
                Field::Agents => section.agents = choices(map.next_value::<PermissionTables>()?),
                Field::Workspaces => {
                    section.workspaces = choices(map.next_value::<PermissionTables>()?);
                }
                Field::Named(permission) => {
                    section.general.insert(permission, map.next_value::<PermissionChoiceText>()?.0);
                }
            }
        }
        Ok(section)
    }
}
