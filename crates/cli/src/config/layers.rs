//! Merges layers: a value in a stronger layer replaces the one in a weaker layer, key by key, and
//! every value keeps its origin. Some layers may only make settings stricter.

use std::cmp::Ordering;
use std::path::PathBuf;

use toml::{Table, Value};
use toolcrib_app::{PermissionChoice, Preset};

use crate::config::key_path::KeyPath;
use crate::config::layer::{ConfigValue, Layer, Origin};
use crate::config::layer_source::{HOOKS_KEY, Leaf, Source};
use crate::config::layered_config::LayeredConfig;
use crate::config::on_ask::OnAsk;
use crate::config::permissions::PermissionsSection;
use crate::config::plain_message::plain_message;
use crate::config::sandbox;
use crate::config::schema::Config;
use crate::output::Failure;

impl LayeredConfig {
    /// Applies a layer over the existing ones.
    pub(super) fn apply(&mut self, source: &Source) {
        self.tables.extend(source.tables.clone());
        for leaf in &source.leaves {
            self.set(source.layer, leaf);
        }
        self.add_hooks(source);
    }

    /// Applies only the values of a layer that make settings stricter; returns the keys of the
    /// other values.
    pub(super) fn tighten(&mut self, source: &Source) -> Vec<String> {
        let mut permissions = permissions_of(source);
        // An untrusted file must not name folders of the person.
        permissions.workspaces.clear();
        self.tighteners.push(permissions);
        let mut rest: Vec<String> = Vec::new();
        for leaf in &source.leaves {
            match self.strictness(source.layer, leaf) {
                Some(Ordering::Greater) => self.set(source.layer, leaf),
                // The value is already in force.
                Some(Ordering::Equal) => {}
                Some(Ordering::Less) | None => rest.push(leaf.key.to_string()),
            }
        }
        if !source.hooks.is_empty() {
            rest.push(HOOKS_KEY.to_owned());
        }
        rest
    }

    /// Applies the pinned values over all layers, and records them.
    pub(super) fn pin(&mut self, source: &Source) {
        self.tighteners.push(permissions_of(source));
        for leaf in &source.leaves {
            let held =
                ConfigValue { value: leaf.value.clone(), origin: origin(source.layer, leaf) };
            if self.strictness(source.layer, leaf).is_some() || leaf.key.parts() == ["on_ask"] {
                self.pins.push((leaf.key.clone(), held));
            }
            if self.strictness(source.layer, leaf) == Some(Ordering::Greater)
                || self.is_pinned_ask(leaf)
            {
                self.set(source.layer, leaf);
            }
        }
    }

    /// Returns the values that are pinned at this key.
    pub(crate) fn pinned_values(&self, key: &KeyPath) -> impl Iterator<Item = &ConfigValue> {
        self.pins.iter().filter(move |(pinned, _)| pinned == key).map(|(_, held)| held)
    }

    /// Returns whether a pin decides `on_ask`, which has no order: the pinned value applies, and
    /// weaker layers may only deny.
    fn is_pinned_ask(&self, leaf: &Leaf) -> bool {
        let own = || self.text(&leaf.key).is_some_and(|text| text == "deny");
        leaf.key.parts() == ["on_ask"] && !own()
    }

