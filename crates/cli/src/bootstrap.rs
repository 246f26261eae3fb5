//! A Toolcrib from the words of the command line and the environment.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Runtime;
use toolcrib_app::agent::library::{Folder, Folders, Scope};
use toolcrib_app::assistant::notify::DesktopProgram;
use toolcrib_app::bench::ProgramPolicy;
use toolcrib_app::core::Surroundings;
use toolcrib_app::mcp::client::ServerConfig;
use toolcrib_app::sandbox::userland::Userland;
use toolcrib_app::store::{Migrations, ProcessIdentity, SharedOptions};
use toolcrib_app::{
    Builder, Opener, PythonSettings, Sealing, Secrets, Settings, Stores, ToolFolder, Toolcrib,
};
use toolcrib_ops::mcp_servers::McpServersFile;

use crate::clap_args::{ModelArgs, WorkspaceArgs};
use crate::config::{self, Config, Env, OnAsk};
use crate::output::{self, Failure};
use crate::rule_layers;
use crate::session::{self, RunSetup};
use crate::terminal::{Console, TerminalApprover};

pub(crate) use crate::configured_names::{
    check_tool_names, check_tools, unknown_matchers, unknown_tools, warn_misspelled_hooks,
};
use crate::folders::userland_folder;
pub(crate) use crate::folders::{
    PROJECT_FOLDER, config_folder, database_path, open_vault, resolve_roots, sandbox_home,
    state_folder,
};

/// One thread is enough for one command, and starts fastest.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::run(format!("the runtime cannot start: {error}")))
}

/// Runs a command to its end. What still blocks in the background, such as an abandoned name
/// lookup, is left behind.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = runtime()?;
    let result = runtime.block_on(future);
    runtime.shutdown_background();
    result
}

/// Builds what calls run on.
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

/// Builds what is only looked at, with what is stored of it: the tools of agents too, in any
/// current folder.
pub(crate) async fn build_with_stores(world: &WorkspaceArgs) -> Result<Toolcrib, Failure> {
    let world = or_current_dir(world);
    let config = load_config(&world)?;
    let builder = Toolcrib::builder(settings(&world, &config)?).for_agents();
    Ok(builder.stores(stores()?).build().await?)
}

/// Builds what tries one MCP server, with what is stored of it.
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

/// Everything that is kept of this person.
pub(crate) fn stores() -> Result<Stores, Failure> {
    open_stores(SharedIdentity::default())
}

/// The same for a daemon, which the other daemons of a shared database list. `instance` identifies
/// it across restarts.
pub(crate) fn daemon_stores(instance: Option<String>) -> Result<Stores, Failure> {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let process = ProcessIdentity { host, version: env!("CARGO_PKG_VERSION").to_owned() };
    open_stores(SharedIdentity { process: Some(process), instance })
}

fn open_stores(identity: SharedIdentity) -> Result<Stores, Failure> {
    match StoreKind::from_env()? {
        StoreKind::Shared(url) => open_shared_stores(url, true, shared_options(identity)?),
        StoreKind::InMemory => Ok(Stores::memory()),
        StoreKind::InFile => Stores::open(Some(&database_path()?))
            .map_err(|error| Failure::configuration(error.to_string())),
    }
}

/// The same without the key of the audit, for verification: closing them signs nothing.
pub(crate) fn unsigned_stores() -> Result<Stores, Failure> {
    match StoreKind::from_env()? {
        StoreKind::Shared(url) => {
            open_shared_stores(url, false, shared_options(SharedIdentity::default())?)
        }
        StoreKind::InMemory => Ok(Stores::memory()),
        StoreKind::InFile => Stores::unsigned(&database_path()?)
            .map_err(|error| Failure::configuration(error.to_string())),
    }
}

/// Whether everything is kept in a database that several machines share.
pub(crate) fn is_shared() -> Result<bool, Failure> {
    Ok(matches!(StoreKind::from_env()?, StoreKind::Shared(_)))
}

/// Where everything is kept.
pub(crate) enum StoreKind {
    /// In the file of the state folder.
    InFile,
    /// In memory, and gone with the process.
    InMemory,
    /// In the database of this address.
    Shared(String),
}

impl StoreKind {
    /// As the environment has it.
    ///
    /// # Errors
    /// Exit code 3 where it is no text.
    pub(crate) fn from_env() -> Result<Self, Failure> {
        Ok(match Env::from_process().text(DATABASE_URL)? {
            None => Self::InFile,
            Some(url) if url == IN_MEMORY => Self::InMemory,
            Some(url) => Self::Shared(url),
        })
    }

    /// Its kind, in one word.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::InFile => "sqlite",
            Self::InMemory => "memory",
            Self::Shared(_) => "postgres",
        }
    }
}

