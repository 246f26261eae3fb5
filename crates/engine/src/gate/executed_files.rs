//! Gate for files that another program executes on its own: changing them needs an approval,
//! whatever rules allow.

use toolcrib_core::{Decider, Gate, GateInput, Permission, ReasonKind, Vote};

/// Asks about the executed files that a call changes.
pub(crate) struct ExecutedFilesGate;

impl Gate for ExecutedFilesGate {
    fn name(&self) -> &'static str {
        "executed files"
    }

    fn decider(&self) -> Decider {
        Decider::Gate
    }

    fn evaluate(&self, proposal: &GateInput<'_>) -> Result<Vote, String> {
        let file = |permission: &Permission| match permission {
            Permission::ExecutedFile(what) => Some(what.clone()),
            _ => None,
        };
        let files: Vec<String> = proposal.extra_permissions.iter().filter_map(file).collect();
        if files.is_empty() {
            return Ok(Vote::Abstain);
        }
        let reason = format!("it would change {}", files.join(", "));
        Ok(Vote::Ask { kind: ReasonKind::ExecutedFile, reason, rule: None })
    }
}