    /// Compares a value of a layer that may only tighten with the value in force; returns `None` if
    /// such a layer cannot set it.
    fn strictness(&self, layer: Layer, leaf: &Leaf) -> Option<Ordering> {
        let key = leaf.key.parts();
        match (key.as_slice(), &leaf.value) {
            (["policy"], Value::String(new)) => {
                let now = self.text(&leaf.key).and_then(|text| text.parse::<Preset>().ok());
                Some((new.parse::<Preset>().ok()? as u8).cmp(&(now.unwrap_or_default() as u8)))
            }
            (["tools", _, "enabled"], Value::Boolean(false))
            | (["tools", _, "ask" | "taint"], Value::Boolean(true)) => {
                let now = self.values.get(&leaf.key).map(|held| &held.value);
                Some(if now == Some(&leaf.value) { Ordering::Equal } else { Ordering::Greater })
            }
            // A flag for a role has precedence over one for all roles, so pinning one would promise
            // too much.
            (["flags", _], Value::Boolean(false)) if layer == Layer::Untrusted => {
                let now = self.values.get(&leaf.key).and_then(|held| held.value.as_bool());
                Some(if now == Some(false) { Ordering::Equal } else { Ordering::Greater })
            }
            (["permissions", _] | ["permissions", "agents", _, _], Value::String(new)) => {
                let now = self.text(&leaf.key).and_then(|text| text.parse().ok());
                let now: PermissionChoice = now.unwrap_or_default();
                Some(new.parse::<PermissionChoice>().ok()?.cmp(&now))
            }
            // A workspace cannot change the sandbox, not even to make it stricter: if the machine
            // lacks a level, programs would fail without an explanation.
            (["sandbox", key @ ("level" | "network")], Value::String(new))
                if layer == Layer::Managed =>
            {
                let now = self.text(&leaf.key);
                Some(
                    sandbox::strictness_rank(key, new)?.cmp(
                        &now.and_then(|now| sandbox::strictness_rank(key, now))
                            .unwrap_or(sandbox::DEFAULT_RANK),
                    ),
                )
            }
            _ => None,
        }
    }

    /// Replaces the value of one key.
    pub(super) fn set(&mut self, layer: Layer, leaf: &Leaf) {
        let is_empty = leaf.value.as_table().is_some_and(Table::is_empty);
        let is_open = self.values.keys().any(|key| key.is_under(&leaf.key));
        if is_empty && is_open {
            return;
        }
        let above = |key: &KeyPath| key.is_under(&leaf.key) || leaf.key.is_under(key);
        self.values.retain(|key, _| !above(key));
        let held = ConfigValue { value: leaf.value.clone(), origin: origin(layer, leaf) };
        self.values.insert(leaf.key.clone(), held);
    }

    fn add_hooks(&mut self, source: &Source) {
        for (value, place) in &source.hooks {
            let origin = Origin { layer: source.layer, location: place.clone() };
            self.hooks.push(ConfigValue { value: value.clone(), origin });
        }
    }

    fn text(&self, key: &KeyPath) -> Option<&str> {
        self.values.get(key).and_then(|held| held.value.as_str())
    }

    /// Returns the resulting configuration.
    ///
    /// # Errors
    /// Values that contradict each other, with the position of the strongest of them.
    pub(super) fn finish(self, path: PathBuf) -> Result<Config, Failure> {
        let mut config: Config = self.table().try_into().map_err(|error: toml::de::Error| {
            let what = plain_message(error.message());
            Failure::configuration(format!("the layers of the configuration together: {what}"))
        })?;
        for (hook, held) in config.hooks.iter_mut().zip(&self.hooks) {
            hook.origin.clone_from(&held.origin.location);
            hook.layer = held.origin.layer;
        }
        for (id, section) in &config.providers {
            section.check(&id.0).map_err(|what| {
                let key = KeyPath(vec!["providers".to_owned(), id.0.clone()]);
                let place = self.tables.get(&key).map_or("the environment", String::as_str);
                Failure::configuration(format!("{place}: {what}"))
            })?;
        }
        for (name, checked) in
            [("server", config.server.check()), ("sandbox", config.sandbox.check())]
        {
            checked.map_err(|what| {
                let key = KeyPath(vec![name.to_owned()]);
                let place = self.tables.get(&key).map_or("the environment", String::as_str);
                Failure::configuration(format!("{place}: {what}"))
            })?;
        }
        config.path = path;
        config.layered = self;
        Ok(config)
    }

    /// Returns the values in the form of one file.
    fn table(&self) -> Table {
        let mut table = Table::new();
        for (key, held) in &self.values {
            insert(&mut table, &key.parts(), held.value.clone());
        }
        if !self.hooks.is_empty() {
            let hooks = self.hooks.iter().map(|held| held.value.clone());
            table.insert(HOOKS_KEY.to_owned(), Value::Array(hooks.collect()));
        }
        table
    }
}

