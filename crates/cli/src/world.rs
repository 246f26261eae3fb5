//! A Toolcrib from the words of the command line and the environment.

use std::env;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use etcetera::BaseStrategy as _;
use tokio::runtime::Runtime;
use toolcrib_app::workspace::Roots;
use toolcrib_app::{Settings, Toolcrib};

use crate::cli::World;
use crate::output::Failure;
use crate::terminal::TerminalApprover;

/// One thread is enough for one command, and starts fastest.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::run(format!("the runtime cannot start: {error}")))
}

/// Runs a command to its end. What still blocks in the background, such as a name look-up that nobody waits for, is left behind.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    result
}

/// Builds what calls run on.
pub(crate) async fn build(world: &World) -> Result<Toolcrib, Failure> {
    with_roots(world, roots(&world.root)?).await
}

/// Builds what is only looked at. No call can run on it, so every current folder will do.
pub(crate) async fn look(world: &World) -> Result<Toolcrib, Failure> {
    let roots = if world.root.is_empty() { vec![PathBuf::from(".")] } else { world.root.clone() };
    with_roots(world, roots).await
}

async fn with_roots(world: &World, roots: Vec<PathBuf>) -> Result<Toolcrib, Failure> {
    let mut settings = Settings::new(PathBuf::new(), state_folder()?);
    settings.roots = roots;
    settings.allow_net.clone_from(&world.allow_net);
    settings.engine.preset = world.policy;
    let approver = Arc::new(TerminalApprover::default());
    Ok(Toolcrib::builder(settings).approver(approver).build().await?)
}

/// The folders that were named, or the current one, unless that is `/` or the home folder.
pub(crate) fn roots(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    if !named.is_empty() {
        return Ok(named.to_vec());
    }
    let home = env::home_dir();
    let current = Roots::current(home.as_deref())
        .map_err(|error| Failure::configuration(format!("{error} (--root DIR)")))?;
    Ok(current.paths().map(Path::to_path_buf).collect())
}

/// Where artifacts and undo journals are kept: `$TOOLCRIB_HOME`, else the state folder of the XDG convention.
pub(crate) fn state_folder() -> Result<PathBuf, Failure> {
    if let Some(home) = env::var_os("TOOLCRIB_HOME").filter(|home| !home.is_empty()) {
        return Ok(PathBuf::from(home).join("state"));
    }
    let strategy = etcetera::base_strategy::choose_base_strategy().map_err(|_| {
        Failure::configuration(
            "there is no home folder to keep state in; set TOOLCRIB_HOME to a folder",
        )
    })?;
    let state = strategy.state_dir().unwrap_or_else(|| strategy.data_dir());
    Ok(state.join("toolcrib"))
}
