//! The bench that tools run programs on: what the settings let programs touch, and the sandbox of this host.

use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_builtins::workbench::{Confines, Workbench};
use toolcrib_net::{AddressPolicy, Resolve, StaticResolver, SystemResolver};
use toolcrib_sandbox::{Backend, Bubblewrap, Egress, Gvisor, Level, Local, Maker};

use crate::settings::{Settings, SetupError};

/// The bench of these settings, if there is one.
pub(crate) fn bench(settings: &Settings) -> Result<Option<Arc<Workbench>>, SetupError> {
    let Some(confines) = confines(settings) else { return Ok(None) };
    let local = || match &settings.sandbox_helper {
        Some(helper) => Local::with_helper(helper),
        None => Local::new(),
    };
    let backend: Arc<dyn Backend> = match settings.sandbox_backend {
        Maker::Own => Arc::new(local().egress(egress(settings)?)),
        Maker::Bubblewrap => Arc::new(match &settings.sandbox_helper {
            Some(helper) => Bubblewrap::with_helper(helper),
            None => Bubblewrap::new(),
        }),
        Maker::Gvisor => Arc::new(match &settings.sandbox_helper {
            Some(helper) => Gvisor::with_helper(helper),
            None => Gvisor::new(),
        }),
    };
    // Its helper is started when somebody wants it first.
    let native = local().at_most(Level::None);
    let bench = Workbench::new(backend, confines).with_native(Arc::new(native));
    Ok(Some(Arc::new(bench)))
}

/// The executable that works in other roles: the one that is named, else this one.
pub(crate) fn worker(settings: &Settings) -> Option<PathBuf> {
    settings.sandbox_helper.clone().or_else(|| std::env::current_exe().ok())
}

/// What programs may touch: what was said of it, with the workspace, and without what is ours.
pub(crate) fn confines(settings: &Settings) -> Option<Confines> {
    let mut confines = settings.workbench.clone()?;
    confines.roots.clone_from(&settings.roots);
    let vault = settings.vault.as_ref().map(toolcrib_store::vault::Vault::folder);
    let own = [settings.state.as_path()].into_iter().chain(vault);
    confines.own.extend(own.map(Into::into));
    confines.denied.extend(settings.protected.iter().cloned());
    // What is taken at its word must not be what a program wrote.
    let trusted = settings.tool_folders.iter().filter(|folder| !folder.of_anybody);
    confines.kept.extend(trusted.map(|folder| folder.path.clone()));
    Some(confines)
}

/// How programs reach hosts that are allowed: as the HTTP tools do.
fn egress(settings: &Settings) -> Result<Egress, SetupError> {
    let net = |error: &dyn std::fmt::Display| SetupError::Net(error.to_string());
    let policy = AddressPolicy::allowing(&settings.allow_net).map_err(|error| net(&error))?;
    let resolver: Arc<dyn Resolve> = if settings.resolve.is_empty() {
        Arc::new(SystemResolver)
    } else {
        Arc::new(StaticResolver::parse(&settings.resolve).map_err(|error| net(&error))?)
    };
    Ok(Egress::new(policy.never_to(settings.own_ports.clone()), resolver))
}