/// Returns the permissions of one file, which was already parsed.
fn permissions_of(source: &Source) -> PermissionsSection {
    let mut alone = LayeredConfig::default();
    let own = source.leaves.iter().filter(|leaf| leaf.key.parts().first() == Some(&"permissions"));
    own.for_each(|leaf| alone.set(source.layer, leaf));
    let config: Result<Config, _> = alone.table().try_into();
    config.map(|config| config.permissions).unwrap_or_default()
}

fn origin(layer: Layer, leaf: &Leaf) -> Origin {
    Origin { layer, location: leaf.place.clone() }
}

fn insert(table: &mut Table, key: &[&str], value: Value) {
    match key {
        [] => {}
        [last] => {
            table.insert((*last).to_owned(), value);
        }
        [first, rest @ ..] => {
            let inner = table.entry(*first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                insert(inner, rest, value);
            }
        }
    }
}

/// The stricter of the requested and the pinned value.
impl Config {
    /// Returns the preset in force for the command-line option `flag`.
    pub(crate) fn effective_preset(&self, flag: Option<Preset>) -> Option<Preset> {
        let floor = self.pinned_preset().map(|(preset, _)| preset);
        let said = flag.or(self.policy);
        match (said, floor) {
            (Some(said), Some(floor)) if (floor as u8) > (said as u8) => Some(floor),
            (None, floor) => floor,
            (said, _) => said,
        }
    }

    /// Explains why `flag` is not in force; `None` if it is.
    pub(crate) fn overruled_warning(&self, flag: Option<Preset>) -> Option<String> {
        let (floor, place) = self.pinned_preset()?;
        let flag = flag.filter(|flag| (*flag as u8) < (floor as u8))?;
        Some(format!("the preset {flag} is not used: {place} sets {floor}, and nothing loosens it"))
    }

    /// Returns the least strict preset that the operator of the machine allows.
    fn pinned_preset(&self) -> Option<(Preset, &str)> {
        let key = KeyPath(vec!["policy".to_owned()]);
        let pins = self.layered.pinned_values(&key);
        let presets = pins.filter_map(|held| {
            Some((held.value.as_str()?.parse::<Preset>().ok()?, held.origin.location.as_str()))
        });
        presets.max_by_key(|(preset, _)| *preset as u8)
    }

    /// Returns the handling of calls that need approval without an approver, for the command-line
    /// option `flag`.
    pub(crate) fn effective_on_ask(&self, flag: Option<OnAsk>) -> Option<OnAsk> {
        let key = KeyPath(vec!["on_ask".to_owned()]);
        let is_pinned = self.layered.pinned_values(&key).next().is_some();
        match flag {
            Some(OnAsk::Deny) => flag,
            Some(_) if is_pinned => self.on_ask,
            _ => flag.or(self.on_ask),
        }
    }

    /// Returns the position of a value; `None` if it is not set.
    pub(crate) fn origin(&self, key: &KeyPath) -> Option<&Origin> {
        self.layered.values.get(key).map(|held| &held.origin)
    }

    /// Returns the position of a tool's section.
    pub(crate) fn tool_location(&self, tool: &str) -> String {
        let key = KeyPath(["tools", tool].map(str::to_owned).to_vec());
        let table = self.layered.tables.get(&key).cloned();
        let first = || {
            let held = self.layered.values.iter().find(|(own, _)| own.is_under(&key));
            held.map(|(_, held)| held.origin.location.clone())
        };
        table.or_else(first).unwrap_or_default()
    }

    /// Returns whether the operator of the machine has disabled this tool.
    pub(super) fn is_off_for_good(&self, tool: &str) -> bool {
        let key = KeyPath(["tools", tool, "enabled"].map(str::to_owned).to_vec());
        self.layered.pinned_values(&key).next().is_some()
    }
}
