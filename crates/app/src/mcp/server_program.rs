//! The program of a server in the sandbox: it gets only the access that its entry grants.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use toolcrib_builtins::program_runner::{Needs, Program, ProgramPolicy, WorkspaceAccess as Access};
use toolcrib_mcp::client::{Stdio, WorkspaceAccess};
use toolcrib_sandbox::process::DEFAULT_PATH;
use toolcrib_sandbox::{HostRules, Resources};

use super::launcher::{self, Phase};

/// Folder of the home folders of servers, beside the home folder of other programs: no other
/// program can change the files of a server, such as its fetched packages.
const HOMES: &str = "mcp-homes";
/// Folder in the home of a server that replaces the workspace before the first review.
const SCRATCH: &str = "before-review";

/// Returns the home folder of a server; `None` if programs have no home folder.
pub(super) fn home(policy: &ProgramPolicy, server: &str) -> Option<PathBuf> {
    Some(home_beside(policy.home.as_ref()?, server))
}

/// Returns the home folder of a server beside this home folder of programs.
pub(super) fn home_beside(programs_home: &Path, server: &str) -> PathBuf {
    programs_home.with_file_name(HOMES).join(server)
}

/// Returns the program in this phase. Before its first review, it sees empty folders instead of
/// those of the workspace.
pub(super) fn program(
    policy: &ProgramPolicy,
    server: &str,
    stdio: &Stdio,
    phase: Phase,
    first_sight: bool,
) -> Result<Program, String> {
    let home = home(policy, server);
    let mut needs = Needs { network: stdio.network, ..Needs::default() };
    needs.workspace = match stdio.workspace {
        // The scratch folder below replaces the workspace.
        _ if first_sight => Access::Hidden,
        WorkspaceAccess::None => Access::Hidden,
        WorkspaceAccess::Read => Access::Read,
        WorkspaceAccess::Write => Access::Write,
    };
    let there = |paths: &[PathBuf]| -> Vec<PathBuf> {
        paths.iter().filter(|path| path.exists()).cloned().collect()
    };
    needs.readable = there(&stdio.read);
    needs.writable = there(&stdio.write);
    if let Some(home) = &home {
        std::fs::create_dir_all(home)
            .map_err(|error| format!("its home {} cannot be made: {error}", home.display()))?;
        needs.writable.push(home.clone());
    }
    let parsed = |hosts: &[String]| {
        HostRules::parse(hosts).map_err(|error| {
            format!("a host of allow_hosts cannot be used: {error}; write NAME or NAME:PORT")
        })
    };
    let registry = launcher::registry_hosts(stdio, phase);
    if !registry.is_empty() || !stdio.allow_hosts.is_empty() {
        // The person's own configuration names the registry, so it may have a private address. The
        // server's author may control other names and could point them into a private network.
        let registry = parsed(&registry)?.with_private_addresses();
        needs.own_hosts = Some(registry.and(parsed(&stdio.allow_hosts)?));
    }
    let mut stdio = Cow::Borrowed(stdio);
    let scratch = home.as_ref().map(|home| home.join(SCRATCH));
    if phase == Phase::Fetch {
        (needs.network, needs.workspace) = (false, Access::Hidden);
    } else if let Some(scratch) = scratch.filter(|_| first_sight && writes(&stdio)) {
        stdio = Cow::Owned(in_scratch(policy, &stdio, scratch)?);
    } else if first_sight {
        let empty = empty_folders(policy, &stdio);
        needs.readable.extend(empty.iter().cloned());
        needs.masked = empty;
    }
    if let Some(megabytes) = stdio.memory_mb {
        let memory = Some(megabytes.saturating_mul(1 << 20));
        needs.resources = Some(Resources { memory, ..policy.resources });
    }
    let folder = folder(&needs, &stdio, home.as_deref());
    let (command, args) = launcher::command_line(&stdio, phase);
    let mut program = Program::new(command).args(args).needs(needs);
    program = program.env("PATH", search_path(policy, &stdio));
    if let Some(home) = &home {
        program = program.env("HOME", home);
    }
    for (name, value) in launcher::variables(&stdio, phase).into_iter().chain(stdio.env.clone()) {
        program = program.env(name, value);
    }
    Ok(match folder {
        Some(folder) => program.folder(folder),
        None => program,
    })
}

