//! The host's permissions as their owner has set them: the section `[permissions]` of the configuration, ready to be asked before every call.

use std::collections::BTreeMap;
use std::str::FromStr;

use toolcrib_core::near::slips;
use toolcrib_core::{Context, Permission, PermissionState, Permissions};

/// What the owner says of one permission, mildest first: where several speak of the same agent, the larger one wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum PermissionChoice {
    /// Calls may use it (the default of what is not named).
    #[default]
    Granted,
    /// A person is asked; how long the answer holds is for them to say.
    Ask,
    /// Refused; the model may be told to try again.
    Denied,
    /// Refused for good: only the configuration changes it ("don't ask again", seed 001, permission rules).
    Never,
}

impl PermissionChoice {
    /// All of them, mildest first.
    pub const ALL: [Self; 4] = [Self::Granted, Self::Ask, Self::Denied, Self::Never];

    /// Its word in the configuration.
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

/// Permissions and what is said of them.
pub type PermissionChoices = BTreeMap<Permission, PermissionChoice>;

/// The section `[permissions]`, layers put together. What is not named is granted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PermissionTable {
    /// For everybody: `network = "ask"`.
    pub general: PermissionChoices,
    /// For calls of these agents, `[permissions.agents.NAME]`. They only tighten: an agent's name is what any file says.
    pub agents: BTreeMap<String, PermissionChoices>,
    /// For calls in these workspaces, `[permissions.workspaces."/PATH"]`, in place of the general ones. A folder stands for what is in it,
    /// the longest one counts.
    pub workspaces: BTreeMap<String, PermissionChoices>,
    /// The file in which a person changes them, as it is shown; empty = not said.
    pub file: String,
}

/// Reads the name of a permission: one of `fs_read`, `fs_write`, `network` and `exec`, or what a device or a host names, such as `location`.
///
/// # Errors
/// A name that is written otherwise, or that is a slip of the pen of one of the four: it would be set and never asked for.
pub fn permission_named(name: &str) -> Result<Permission, String> {
    let known = [Permission::FsRead, Permission::FsWrite, Permission::Network, Permission::Exec];
    if let Some(known) = known.iter().find(|known| known.to_string() == name) {
        return Ok(known.clone());
    }
    let names = known.map(|known| known.to_string());
    if let Some(near) = slips(name, names.iter().map(String::as_str)).first() {
        return Err(format!("unknown permission `{name}`, did you mean `{near}`?"));
    }
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
    if !name.starts_with(|c: char| c.is_ascii_lowercase()) || !name.bytes().all(fits) {
        return Err(format!(
            "`{name}` is no name of a permission: lower-case letters, digits and `_`"
        ));
    }
    Ok(Permission::Named(name.to_owned()))
}

impl PermissionTable {
    /// The same with what a layer says that may only tighten, such as the file of a workspace that nobody has vouched for.
    #[must_use]
    pub fn tightened_by(mut self, other: Self) -> Self {
        tighten(&mut self.general, &other.general);
        // It speaks in every workspace that is named, or the general word would be loosened there.
        for choices in self.workspaces.values_mut() {
            tighten(choices, &other.general);
        }
        for (agent, choices) in &other.agents {
            tighten(self.agents.entry(agent.clone()).or_default(), choices);
        }
        for (workspace, choices) in &other.workspaces {
            for (permission, choice) in choices {
                // What holds there now, by a folder around it or in general.
                let context = Context { workspace: workspace.clone(), ..Context::default() };
                let choice = self.choice(permission, &context).0.max(*choice);
                let own = self.workspaces.entry(workspace.clone()).or_default();
                own.insert(permission.clone(), choice);
            }
        }
        self
    }

    /// What holds for this permission, and under which key of the configuration it is set.
    #[must_use]
    pub fn choice(&self, permission: &Permission, context: &Context) -> (PermissionChoice, String) {
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

    /// What the longest of the folders that hold the workspace says.
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
        let (choice, key) = self.choice(permission, context);
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
        said.iter().map(|(name, choice)| (permission_named(name).unwrap(), *choice)).collect()
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
            let permission = permission_named(name).unwrap();
            assert_eq!(table.choice(&permission, &context), (choice, key.to_owned()), "{name}");
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
                let permission = permission_named(name).unwrap();
                let (before, after) =
                    (own.choice(&permission, &context).0, both.choice(&permission, &context).0);
                assert!(after >= before, "{name} in {context:?}: {before:?} became {after:?}");
            }
        }
        let network = both.choice(&Permission::Network, &of("", "/w")).0;
        assert_eq!(network, Denied, "what a layer tightens holds in named workspaces too");
    }

    #[test]
    fn names_of_permissions() {
        let check = |name: &str, read: Result<Permission, &str>| {
            let said = permission_named(name);
            match read {
                Ok(permission) => assert_eq!(said, Ok(permission)),
                Err(part) => assert!(said.unwrap_err().contains(part), "{name}"),
            }
        };
        check("exec", Ok(Permission::Exec));
        check("location", Ok(Permission::Named("location".into())));
        check("netwrok", Err("did you mean `network`"));
        check("fs_wirte", Err("did you mean `fs_write`"));
        check("", Err("no name of a permission"));
        check("Two Words", Err("no name of a permission"));
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
