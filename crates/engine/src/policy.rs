//! Policy: all settings that decide which calls may run and how. It is replaced as a whole while
//! calls run.

use std::sync::Arc;

use toolcrib_core::{Clock, Gate, Guard, Permissions};

use crate::gate::{
    ExecutedFilesGate, GrantedPermissions, HostAllowlistGate, PermissionGate, RulesGate, TaintGate,
};
use crate::rules::RuleSet;
use crate::settings::EngineSettings;

/// The settings of an engine that can be changed while it runs, see [`crate::Engine::reconfigure`].
#[derive(Clone)]
pub struct Policy {
    /// Preset, per-tool overrides and limits.
    pub settings: EngineSettings,
    /// The rules of all layers.
    pub rules: RuleSet,
    /// The host's permissions.
    pub permissions: Arc<dyn Permissions>,
    /// The guard hooks, in their order.
    pub guards: Vec<Arc<dyn Guard>>,
    /// Values that are masked everywhere. Those of earlier policies stay masked: earlier results
    /// may contain them.
    pub secrets: Vec<String>,
}

impl Default for Policy {
    /// Creates a policy with default settings, no rules, every permission, no guards and no
    /// secrets.
    fn default() -> Self {
        Self {
            settings: EngineSettings::default(),
            rules: RuleSet::default(),
            permissions: Arc::new(GrantedPermissions::default()),
            guards: Vec::new(),
            secrets: Vec::new(),
        }
    }
}

/// A policy in use. Each call refers to one from stage 0 to its end.
pub(crate) struct ActivePolicy {
    pub(crate) settings: EngineSettings,
    pub(crate) rules: RuleSet,
    pub(crate) gates: Vec<Arc<dyn Gate>>,
    pub(crate) guards: Vec<Arc<dyn Guard>>,
}

impl ActivePolicy {
    /// Creates the policy with the gates of permissions, rules and taint, followed by those of the
    /// host.
    pub(crate) fn new(policy: Policy, host: &[Arc<dyn Gate>], clock: &Arc<dyn Clock>) -> Arc<Self> {
        let Policy { settings, rules, permissions, guards, secrets: _ } = policy;
        let own: [Arc<dyn Gate>; 5] = [
            Arc::new(PermissionGate::new(permissions)),
            Arc::new(HostAllowlistGate),
            Arc::new(ExecutedFilesGate),
            Arc::new(RulesGate::new(rules.clone(), Arc::clone(clock))),
            Arc::new(TaintGate::new(&settings.tools)),
        ];
        let gates = own.into_iter().chain(host.iter().cloned()).collect();
        Arc::new(Self { settings, rules, gates, guards })
    }

    /// Returns the policy with other rules.
    pub(crate) fn with_rules(&self, rules: RuleSet, clock: &Arc<dyn Clock>) -> Arc<Self> {
        let own: Arc<dyn Gate> = Arc::new(RulesGate::new(rules.clone(), Arc::clone(clock)));
        let is_own =
            |gate: &Arc<dyn Gate>| gate.decider() == own.decider() && gate.name() == own.name();
        let swapped = |gate: &Arc<dyn Gate>| Arc::clone(if is_own(gate) { &own } else { gate });
        let gates = self.gates.iter().map(swapped).collect();
        let (settings, guards) = (self.settings.clone(), self.guards.clone());
        Arc::new(Self { settings, rules, gates, guards })
    }
}
