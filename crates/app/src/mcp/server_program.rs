//! The program of a server as the sandbox runs it: what its entry gives it, and nothing else.

use std::path::{Path, PathBuf};

use toolcrib_builtins::program_runner::{Needs, Program, ProgramPolicy, WorkspaceAccess as Access};
use toolcrib_mcp::client::{Stdio, WorkspaceAccess};
use toolcrib_sandbox::process::DEFAULT_PATH;
use toolcrib_sandbox::{HostRules, Resources};

use super::launcher::{self, Phase};

/// Home folders of servers, beside that of other programs: what one server keeps, such as the
/// packages that it was fetched from, no other program changes.
const HOMES: &str = "mcp-homes";

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
    let hosts = launcher::hosts(stdio, phase);
    if !hosts.is_empty() {
        let rules = HostRules::parse(&hosts).map_err(|error| {
            format!("a host of allow_hosts cannot be used: {error}; write NAME or NAME:PORT")
        })?;
        needs.own_hosts = Some(rules);
    }
    if phase == Phase::Fetch {
        (needs.network, needs.workspace) = (false, Access::Hidden);
    } else if first_sight {
        let empty = empty_folders(policy, stdio);
        needs.readable.extend(empty.iter().cloned());
        needs.masked = empty;
    }
    if let Some(megabytes) = stdio.memory_mb {
        let memory = Some(megabytes.saturating_mul(1 << 20));
        needs.resources = Some(Resources { memory, ..policy.resources });
    }
    let folder = folder(&needs, stdio, home.as_deref());
    let (command, args) = launcher::command_line(stdio, phase);
    let mut program = Program::new(command).args(args).needs(needs);
    program = program.env("PATH", search_path(policy, stdio));
    if let Some(home) = &home {
        program = program.env("HOME", home);
    }
    for (name, value) in launcher::variables(stdio, phase).into_iter().chain(stdio.env.clone()) {
        program = program.env(name, value);
    }
    Ok(match folder {
        Some(folder) => program.folder(folder),
        None => program,
    })
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
