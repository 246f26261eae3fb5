//! Builds a Toolcrib from the command line and the environment.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_app::rules::RuleSet;
use toolcrib_app::{Builder, PythonSettings, Sealing, Secrets, Settings, Toolcrib};
use toolcrib_builtins::program_runner::ProgramPolicy;
use toolcrib_sandbox::userland::Userland;

use crate::clap_args::{ModelArgs, WorkspaceArgs};
use crate::config::{self, Config, Env, OnAsk};
use crate::folders::userland_folder;
use crate::library_folders::tool_folders;
use crate::output::{self, Failure};
use crate::rule_layers;
use crate::session::{self, RunSetup};
use crate::surroundings::{desktop_notifier, locale};
use crate::terminal::{Console, TerminalApprover};

pub(crate) use crate::async_runtime::{block_on, runtime};
pub(crate) use crate::configured_names::{
    check_tool_names, check_tools, unknown_matchers, unknown_tools, warn_misspelled_hooks,
};
pub(crate) use crate::folders::{
    PROJECT_FOLDER, config_folder, database_path, open_vault, resolve_roots, sandbox_home,
    state_folder,
};
pub(crate) use crate::library_folders::{library_folders, server_skills};
pub(crate) use crate::mcp_servers_file::{mcp_file, mcp_servers};
#[cfg(not(feature = "postgres"))]
pub(crate) use crate::open_stores::without_postgres;
pub(crate) use crate::open_stores::{StoreKind, daemon_stores, is_shared, stores, unsigned_stores};
pub(crate) use crate::surroundings::{desktop_opener, surroundings};

/// Builds a Toolcrib that runs calls of a person.
pub(crate) async fn build_for_person(world: &WorkspaceArgs) -> Result<Toolcrib, Failure> {
    let world =
        WorkspaceArgs { root: resolve_roots(&root_args(world))?, workspace: None, ..world.clone() };
    let config = load_config(&world)?;
    let approver = Arc::new(TerminalApprover::default());
    let builder = Toolcrib::builder(settings(&world, &config)?)
        .approver(approver)
        .secrets(config::known_keys(&config, &Env::from_process()));
    let toolcrib = builder.stores(stores()?).build().await?;
    output::set_secrets(&toolcrib.engine().sealing().secrets);
    Ok(toolcrib)
}

/// Builds a read-only Toolcrib with its stores: includes the tools of agents, and works in any
/// current folder.
pub(crate) async fn build_with_stores(world: &WorkspaceArgs) -> Result<Toolcrib, Failure> {
    let world = or_current_dir(world);
    let config = load_config(&world)?;
    let builder = Toolcrib::builder(settings(&world, &config)?).for_agents();
    Ok(builder.stores(stores()?).build().await?)
}

/// Builds a Toolcrib for testing one MCP server, with its stores.
pub(crate) async fn build_with_mcp_server(
    world: &WorkspaceArgs,
    server: ServerConfig,
) -> Result<Toolcrib, Failure> {
    let world = or_current_dir(world);
    let config = load_config(&world)?;
    let mut settings = settings(&world, &config)?;
    settings.mcp_servers = vec![server];
    let toolcrib = Toolcrib::builder(settings).stores(stores()?).build().await?;
    output::set_secrets(&toolcrib.engine().sealing().secrets);
    Ok(toolcrib)
}

/// Builds a read-only Toolcrib with the stored switches. It cannot run calls, so it works in any
/// current folder, and ignores a database that is missing or cannot be used.
pub(crate) async fn inspect(world: &WorkspaceArgs, json: bool) -> Result<Toolcrib, Failure> {
    Ok(inspect_builder(world, json)?.build().await?)
}

/// Like [`inspect`], with the tools of the agent loop.
pub(crate) async fn inspect_as_agent(
    world: &WorkspaceArgs,
    json: bool,
) -> Result<Toolcrib, Failure> {
    Ok(inspect_builder(world, json)?.for_agents().build().await?)
}

fn inspect_builder(world: &WorkspaceArgs, json: bool) -> Result<Builder, Failure> {
    let world = or_current_dir(world);
    let config = load_config(&world)?;
    let builder = Toolcrib::builder(settings(&world, &config)?);
    with_stored_switches(builder, json)
}

/// Like [`inspect_as_agent`], with these rules.
pub(crate) async fn inspect_with_rules(
    world: &WorkspaceArgs,
    config: &Config,
    rules: &RuleSet,
    json: bool,
) -> Result<Toolcrib, Failure> {
    let settings = Settings { rules: rules.clone(), ..settings_without_rules(world, config)? };
    let builder = Toolcrib::builder(settings).for_agents();
    Ok(with_stored_switches(builder, json)?.build().await?)
}

