//! Gate for hosts beyond those that the owner allows: connecting to them needs an approval, even if
//! a rule allows the call.

use toolcrib_core::{Decider, Gate, GateInput, Permission, ReasonKind, Vote};

/// Asks about the hosts of a call.
pub(crate) struct HostAllowlistGate;

impl Gate for HostAllowlistGate {
    fn name(&self) -> &'static str {
        "hosts"
    }

    fn decider(&self) -> Decider {
        Decider::Permission
    }

    fn evaluate(&self, proposal: &GateInput<'_>) -> Result<Vote, String> {
        let host = |permission: &Permission| match permission {
            Permission::Host(host) => Some(host.clone()),
            _ => None,
        };
        let hosts: Vec<String> = proposal.extra_permissions.iter().filter_map(host).collect();
        if hosts.is_empty() {
            return Ok(Vote::Abstain);
        }
        let reason = format!("it would reach {}, which is not allowed yet", hosts.join(", "));
        Ok(Vote::Ask { kind: ReasonKind::Host, reason, rule: None })
    }
}
