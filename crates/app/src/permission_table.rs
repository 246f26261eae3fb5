//! Permission table: the section `[permissions]` of the configuration, resolved before every call.

use std::collections::BTreeMap;
use std::str::FromStr;

use toolcrib_core::similar_names::likely_typos;
use toolcrib_core::{Context, Permission, PermissionState, Permissions};

/// The owner's setting of one permission, from mildest to strictest; if several apply to the same
/// agent, the strictest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PermissionChoice {
    /// Calls may use it (the default).
    #[default]
    Granted,
    /// A person is asked and chooses how long the answer holds.
    Ask,
    /// Refused; the model may be told that it can try again later.
    Denied,
    /// Refused permanently ("don't ask again"): only a change of the configuration helps.
    Never,
}

impl PermissionChoice {
    /// All settings, mildest first.
    pub const ALL: [Self; 4] = [Self::Granted, Self::Ask, Self::Denied, Self::Never];

    /// Returns its word in the configuration.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Granted => "granted",
            Self::Ask => "ask",
            Self::Denied => "denied",
            Self::Never => "never",
        }
    }
}

impl FromStr for PermissionChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|choice| choice.as_str() == text)
            .ok_or_else(|| "a permission is granted, ask, denied or never".to_owned())
    }
}

/// Settings by permission.
pub type PermissionChoices = BTreeMap<Permission, PermissionChoice>;

/// The section `[permissions]`, all layers merged. Unnamed permissions are granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionTable {
    /// Settings for all calls: `network = "ask"`.
    pub general: PermissionChoices,
    /// Settings for calls of these agents, `[permissions.agents.NAME]`. They can only tighten,
    /// because any file can claim an agent's name.
    pub agents: BTreeMap<String, PermissionChoices>,
    /// Settings for calls in these workspaces, `[permissions.workspaces."/PATH"]`, instead of the
    /// general ones. A folder includes its subfolders; the longest match wins.
    pub workspaces: BTreeMap<String, PermissionChoices>,
    /// Path of the configuration file for messages; empty if unknown.
    pub file: String,
}

/// Parses the name of a permission: `fs_read`, `fs_write`, `network`, `exec`, or one that a device
/// or host defines, such as `location`.
///
/// # Errors
/// An invalid name, or a likely misspelling of one of the four: that setting would never apply.
pub fn parse_permission(name: &str) -> Result<Permission, String> {
    let known = [Permission::FsRead, Permission::FsWrite, Permission::Network, Permission::Exec];
    if let Some(known) = known.iter().find(|known| known.to_string() == name) {
        return Ok(known.clone());
    }
    let names = known.map(|known| known.to_string());
    if let Some(near) = likely_typos(name, names.iter().map(String::as_str)).first() {
        return Err(format!("unknown permission `{name}`, did you mean `{near}`?"));
    }
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.bytes().all(fits) {
        return Err(format!(
            "`{name}` is not a permission name: use lower-case letters, digits and `_`"
        ));
    }
    Ok(Permission::Named(name.to_owned()))
}

impl PermissionTable {
    /// Merges a layer that may only tighten, such as the file of an untrusted workspace.
    #[must_use]
    pub fn tightened_by(mut self, other: Self) -> Self {
        tighten(&mut self.general, &other.general);
        // The layer applies to every named workspace too; otherwise its general setting could be
        // loosened there.
        for choices in self.workspaces.values_mut() {
            tighten(choices, &other.general);
        }
        for (agent, choices) in &other.agents {
            tighten(self.agents.entry(agent.clone()).or_default(), choices);
        }
        for (workspace, choices) in &other.workspaces {
            for (permission, choice) in choices {
                // The setting that is already in force there, from an enclosing folder or the
                // general section.
                let context = Context { workspace: workspace.clone(), ..Context::default() };
                let choice = self.resolve(permission, &context).0.max(*choice);
                let own = self.workspaces.entry(workspace.clone()).or_default();
                own.insert(permission.clone(), choice);
            }
        }
        self
    }

    /// Returns the setting of a permission in a context, and the configuration key that sets it.
    #[must_use]
    pub fn resolve(
        &self,
        permission: &Permission,
        context: &Context,
    ) -> (PermissionChoice, String) {
        let place = self.workspace(permission, &context.workspace);
        let (choice, key) = match place {
            Some((path, choice)) => {
                (choice, format!("permissions.workspaces.\"{path}\".{permission}"))
            }
            None => {
                let choice = self.general.get(permission).copied().unwrap_or_default();
                (choice, format!("permissions.{permission}"))
            }
        };
        let agent = self.agents.get(&context.agent).and_then(|own| own.get(permission));
        match agent {
            Some(own) if *own > choice => {
                (*own, format!("permissions.agents.{}.{permission}", context.agent))
            }
            _ => (choice, key),
        }
    }

    /// Returns the setting of the longest matching workspace folder.
    fn workspace(
        &self,
        permission: &Permission,
        workspace: &str,
    ) -> Option<(&str, PermissionChoice)> {
        if workspace.is_empty() {
            return None;
        }
        let workspace = std::path::Path::new(workspace);
        let above = self.workspaces.iter().filter(|(path, _)| workspace.starts_with(path));
        let speaking = above.filter_map(|(path, own)| Some((path.as_str(), *own.get(permission)?)));
        speaking.max_by_key(|(path, _)| path.len())
    }
}