fn with_stored_switches(builder: Builder, json: bool) -> Result<Builder, Failure> {
    let nothing = match StoreKind::from_env()? {
        StoreKind::InMemory => true,
        StoreKind::InFile => !database_path()?.exists(),
        StoreKind::Shared(_) => false,
    };
    if nothing {
        return Ok(builder);
    }
    match stores() {
        Ok(stores) => Ok(builder.stores(stores)),
        Err(failure) => {
            let what = "the switches of tools cannot be read, so none of them is shown";
            output::warn(&format!("{what}: {}", failure.message), json);
            Ok(builder)
        }
    }
}

/// Returns the arguments with the current folder if they name no folder.
pub(crate) fn or_current_dir(world: &WorkspaceArgs) -> WorkspaceArgs {
    let named = root_args(world);
    let root = if named.is_empty() { vec![PathBuf::from(".")] } else { named };
    WorkspaceArgs { root, workspace: None, ..world.clone() }
}

/// Returns the named folders, the workspace first.
pub(crate) fn root_args(world: &WorkspaceArgs) -> Vec<PathBuf> {
    world.workspace.iter().chain(&world.root).cloned().collect()
}

/// Builds a Toolcrib for calls that may have to wait for a person: another process can then resume
/// them.
pub(crate) async fn build_for_calls(
    world: &WorkspaceArgs,
    on_ask: Option<OnAsk>,
) -> Result<Toolcrib, Failure> {
    build_call_toolcrib(world, on_ask, true).await
}

/// Builds a Toolcrib for calls that are only predicted: it has no approver, so it cannot ask.
pub(crate) async fn build_read_only(
    world: &WorkspaceArgs,
    on_ask: Option<OnAsk>,
) -> Result<Toolcrib, Failure> {
    build_call_toolcrib(world, on_ask, false).await
}

async fn build_call_toolcrib(
    world: &WorkspaceArgs,
    on_ask: Option<OnAsk>,
    at_work: bool,
) -> Result<Toolcrib, Failure> {
    let env = Env::from_process();
    let mut setup = RunSetup::new(&ModelArgs::default(), world)?;
    let named =
        WorkspaceArgs { root: resolve_roots(&root_args(world))?, workspace: None, ..world.clone() };
    let config = load_config(&named)?;
    let mut settings = settings(&named, &config)?;
    let on_ask = config.effective_on_ask(on_ask);
    apply_on_ask(&mut settings, on_ask);
    let console = Console::default();
    setup.waits = match on_ask {
        Some(OnAsk::Wait(_)) => true,
        Some(OnAsk::Deny | OnAsk::Fail) => false,
        None => console.has_person(),
    };
    let stores = stores()?;
    let mut builder = Toolcrib::builder(settings)
        .stores(stores.clone())
        .run_setup(setup.to_value())
        .environment(setup.tool_environment())
        .secrets(config::known_keys(&config, &env));
    let can_ask = at_work || on_ask.is_some() || console.has_person();
    let approver = session::select_approver(on_ask, &console, &stores.approvals);
    if let Some(approver) = approver.filter(|_| can_ask) {
        builder = builder.approver(approver);
    }
    let toolcrib = builder.build().await?;
    output::set_secrets(&toolcrib.engine().sealing().secrets);
    check_tools(&toolcrib, &config)?;
    warn_misspelled_hooks(&toolcrib, &config);
    Ok(toolcrib)
}

/// Sets how long a question to a person waits.
pub(crate) fn apply_on_ask(settings: &mut Settings, on_ask: Option<OnAsk>) {
    // A behavior that the caller sets applies to every channel.
    settings.engine.ask_everywhere = on_ask.is_some();
    match on_ask {
        Some(OnAsk::Wait(limit)) => settings.engine.approval_timeout = Some(limit),
        // No person sees the question, so its time limit does not run.
        Some(OnAsk::Fail) => settings.engine.approval_timeout = None,
        Some(OnAsk::Deny) | None => {}
    }
}

/// Builds a Toolcrib for evaluating rules separately: without any rule, and without stored data.
pub(crate) async fn build_without_rules(
    world: &WorkspaceArgs,
    config: &Config,
) -> Result<Toolcrib, Failure> {
    Ok(Toolcrib::builder(settings_without_rules(world, config)?).for_agents().build().await?)
}

/// Returns the settings from the command line and the configuration, with the rules of all layers.
/// The roots are used unchanged.
pub(crate) fn settings(world: &WorkspaceArgs, config: &Config) -> Result<Settings, Failure> {
    let rules = rule_layers::load_rules(world.root.first().map(PathBuf::as_path), config)?;
    Ok(Settings { rules, ..settings_without_rules(world, config)? })
}