/// Names a database that several machines share, or [`IN_MEMORY`], in place of the file in the
/// state folder. It may hold a password, so it is no option.
const DATABASE_URL: &str = "TOOLCRIB_DATABASE_URL";
/// Nothing is kept longer than the process lives.
const IN_MEMORY: &str = "memory:";

/// What a shared database knows of this process; a command has neither.
#[derive(Default)]
struct SharedIdentity {
    process: Option<ProcessIdentity>,
    instance: Option<String>,
}

/// Says what happens to missing migrations of a shared database: `apply` (default) or `refuse`.
const DATABASE_MIGRATIONS: &str = "TOOLCRIB_DATABASE_MIGRATIONS";

fn shared_options(identity: SharedIdentity) -> Result<SharedOptions, Failure> {
    let migrations = match Env::from_process().text(DATABASE_MIGRATIONS)?.as_deref() {
        None | Some("apply") => Migrations::Apply,
        Some("refuse") => Migrations::Refuse,
        Some(_) => {
            let words = format!("{DATABASE_MIGRATIONS} must be `apply` or `refuse`");
            return Err(Failure::configuration(words));
        }
    };
    let SharedIdentity { process, instance } = identity;
    Ok(SharedOptions { identity: process, instance, migrations })
}

/// Connects on a thread of its own: callers may be async already.
#[cfg(feature = "postgres")]
fn open_shared_stores(url: String, signs: bool, shared: SharedOptions) -> Result<Stores, Failure> {
    let state = state_folder()?;
    let connecting = std::thread::spawn(move || {
        let runtime = runtime()?;
        let stores = runtime.block_on(async {
            if signs {
                Stores::connect(&url, &state, shared).await
            } else {
                Stores::connect_unsigned(&url, shared).await
            }
        });
        stores.map_err(|error| Failure::configuration(error.to_string()))
    });
    let failed = |_| Failure::run("connecting to the database broke off");
    connecting.join().map_err(failed)?
}

#[cfg(not(feature = "postgres"))]
fn open_shared_stores(_: String, _: bool, _: SharedOptions) -> Result<Stores, Failure> {
    Err(without_postgres())
}

#[cfg(not(feature = "postgres"))]
pub(crate) fn without_postgres() -> Failure {
    Failure::configuration(format!(
        "{DATABASE_URL} is set, and this binary was built without Postgres; build it with `--features postgres`, or unset the variable"
    ))
}

/// Builds what is only looked at, with the switches that are stored. No call can run on it, so
/// every current folder will do, and a database that is missing or cannot be used is ignored.
pub(crate) async fn inspect(world: &WorkspaceArgs, json: bool) -> Result<Toolcrib, Failure> {
    Ok(inspect_builder(world, json)?.build().await?)
}

/// The same with the tools of the agent loop, as agents see them.
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

/// The same world, in the current folder if it names none.
pub(crate) fn or_current_dir(world: &WorkspaceArgs) -> WorkspaceArgs {
    let named = root_args(world);
    let root = if named.is_empty() { vec![PathBuf::from(".")] } else { named };
    WorkspaceArgs { root, workspace: None, ..world.clone() }
}

/// The folders that were named, the workspace first.
pub(crate) fn root_args(world: &WorkspaceArgs) -> Vec<PathBuf> {
    world.workspace.iter().chain(&world.root).cloned().collect()
}

/// Builds what calls run on that may have to wait for a person: another process knows then how to
/// go on with them.
pub(crate) async fn build_for_calls(
    world: &WorkspaceArgs,
    on_ask: Option<OnAsk>,
) -> Result<Toolcrib, Failure> {
    build_call_toolcrib(world, on_ask, true).await
}

/// The same for calls that are only predicted: without an approver, no question can be asked.
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
    let is_anybody_there = at_work || on_ask.is_some() || console.has_person();
    let approver = session::select_approver(on_ask, &console, &stores.approvals);
    if let Some(approver) = approver.filter(|_| is_anybody_there) {
        builder = builder.approver(approver);
    }
    let toolcrib = builder.build().await?;
    output::set_secrets(&toolcrib.engine().sealing().secrets);
    check_tools(&toolcrib, &config)?;
    warn_misspelled_hooks(&toolcrib, &config);
    Ok(toolcrib)
}

/// How long a question to a person waits.
pub(crate) fn apply_on_ask(settings: &mut Settings, on_ask: Option<OnAsk>) {
    // A meaning of asking that the caller sets holds for every channel.
    settings.engine.ask_everywhere = on_ask.is_some();
    match on_ask {
        Some(OnAsk::Wait(limit)) => settings.engine.approval_timeout = Some(limit),
        // The question is not on a screen, so its time does not run.
        Some(OnAsk::Fail) => settings.engine.approval_timeout = None,
        Some(OnAsk::Deny) | None => {}
    }
}

