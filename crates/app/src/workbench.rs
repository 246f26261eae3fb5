//! Program runner of a Toolcrib: the settings' program policy and this host's sandbox.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolcrib_builtins::fs::Workspace;
use toolcrib_builtins::program_runner::{PathMasks, ProgramPolicy, ProgramRunner};
use toolcrib_code_mode::MaskFinder;
use toolcrib_core::{BoxFuture, Clock as _, PathDenials, SystemClock, ToolError};
use toolcrib_net::{AddressPolicy, Resolve, StaticResolver, SystemResolver};
use toolcrib_sandbox::{Backend, BackendKind, Bubblewrap, Egress, Gvisor, Level, Local};

use crate::settings::{Settings, SetupError};

/// Builds the program runner of these settings, if programs are enabled. The undo journal of the
/// workspace records the changes of programs.
pub(crate) fn build_workbench(
    settings: &Settings,
    workspace: Option<&Workspace>,
) -> Result<Option<Arc<ProgramRunner>>, SetupError> {
    let Some(confines) = sandbox_confines(settings) else { return Ok(None) };
    let local = || match &settings.sandbox_helper {
        Some(helper) => Local::with_helper(helper),
        None => Local::new(),
    };
    let backend: Arc<dyn Backend> = match settings.sandbox_backend {
        BackendKind::Own => Arc::new(local().egress(build_egress(settings)?)),
        BackendKind::Bubblewrap => Arc::new(match &settings.sandbox_helper {
            Some(helper) => Bubblewrap::with_helper(helper),
            None => Bubblewrap::new(),
        }),
        BackendKind::Gvisor => Arc::new(match &settings.sandbox_helper {
            Some(helper) => Gvisor::with_helper(helper),
            None => Gvisor::new(),
        }),
    };
    // The helper process starts on first use.
    let native = local().max_level(Level::None);
    let bench = ProgramRunner::new(backend, confines).with_native(Arc::new(native));
    Ok(Some(Arc::new(match workspace {
        Some(workspace) => bench.with_workspace(workspace.clone()),
        None => bench,
    })))
}

/// Returns the worker executable: the configured one, otherwise the running one.
pub(crate) fn worker_program(settings: &Settings) -> Option<PathBuf> {
    settings.sandbox_helper.clone().or_else(|| std::env::current_exe().ok())
}

/// Returns the program policy: the configured one, plus the workspace, minus protected paths.
pub(crate) fn sandbox_confines(settings: &Settings) -> Option<ProgramPolicy> {
    let mut confines = settings.workbench.clone()?;
    confines.roots.clone_from(&settings.roots);
    let vault = settings.vault.as_ref().map(toolcrib_store::vault::Vault::folder);
    let own = [settings.state.as_path()].into_iter().chain(vault);
    confines.state_folders.extend(own.map(Into::into));
    confines.denied.extend(settings.protected.iter().cloned());
    // Trusted tool folders are read-only: otherwise, a program could place a tool there that runs
    // as the owner's own.
    let trusted = settings.tool_folders.iter().filter(|folder| !folder.is_untrusted);
    confines.read_only.extend(trusted.map(|folder| folder.path.clone()));
    Some(confines)
}

/// Returns the paths that the rules of these settings deny to programs that serve several callers.
pub(crate) fn shared_denials(settings: &Settings) -> Arc<dyn PathDenials> {
    let root = settings.roots.first().and_then(|root| root.canonicalize().ok());
    let workspace = root.map(|root| root.display().to_string()).unwrap_or_default();
    settings.rules.paths_denied_to_any(&workspace, SystemClock.now_ms())
}

/// Finds the paths that rules deny to Python, which may run where other programs do not.
pub(crate) struct WorkbenchMasks(pub(crate) Option<Arc<ProgramRunner>>);

impl MaskFinder for WorkbenchMasks {
    fn masked<'a>(
        &'a self,
        denials: &'a Arc<dyn PathDenials>,
    ) -> BoxFuture<'a, Result<Vec<PathBuf>, ToolError>> {
        Box::pin(async move {
            let confines = self.0.as_ref().map(|bench| bench.program_policy()).unwrap_or_default();
            let masks = PathMasks::resolve(denials, confines).await?;
            Ok(masks.hidden().map(Path::to_owned).collect())
        })
    }
}

/// Builds the egress settings: programs reach the allowed hosts as the HTTP tools do.
fn build_egress(settings: &Settings) -> Result<Egress, SetupError> {
    let net = |error: &dyn std::fmt::Display| SetupError::Net(error.to_string());
    let policy = AddressPolicy::with_allowed(&settings.allow_net).map_err(|error| net(&error))?;
    let resolver: Arc<dyn Resolve> = if settings.resolve.is_empty() {
        Arc::new(SystemResolver)
    } else {
        Arc::new(StaticResolver::parse(&settings.resolve).map_err(|error| net(&error))?)
    };
    Ok(Egress::new(policy.with_blocked_ports(settings.own_ports.clone()), resolver))
}