fn tighten(own: &mut PermissionChoices, other: &PermissionChoices) {
    for (permission, choice) in other {
        let before = own.entry(permission.clone()).or_default();
        *before = (*before).max(*choice);
    }
}

impl Permissions for PermissionTable {
    fn state(&self, permission: &Permission, context: &Context) -> PermissionState {
        let (choice, key) = self.resolve(permission, context);
        match choice {
            PermissionChoice::Granted => PermissionState::Granted,
            PermissionChoice::Ask => PermissionState::Undecided,
            PermissionChoice::Denied => PermissionState::Denied,
            PermissionChoice::Never => {
                let place = match self.file.as_str() {
                    "" => "the configuration".to_owned(),
                    file => file.to_owned(),
                };
                PermissionState::DeniedForGood {
                    change: format!("set {key} to \"granted\" or \"ask\" in {place}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::PermissionChoice::{Ask, Denied, Granted, Never};
    use super::*;

    fn choices(said: &[(&str, PermissionChoice)]) -> PermissionChoices {
        said.iter().map(|(name, choice)| (parse_permission(name).unwrap(), *choice)).collect()
    }

    fn table(
        general: &[(&str, PermissionChoice)],
        agents: &[(&str, PermissionChoice)],
        workspaces: &[(&str, PermissionChoice)],
    ) -> PermissionTable {
        let with = |name: &str, said| BTreeMap::from([(name.to_owned(), choices(said))]);
        PermissionTable {
            general: choices(general),
            agents: with("ann", agents),
            workspaces: with("/w", workspaces),
            file: "config.toml".into(),
        }
    }

    fn of(agent: &str, workspace: &str) -> Context {
        Context { agent: agent.into(), workspace: workspace.into(), ..Context::default() }
    }

    #[test]
    fn the_nearest_place_counts_and_an_agent_only_tightens() {
        let table = table(
            &[("network", Ask), ("exec", Denied)],
            &[("network", Never), ("exec", Granted)],
            &[("network", Granted), ("location", Ask)],
        );
        let check = |name: &str, context: Context, choice, key: &str| {
            let permission = parse_permission(name).unwrap();
            assert_eq!(table.resolve(&permission, &context), (choice, key.to_owned()), "{name}");
        };
        check("fs_read", of("", ""), Granted, "permissions.fs_read");
        check("network", of("", ""), Ask, "permissions.network");
        check("network", of("ann", ""), Never, "permissions.agents.ann.network");
        check("network", of("", "/w"), Granted, "permissions.workspaces.\"/w\".network");
        check("network", of("", "/w/deep"), Granted, "permissions.workspaces.\"/w\".network");
        check("network", of("", "/wide"), Ask, "permissions.network");
        check("network", of("ann", "/w"), Never, "permissions.agents.ann.network");
        check("exec", of("ann", "/w"), Denied, "permissions.exec");
        check("location", of("", "/w"), Ask, "permissions.workspaces.\"/w\".location");
    }

    #[test]
    fn a_layer_that_tightens_never_loosens() {
        let own = table(&[("network", Ask)], &[], &[("network", Granted), ("exec", Denied)]);
        let mut theirs = table(
            &[("network", Denied), ("exec", Ask)],
            &[("fs_read", Ask)],
            &[("network", Granted), ("exec", Granted), ("location", Never)],
        );
        theirs.workspaces.insert("/w/x".into(), choices(&[("exec", Granted)]));
        let both = own.clone().tightened_by(theirs);
        for context in [of("", ""), of("ann", ""), of("", "/w"), of("ann", "/w/x")] {
            for name in ["fs_read", "fs_write", "network", "exec", "location"] {
                let permission = parse_permission(name).unwrap();
                let (before, after) =
                    (own.resolve(&permission, &context).0, both.resolve(&permission, &context).0);
                assert!(after >= before, "{name} in {context:?}: {before:?} became {after:?}");
            }
        }
        let network = both.resolve(&Permission::Network, &of("", "/w")).0;
        assert_eq!(network, Denied, "what a layer tightens holds in named workspaces too");
    }

    #[test]
    fn names_of_permissions() {
        let check = |name: &str, read: Result<Permission, &str>| {
            let said = parse_permission(name);
            match read {
                Ok(permission) => assert_eq!(said, Ok(permission)),
                Err(part) => assert!(said.unwrap_err().contains(part), "{name}"),
            }
        };
        check("exec", Ok(Permission::Exec));
        check("location", Ok(Permission::Named("location".into())));
        check("netwrok", Err("did you mean `network`"));
        check("fs_wirte", Err("did you mean `fs_write`"));
        check("", Err("not a permission name"));
        check("Two Words", Err("not a permission name"));
    }

    #[test]
    fn the_words_say_where_it_is_changed() {
        let table = table(&[("exec", Never), ("network", Denied)], &[], &[]);
        let state = |permission| table.state(&permission, &Context::default());
        assert_eq!(state(Permission::Network), PermissionState::Denied);
        let PermissionState::DeniedForGood { change } = state(Permission::Exec) else {
            panic!("it is denied for good")
        };
        assert_eq!(change, "set permissions.exec to \"granted\" or \"ask\" in config.toml");
        let file = String::new();
        let unnamed = PermissionTable { file, ..table };
        let state = unnamed.state(&Permission::Exec, &Context::default());
        let PermissionState::DeniedForGood { change } = state else { panic!("still denied") };
        assert!(change.ends_with("in the configuration"), "{change}");
    }
}