/// Builds what rules are judged apart from: without any rule, and with nothing that is stored.
pub(crate) async fn build_without_rules(
    world: &WorkspaceArgs,
    config: &Config,
) -> Result<Toolcrib, Failure> {
    Ok(Toolcrib::builder(settings_without_rules(world, config)?).for_agents().build().await?)
}

/// The settings that these words and the configuration come to, with the rules of all layers. The
/// roots are taken as they are.
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
    settings.workbench = Some(sandbox_confines(config));
    settings.sandbox_backend = config.sandbox.backend.unwrap_or_default();
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

/// The file of MCP servers; `None` = there is no configuration folder.
pub(crate) fn mcp_file() -> Option<McpServersFile> {
    Some(McpServersFile { path: config_folder()?.join("mcp.toml") })
}

/// The MCP servers of this person, those that are off too.
pub(crate) fn mcp_servers() -> Result<Vec<ServerConfig>, Failure> {
    mcp_file().map_or_else(|| Ok(Vec::new()), |file| Ok(file.read()?))
}

/// What programs of tools may touch. Our configuration is not for their eyes.
fn sandbox_confines(config: &Config) -> ProgramPolicy {
    let confines = config.to_confines(sandbox_home(), &Env::from_process());
    let userland = userland(config);
    // What is in it is seen by its own programs, as theirs.
    let own = config_folder().into_iter().chain(userland_folder()).collect();
    ProgramPolicy { state_folders: own, userland, shell: config.shell.target, ..confines }
}

/// The Linux userland of this person, whether it is installed or not; `None` = there is no place
/// for it.
pub(crate) fn userland(config: &Config) -> Option<Userland> {
    let home = config.to_confines(sandbox_home(), &Env::from_process()).home?;
    Some(Userland::new(userland_folder()?, home))
}

/// The variables that lead to the person's desktop, as far as they are set.
fn desktop_env() -> Vec<(String, String)> {
    /// What leads to a desktop, and what programs of one expect.
    const NAMES: [&str; 12] = [
        "DISPLAY",
        "WAYLAND_DISPLAY",
        "XAUTHORITY",
        "XDG_RUNTIME_DIR",
        "XDG_CURRENT_DESKTOP",
        "XDG_DATA_DIRS",
        "XDG_CONFIG_DIRS",
        "DBUS_SESSION_BUS_ADDRESS",
        "HOME",
        "PATH",
        "LANG",
        "BROWSER",
    ];
    NAMES.iter().filter_map(|name| Some(((*name).to_owned(), env::var(name).ok()?))).collect()
}

/// What opens files on the person's desktop; `None` = there is none to be seen from here.
pub(crate) fn desktop_opener() -> Option<Opener> {
    let env = desktop_env();
    let has = |name: &str| env.iter().any(|(own, value)| own == name && !value.is_empty());
    let program = match env::consts::OS {
        "macos" => "open",
        "linux" if has("DISPLAY") || has("WAYLAND_DISPLAY") => "xdg-open",
        _ => return None,
    };
    Some(Opener { program: program.into(), env })
}

/// What shows notifications on the person's desktop; `None` = there is none to be seen from here.
fn desktop_notifier() -> Option<DesktopProgram> {
    let env = desktop_env();
    let value = |name: &str| env.iter().find(|(own, _)| own == name).map(|(_, value)| value);
    let program = match env::consts::OS {
        "macos" => "osascript",
        "linux" if value("DBUS_SESSION_BUS_ADDRESS").is_some_and(|bus| !bus.is_empty()) => {
            "notify-send"
        }
        _ => return None,
    };
    let is_there = |folder: PathBuf| folder.join(program).is_file();
    let is_installed = env::split_paths(value("PATH")?).any(is_there);
    is_installed.then(|| DesktopProgram { program: program.into(), env })
}

/// Code execution, in other roles of this executable. Without its path there is none.
fn python(config: &Config) -> Option<PythonSettings> {
    let worker = env::current_exe().ok()?;
    let full = config.python.full.unwrap_or(true);
    Some(PythonSettings { worker, full, program: python_program(config), env: python_variables() })
}

/// The Python that the configuration names.
pub(crate) fn python_program(config: &Config) -> Option<PathBuf> {
    config.python.program.as_deref().map(|path| config.resolve_path(path, &Env::from_process()))
}

/// The variables by which a Python is found and started to ask it what it is.
pub(crate) fn python_variables() -> Vec<(OsString, OsString)> {
    let names = ["PATH", "HOME", "PYENV_ROOT", "PYENV_VERSION"];
    names.iter().filter_map(|name| Some(((*name).into(), env::var_os(name)?))).collect()
}

