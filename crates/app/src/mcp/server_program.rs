//! The program of a server as the sandbox runs it: what its entry gives it, and nothing else.

use std::borrow::Cow;
use std::path::{Component, Path, PathBuf};

use toolcrib_builtins::program_runner::{Needs, Program, ProgramPolicy, WorkspaceAccess as Access};
use toolcrib_mcp::client::{Stdio, WorkspaceAccess};
use toolcrib_sandbox::process::DEFAULT_PATH;
use toolcrib_sandbox::{HostRules, Resources};

use super::launcher::{self, Phase};

/// Home folders of servers, beside that of other programs: what one server keeps, such as the
/// packages that it was fetched from, no other program changes.
const HOMES: &str = "mcp-homes";
/// Folder in the home of a server that stands in for the workspace before the first review.
const SCRATCH: &str = "before-review";

/// The home folder of a server; `None` if programs have no home here.
pub(super) fn home(policy: &ProgramPolicy, server: &str) -> Option<PathBuf> {
    Some(home_beside(policy.home.as_ref()?, server))
}

/// The same for a home folder of programs.
pub(super) fn home_beside(programs_home: &Path, server: &str) -> PathBuf {
    programs_home.with_file_name(HOMES).join(server)
}

/// The program in this phase. Before its first review it sees empty folders in place of those of
/// the workspace.
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
        // What stands in for it is below.
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
        // The registry is the one that the person's own configuration names, wherever it is. Other
        // names may belong to the server's author, who could point them into a private network.
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

/// The program before the first review of a server that changes the workspace: with an empty folder
/// of its own in place of the workspace, which it may change. One that creates its database at its
/// start would not start otherwise, and so could not be reviewed.
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
        // A script in the workspace that the entry gives it is where it was.
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

/// Where it starts: its configured folder, or the workspace as far as it sees it.
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

/// The folders of the workspace that a server finds empty: those that its arguments name, so that
/// it starts, or else the workspace folders themselves.
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

/// The folders of programs: those of what the server may read, as of a version manager or a virtual
/// environment, before the owner's and the system's.
fn search_path(policy: &ProgramPolicy, stdio: &Stdio) -> std::ffi::OsString {
    let own = stdio.read.iter().map(|path| path.join("bin")).filter(|path| path.is_dir());
    let all = own.chain(policy.path.iter().cloned());
    let mut path: Vec<std::ffi::OsString> = all.map(PathBuf::into_os_string).collect();
    path.push(DEFAULT_PATH.into());
    path.join(":".as_ref())
}
