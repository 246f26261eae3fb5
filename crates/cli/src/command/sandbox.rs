//! `toolcrib sandbox`: runs a program in a sandbox, and shows what this host enforces.

use std::path::PathBuf;

use serde_json::{Value, json};
use toolcrib_builtins::program_runner::create_protected_dirs;
use toolcrib_net::{AddressPolicy, SystemResolver};
use toolcrib_sandbox::{
    Backend, Bubblewrap, Egress, Gvisor, HostRules, Job, JobResult, Level, LimitHit, Local,
    Network, Policy, Probe, Resources, SandboxError, run_in_process,
};

use super::userland;
use crate::bootstrap;
use crate::clap_args::{Sandbox, SandboxExec, SandboxNet};
use crate::output::{self, Failure};

/// Exit code of a program that timed out, as `timeout(1)` reports it.
const EXIT_TIMED_OUT: u8 = 124;

const MEBIBYTE: u64 = 1 << 20;

pub(super) fn run(command: &Sandbox, json: bool) -> Result<u8, Failure> {
    match command {
        Sandbox::Status => status(json),
        Sandbox::Exec(command) => exec(command),
        Sandbox::Shell(world) => super::sandbox_shell::run(world),
        Sandbox::Install(command) => userland::install(command, json),
        Sandbox::Uninstall(command) => userland::uninstall(command, json),
        Sandbox::Packages(command) => userland::packages(command, json),
    }
}

fn exec(command: &SandboxExec) -> Result<u8, Failure> {
    let (program, args) =
        command.command.split_first().ok_or_else(|| Failure::usage("name a program after --"))?;
    let mut job = Job::new(program, policy(command)?).args(args);
    job.folder.clone_from(&command.cwd);
    if command.userland {
        job.root = Some(userland::find_userland()?.root().map_err(userland::failure)?);
    }
    let addresses = AddressPolicy::with_allowed(&command.allow_net)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let egress = Egress::new(addresses, std::sync::Arc::new(SystemResolver));
    let ended = run_in_process(&job, Level::Namespace, &egress).map_err(failure)?;
    print_limit_notes(&ended);
    Ok(exit_code(&ended))
}

fn policy(command: &SandboxExec) -> Result<Policy, Failure> {
    let network = match command.net {
        SandboxNet::None => Network::None,
        SandboxNet::Proxy => Network::Hosts(HostRules::from_iter(command.allow_host.clone())),
        SandboxNet::Full => Network::Full,
    };
    if command.net != SandboxNet::Proxy && !command.allow_host.is_empty() {
        return Err(Failure::usage("--allow-host needs --net proxy"));
    }
    let usual = Resources::default();
    let bytes = |mebibytes: Option<u64>| mebibytes.map(|mebibytes| mebibytes * MEBIBYTE);
    let resources = Resources {
        memory: bytes(command.memory).or(usual.memory),
        processes: command.processes.or(usual.processes),
        disk: bytes(command.disk).or(usual.disk),
        wall: command.timeout,
        ..usual
    };
    let mut denied = command.deny.clone();
    denied.extend(own_folders(&command.write));
    // Programs may read the workspace's `.toolcrib` folder, but must not change it.
    let kept = command.write.iter().map(|path| path.join(bootstrap::PROJECT_FOLDER)).collect();
    let (readable, writable) = (command.read.clone(), command.write.clone());
    Ok(Policy {
        readable,
        writable,
        read_only: kept,
        denied,
        masked: Vec::new(),
        network,
        resources,
        minimum: command.level,
    })
}

/// Returns Toolcrib's configuration, secrets and state, which are never visible inside, even if an
/// option names them. The program could create a missing folder where it may write, so it is
/// created first.
fn own_folders(writable: &[PathBuf]) -> Vec<PathBuf> {
    let own: Vec<PathBuf> =
        bootstrap::config_folder().into_iter().chain(bootstrap::state_folder().ok()).collect();
    for (folder, error) in create_protected_dirs(&own, writable.iter()) {
        output::warn(&format!("{} cannot be protected: {error}", folder.display()), false);
    }
    own
}

fn print_limit_notes(ended: &JobResult) {
    for refused in &ended.refused {
        output::eprint_line(&format!(
            "toolcrib: {} was not reached ({})",
            refused.host, refused.rule
        ));
    }
    if let Some(stopped) = ended.stopped {
        output::eprint_line(&format!("toolcrib: it was stopped because {}", stopped.message()));
    }
}

fn exit_code(ended: &JobResult) -> u8 {
    match ended.stopped {
        Some(LimitHit::Time) => EXIT_TIMED_OUT,
        _ => u8::try_from(ended.status.code()).unwrap_or(u8::MAX),
    }
}

pub(super) fn failure(error: SandboxError) -> Failure {
    let code = match &error {
        SandboxError::NoProgram(_) => 127,
        SandboxError::NotRun { .. } => 126,
        SandboxError::Path { .. } | SandboxError::FolderNotVisible(_) => 2,
        SandboxError::BelowMinimum { .. } | SandboxError::CannotHold { .. } => 5,
        _ => 1,
    };
    let advice = match &error {
        SandboxError::BelowMinimum { .. } => "; `toolcrib sandbox status` says what is missing",
        SandboxError::FolderNotVisible(_) => "; name it with --read or --write",
        _ => "",
    };
    Failure { code, message: format!("{error}{advice}") }
}

fn status(json: bool) -> Result<u8, Failure> {
    let probes = bootstrap::block_on(async {
        let mut probes = vec![Local::new().probe().await];
        probes.push(Bubblewrap::new().probe().await);
        probes.push(Gvisor::new().probe().await);
        Ok(probes)
    })?;
    let there_is_one = probes.iter().any(|probe| probe.strongest > Level::None);
    // Without a folder for the userland, its status is omitted.
    let userland = userland::find_userland().ok().map(|userland| userland.status());
    if json {
        let mut all: Vec<Value> = probes.iter().map(|probe| json!(probe)).collect();
        all.extend(userland.as_ref().map(userland::status_json));
        output::print_json(&Value::Array(all), true)?;
    } else {
        let mut texts: Vec<String> = probes.iter().map(status_text).collect();
        texts.extend(userland.as_ref().map(userland::status_text));
        output::print_line(&texts.join("\n"))?;
    }
    Ok(u8::from(!there_is_one))
}

fn status_text(probe: &Probe) -> String {
    let mut text = format!("{}: {}\n", probe.backend, probe.strongest);
    for feature in &probe.features {
        let works = if feature.works { "yes" } else { "no" };
        text += &format!("  {:<14} {works:<4} {}\n", feature.name, feature.detail);
    }
    for limit in &probe.limits {
        let works = if limit.works { "yes" } else { "no" };
        text += &format!("  {:<14} {works:<4} {}\n", limit.name, limit.detail);
    }
    let tried: Vec<Level> = [Level::Namespace, Level::Reduced]
        .into_iter()
        .filter(|level| probe.cases.iter().any(|case| is_tried(case, *level)))
        .collect();
    if tried.is_empty() {
        return text;
    }
    text += "  held at:";
    for level in &tried {
        text += &format!(" {level:<9}");
    }
    text += "\n";
    for case in &probe.cases {
        text += "          ";
        for level in &tried {
            text += &format!(" {:<9}", if case.held_at.contains(level) { "yes" } else { "NO" });
        }
        text += &format!(" {}\n", case.what);
    }
    text
}

fn is_tried(case: &toolcrib_sandbox::Case, level: Level) -> bool {
    case.held_at.contains(&level) || case.open_at.contains(&level)
}