/// The configuration of all layers, in the first root of this world. What people should know of it
/// is said once.
pub(crate) fn load_config(world: &WorkspaceArgs) -> Result<Config, Failure> {
    let config = config::load(&Env::from_process(), world.root.first().map(PathBuf::as_path))?;
    let remarks = config.remarks.iter().cloned().chain(config.overruled_warning(world.policy));
    remarks.for_each(|remark| output::warn_once(&remark));
    Ok(config)
}

/// Waits until hooks were told of everything that has happened, and says what went wrong with them:
/// before a process ends.
pub(crate) async fn flush_hooks(toolcrib: &Toolcrib) {
    toolcrib.flush_hooks().await.iter().for_each(|remark| output::warn_once(remark));
}

/// Keeps secrets out of what is written down where no tools are at hand: every configured value
/// counts as one.
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

/// What the environment says about the person at this terminal.
pub(crate) fn surroundings() -> Surroundings {
    let zone = jiff::tz::TimeZone::system();
    let said = Surroundings {
        locale: locale().unwrap_or_default(),
        time_zone: zone.iana_name().unwrap_or_default().to_owned(),
        device: "terminal".to_owned(),
        ..Surroundings::default()
    };
    // A locale such as `en_US@nonsense` may have any form.
    if said.check().is_ok() { said } else { Surroundings::default() }
}

/// The person's locale as the environment has it: `de_AT.UTF-8` is `de-AT`.
fn locale() -> Option<String> {
    let value = ["LC_ALL", "LC_MESSAGES", "LANG"]
        .into_iter()
        .find_map(|name| env::var(name).ok().filter(|value| !value.is_empty()))?;
    let language = value.split(['.', '@']).next()?.replace('_', "-");
    (!matches!(language.as_str(), "C" | "POSIX" | "")).then_some(language)
}

/// Folders of tools: the person's own, the workspace's, and those that were named. The author of a
/// workspace is unknown: its tools never count as harmless, unless the owner trusts it.
fn tool_folders(world: &WorkspaceArgs, config: &Config) -> Vec<ToolFolder> {
    let own = config_folder().map(|folder| ToolFolder::new("own", folder.join("tools")));
    let workspace = world.root.first().map(|root| {
        let folder = ToolFolder::new("workspace", root.join(PROJECT_FOLDER).join("tools"));
        if config.is_trusted_workspace(root, &Env::from_process()) {
            folder
        } else {
            folder.untrusted()
        }
    });
    let named = world.tools.iter().enumerate().map(|(at, path)| {
        let id = if at == 0 { "tools".to_owned() } else { format!("tools-{}", at + 1) };
        ToolFolder::new(id, path)
    });
    // The first that has a name keeps it: a workspace cannot take the place of what the person
    // brought.
    own.into_iter().chain(named).chain(workspace).collect()
}

/// Where agents, skills, kits and guides are looked for: the person's folders and the workspace's.
pub(crate) fn library_folders(workspace: Option<&Path>, config: &Config) -> Folders {
    let trusted =
        workspace.is_some_and(|root| config.is_trusted_workspace(root, &Env::from_process()));
    let mut folders = Folders { trusted, ..Folders::default() };
    let mut add = |scope: Scope, base: &Path| {
        let folder = |name: &str| Folder { scope, path: base.join(name) };
        folders.agents.push(folder("agents"));
        folders.skills.push(folder("skills"));
        folders.kits.push(folder("kits"));
        folders.guides.push(folder("guides"));
    };
    if let Some(own) = config_folder() {
        add(Scope::User, &own);
    }
    if let Some(workspace) = workspace {
        add(Scope::Project, &workspace.join(PROJECT_FOLDER));
    }
    if let Some(own) = config_folder() {
        folders.skills.extend(skills_of_servers(&own));
    }
    // Folders that other programs of this kind share (Agent Skills).
    let shared = [".agents", ".claude"];
    let home = env::home_dir().filter(|_| env::var_os("TOOLCRIB_HOME").is_none());
    for (scope, base) in [(Scope::User, home.as_deref()), (Scope::Project, workspace)] {
        let Some(base) = base else { continue };
        let skills = shared.iter().map(|name| base.join(name).join("skills"));
        folders.skills.extend(skills.map(|path| Folder { scope, path }));
    }
    folders
}

/// Skills that were taken over from MCP servers, in a folder for each server, so that no server
/// replaces the skills of another.
pub(crate) fn server_skills(config: &Path) -> PathBuf {
    config.join("server-skills")
}

/// Those of servers that are there still.
fn skills_of_servers(config: &Path) -> Vec<Folder> {
    let base = server_skills(config);
    if !base.is_dir() {
        return Vec::new();
    }
    let servers = mcp_servers().unwrap_or_default();
    let folder = |name: &str| Folder { scope: Scope::Server, path: base.join(name) };
    servers
        .iter()
        .filter(|server| server.enabled)
        .map(|server| folder(server.name.as_str()))
        .collect()
}
