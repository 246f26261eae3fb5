//! Gate for the host's permissions, which are queried before every call.

use std::collections::HashMap;
use std::sync::Arc;

use toolcrib_core::{
    Context, Decider, ErrorType, Gate, GateInput, Permission, PermissionState, Permissions,
    ReasonKind, ToolError, Vote,
};

/// Denies calls whose permissions the host denies, and asks about undecided ones.
pub struct PermissionGate {
    permissions: Arc<dyn Permissions>,
}

impl PermissionGate {
    /// Creates a gate over the host's permissions.
    #[must_use]
    pub fn new(permissions: Arc<dyn Permissions>) -> Self {
        Self { permissions }
    }
}

impl Gate for PermissionGate {
    fn name(&self) -> &'static str {
        "permission"
    }

    fn decider(&self) -> Decider {
        Decider::Permission
    }

    fn evaluate(&self, proposal: &GateInput<'_>) -> Result<Vote, String> {
        let mut undecided = Vec::new();
        for permission in proposal.spec.permissions.iter().chain(proposal.extra_permissions) {
            // Separate gates ask about these.
            if matches!(permission, Permission::Host(_) | Permission::ExecutedFile(_)) {
                continue;
            }
            match self.permissions.state(permission, proposal.context) {
                PermissionState::Granted => {}
                PermissionState::Undecided => undecided.push(permission.to_string()),
                PermissionState::Denied => return Ok(denied(permission, "")),
                PermissionState::DeniedForGood { change } => {
                    let hint =
                        format!(" Only the person can change that, in the settings: {change}.");
                    return Ok(denied(permission, &hint));
                }
            }
        }
        if undecided.is_empty() {
            return Ok(Vote::Abstain);
        }
        let reason = format!("Permission {}", undecided.join(", "));
        Ok(Vote::Ask { kind: ReasonKind::Permission, reason, rule: None })
    }
}

/// Creates the refusal with the text for the model, which names the next step.
fn denied(permission: &Permission, hint: &str) -> Vote {
    let reason = format!("Permission {permission} was denied by the user.{hint}");
    let error = ToolError::new(ErrorType::PermissionDenied, reason)
        .with_instruction("Do not try again without being asked to.");
    Vote::Deny { error, rule: None }
}

/// Permissions that are set once: granted by default.
#[derive(Debug, Clone, Default)]
pub struct GrantedPermissions {
    states: HashMap<Permission, PermissionState>,
}

impl GrantedPermissions {
    /// Sets the state of one permission.
    #[must_use]
    pub fn with(mut self, permission: Permission, state: PermissionState) -> Self {
        self.states.insert(permission, state);
        self
    }
}

impl Permissions for GrantedPermissions {
    fn state(&self, permission: &Permission, _: &Context) -> PermissionState {
        self.states.get(permission).cloned().unwrap_or(PermissionState::Granted)
    }
}