fn settings_without_rules(world: &WorkspaceArgs, config: &Config) -> Result<Settings, Failure> {
    let mut settings = Settings::new(PathBuf::new(), state_folder()?);
    settings.roots.clone_from(&world.root);
    settings.allow_net = config.allow_net.iter().chain(&world.allow_net).cloned().collect();
    settings.engine.preset = config.effective_preset(world.policy).unwrap_or_default();
    settings.engine.tools = config.tool_settings();
    settings.vault = Some(open_vault()?);
    settings.secret_config = config.vault_tool_config();
    settings.engine.flags =
        config.flags.iter().map(|(name, allowed)| (name.0.clone(), *allowed)).collect();
    settings.engine.inbox = config.inbox.unwrap_or_default();
    settings.permissions = config.permission_table();
    settings.hooks = config.command_hooks(&Env::from_process());
    settings.tool_folders = tool_folders(world, config);
    settings.locale = locale();
    settings.web = config.web_settings(&Env::from_process());
    settings.heartbeat = config.heartbeat_settings();
    settings.notifications = config.notify_settings(desktop_notifier());
    settings.calendar = config.calendar_settings();
    settings.send_rules = config.send_rules();
    settings.mail_accounts = config_folder().map(|folder| folder.join("mail.toml"));
    settings.channel_accounts = config_folder().map(|folder| folder.join("channels.toml"));
    settings.sms_phone = config_folder().map(|folder| folder.join("sms.toml"));
    settings.workbench = Some(sandbox_confines(config));
    settings.sandbox_backend = config.sandbox.backend.unwrap_or_default();
    settings.app_health_interval = config.apps.health_interval();
    if let Some(time) = config.shell.background_idle {
        settings.background_idle = time;
    }
    settings.python = python(config);
    settings.discovery = config.tool_search_settings(&Env::from_process())?;
    settings.opener = desktop_opener();
    settings.mcp_servers = mcp_servers()?;
    // A model that could write its own policy, or read the keys beside it, would need no approval.
    settings.protected = config_folder().into_iter().chain([config.path.clone()]).collect();
    settings.protected.extend(config.key_files(&Env::from_process()));
    settings.protected.extend(userland_folder());
    settings.protected.retain(|path| !path.as_os_str().is_empty());
    Ok(settings)
}

/// Returns the policy of programs that tools run. They must not read Toolcrib's configuration.
fn sandbox_confines(config: &Config) -> ProgramPolicy {
    let confines = config.to_confines(sandbox_home(), &Env::from_process());
    let userland = userland(config);
    // The programs in these folders see their content as their own.
    let own = config_folder().into_iter().chain(userland_folder()).collect();
    ProgramPolicy { state_folders: own, userland, shell: config.shell.target, ..confines }
}

/// Returns the Linux userland of this person, whether it is installed or not; `None` if there is no
/// folder for it.
pub(crate) fn userland(config: &Config) -> Option<Userland> {
    let home = config.to_confines(sandbox_home(), &Env::from_process()).home?;
    Some(Userland::new(userland_folder()?, home))
}

/// Returns the settings of code execution, with this executable as the worker; `None` if the path
/// of the executable is unknown.
fn python(config: &Config) -> Option<PythonSettings> {
    let worker = env::current_exe().ok()?;
    let full = config.python.full.unwrap_or(true);
    Some(PythonSettings { worker, full, program: python_program(config), env: python_variables() })
}

/// Returns the Python program of the configuration.
pub(crate) fn python_program(config: &Config) -> Option<PathBuf> {
    config.python.program.as_deref().map(|path| config.resolve_path(path, &Env::from_process()))
}

/// Returns the environment variables for finding a Python and probing it.
pub(crate) fn python_variables() -> Vec<(OsString, OsString)> {
    let names = ["PATH", "HOME", "PYENV_ROOT", "PYENV_VERSION"];
    names.iter().filter_map(|name| Some(((*name).into(), env::var_os(name)?))).collect()
}

/// Loads the configuration of all layers, for the first root of these arguments. Prints its remarks
/// once.
pub(crate) fn load_config(world: &WorkspaceArgs) -> Result<Config, Failure> {
    let config = config::load(&Env::from_process(), world.root.first().map(PathBuf::as_path))?;
    let remarks = config.remarks.iter().cloned().chain(config.overruled_warning(world.policy));
    remarks.for_each(|remark| output::warn_once(&remark));
    Ok(config)
}

/// Waits, before the process ends, until hooks have received all events, and prints their failures.
pub(crate) async fn flush_hooks(toolcrib: &Toolcrib) {
    toolcrib.flush_hooks().await.iter().for_each(|remark| output::warn_once(remark));
}

/// Returns the sealing for commands without a Toolcrib: every configured value counts as a secret.
pub(crate) fn sealing() -> Result<Sealing, Failure> {
    let (env, vault) = (Env::from_process(), open_vault()?);
    let config = config::load(&env, None)?;
    let kept = vault.read().map_err(|error| Failure::configuration(error.to_string()))?;
    let keys = config::known_keys(&config, &env);
    let secrets = Secrets::default();
    let kept = toolcrib_app::secret_values(&kept);
    let all = kept.iter().chain(&keys).map(String::as_str);
    secrets.add(all.chain(config.literal_tool_config()));
    Ok(Sealing::new(secrets, Arc::new(vault)))
}