fn writes(stdio: &Stdio) -> bool {
    stdio.workspace == WorkspaceAccess::Write
}

/// Returns the program before the first review of a server that changes the workspace: a separate
/// empty folder, which it may change, replaces the workspace. A server that creates its database at
/// its start could otherwise neither start nor be reviewed.
fn in_scratch(policy: &ProgramPolicy, stdio: &Stdio, scratch: PathBuf) -> Result<Stdio, String> {
    let failed = |error: std::io::Error| format!("{} cannot be made: {error}", scratch.display());
    match std::fs::remove_dir_all(&scratch) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    std::fs::create_dir_all(&scratch).map_err(failed)?;
    let real = policy.roots.iter().filter_map(|root| root.canonicalize().ok());
    let roots: Vec<PathBuf> = policy.roots.iter().cloned().chain(real).collect();
    let mut own = stdio.clone();
    for arg in &mut own.args {
        let (option, value) = match arg.split_once('=') {
            Some((option, value)) if option.starts_with('-') => (Some(option), value),
            _ => (None, arg.as_str()),
        };
        let path = Path::new(value);
        // A script in the workspace that the entry grants stays at its path.
        let is_given = stdio.read.iter().chain(&stdio.write).any(|own| path.starts_with(own));
        let is_plain = !path.components().any(|part| part == Component::ParentDir);
        let mut roots = roots.iter().filter(|_| is_plain && !is_given);
        let Some(inside) = roots.find_map(|root| path.strip_prefix(root).ok()) else { continue };
        let moved = scratch.join(inside);
        let folder = if path.is_dir() { Some(moved.as_path()) } else { moved.parent() };
        if let Some(folder) = folder {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let moved = moved.display();
        *arg = option.map_or_else(|| moved.to_string(), |option| format!("{option}={moved}"));
    }
    own.folder = Some(scratch);
    Ok(own)
}

/// Returns the working folder: the configured one, or the visible part of the workspace.
fn folder(needs: &Needs, stdio: &Stdio, home: Option<&Path>) -> Option<PathBuf> {
    if needs.workspace > Access::Hidden {
        return stdio.folder.clone();
    }
    let own = stdio.folder.clone().filter(|folder| {
        let mut seen = needs.readable.iter().chain(&needs.writable);
        folder.is_absolute() && seen.any(|path| folder.starts_with(path))
    });
    own.or_else(|| needs.masked.first().cloned()).or_else(|| home.map(Path::to_owned))
}

/// Returns the folders of the workspace that a server finds empty: those that its arguments name,
/// so that it starts, or else the workspace folders themselves.
fn empty_folders(policy: &ProgramPolicy, stdio: &Stdio) -> Vec<PathBuf> {
    let roots: Vec<PathBuf> =
        policy.roots.iter().filter_map(|root| root.canonicalize().ok()).collect();
    let given = |path: &Path| {
        let mut own = stdio.read.iter().chain(&stdio.write);
        own.any(|own| {
            own.canonicalize().is_ok_and(|own| own.starts_with(path) || path.starts_with(own))
        })
    };
    let named = stdio.args.iter().filter_map(|arg| {
        let path = Path::new(arg.rsplit_once('=').map_or(arg.as_str(), |(_, value)| value));
        let path = path.canonicalize().ok().filter(|path| path.is_dir())?;
        roots.iter().any(|root| path.starts_with(root)).then_some(path)
    });
    let mut named: Vec<PathBuf> = named.filter(|path| !given(path)).collect();
    named.sort();
    named.dedup();
    if named.is_empty() {
        named = roots.into_iter().filter(|root| !given(root)).collect();
    }
    named
}

/// Returns the search path of programs: first the folders of `bin` that the server may read, such
/// as those of a version manager or a virtual environment, then those of the owner and the system.
fn search_path(policy: &ProgramPolicy, stdio: &Stdio) -> std::ffi::OsString {
    let own = stdio.read.iter().map(|path| path.join("bin")).filter(|path| path.is_dir());
    let all = own.chain(policy.path.iter().cloned());
    let mut path: Vec<std::ffi::OsString> = all.map(PathBuf::into_os_string).collect();
    path.push(DEFAULT_PATH.into());
    path.join(":".as_ref())
}
