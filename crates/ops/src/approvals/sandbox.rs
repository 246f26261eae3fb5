//! The isolation of the programs that a call would start.

use toolcrib_app::Toolcrib;
use toolcrib_core::Permission;
use toolcrib_sandbox::Level;
use toolcrib_sandbox::userland::ShellTarget;

/// The tool whose commands run in the sandbox of the owner's setting `sandbox.shell`.
const SHELL_TOOL: &str = "execute_shell_command";
/// The machine provides no sufficiently strong isolation, so the call would be refused.
const UNAVAILABLE: &str = "unavailable";

/// Returns the current sandbox level of the programs that a call of this tool starts; `None` if the
/// tool starts none here. The first call determines the level by starting a program.
pub async fn sandbox_level(toolcrib: &Toolcrib, tool: &str) -> Option<String> {
    let spec = toolcrib.spec(tool)?;
    if !spec.permissions.contains(&Permission::Exec) {
        return None;
    }
    if toolcrib.is_unisolated(spec.name.as_str()) {
        return Some(Level::None.to_string());
    }
    let workbench = toolcrib.workbench()?;
    let target = workbench.program_policy().shell_target();
    if spec.name.as_str() == SHELL_TOOL && target == ShellTarget::Native {
        return Some(Level::None.to_string());
    }
    let level = workbench.level().await;
    Some(level.map_or_else(|_| UNAVAILABLE.to_owned(), |level| level.to_string()))
}
