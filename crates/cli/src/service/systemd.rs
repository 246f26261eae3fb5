//! systemd, for one user.

use std::path::{Path, PathBuf};

use super::service_command::{run_checked, run_visible};
use super::{SERVICE_NAME, Service};
use crate::config::Env;
use crate::output::Failure;

const PROGRAM: &str = "systemctl";
const UNIT: &str = "toolcrib.service";

/// Returns the path of the unit in `$XDG_CONFIG_HOME/systemd/user`, where systemd finds units of a
/// user (`systemd.unit(5)`).
pub(super) fn path() -> Result<PathBuf, Failure> {
    let env = Env::from_process();
    let config = env.path("XDG_CONFIG_HOME").or_else(|| Some(env.path("HOME")?.join(".config")));
    let config = config.ok_or_else(|| Failure::configuration("there is no home folder"))?;
    Ok(config.join("systemd/user").join(UNIT))
}

/// Returns the unit. Tools run programs of the user, so restrictions of the unit apply to them,
/// too.
pub(super) fn unit(service: &Service) -> Result<String, Failure> {
    // In a command, `$` starts a variable.
    let word = |path: &Path| Ok::<String, Failure>(quoted(path)?.replace('$', "$$"));
    let program = word(&service.program)?;
    let workspace = word(&service.workspace)?;
    let home = match &service.home {
        Some(home) => {
            format!("Environment={}\n", quoted_text(&format!("TOOLCRIB_HOME={}", text(home)?)))
        }
        None => String::new(),
    };
    let writes: Result<Vec<String>, Failure> =
        service.writes.iter().map(|path| quoted(path)).collect();
    let writes = writes?.join(" ");
    // A private `/tmp` would hide a workspace in it.
    let is_in_tmp = ["/tmp", "/var/tmp"].iter().any(|tmp| service.workspace.starts_with(tmp));
    let private_tmp = if is_in_tmp { "" } else { "PrivateTmp=yes\n" };
    Ok(format!(
        "\
[Unit]
Description=Toolcrib: tools for AI agents
Documentation=man:toolcrib(1)
After=network-online.target

[Service]
Type=notify
NotifyAccess=main
ExecStart={program} serve --workspace {workspace}
ExecReload=/bin/kill -HUP $MAINPID
{home}Restart=on-failure
RestartSec=2s
# Longer than `drain` of the section [server].
TimeoutStopSec=60s
WatchdogSec=60s
LimitNOFILE=65536
UMask=0077
# Programs of tools get groups of their own beside that of the daemon (the second line: systemd 254; without it they do without).
Delegate=memory pids
DelegateSubgroup=daemon

# What it does not need. Programs that tools run are held to the same. Nothing is laid over /proc or taken of namespaces: the sandbox of
# those programs is made of them.
NoNewPrivileges=yes
ProtectSystem=strict
ReadWritePaths={writes}
{private_tmp}RestrictSUIDSGID=yes
RestrictRealtime=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
LockPersonality=yes
SystemCallArchitectures=native

[Install]
WantedBy=default.target
"
    ))
}

fn text(path: &Path) -> Result<&str, Failure> {
    path.to_str().ok_or_else(|| Failure::usage(format!("{} is not UTF-8 text", path.display())))
}

fn quoted(path: &Path) -> Result<String, Failure> {
    let text = text(path)?;
    if text.chars().any(char::is_control) {
        return Err(Failure::usage("the path holds control characters"));
    }
    Ok(quoted_text(text))
}

/// Quotes a text as in `systemd.syntax(7)`: `%` starts a specifier.
fn quoted_text(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('%', "%%");
    let is_plain =
        text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-=".contains(&byte));
    if is_plain { escaped } else { format!("\"{escaped}\"") }
}

/// Checks that the manager of this user's units responds.
///
/// # Errors
/// The reason, with advice: without a session of the user, there is no manager.
pub(super) fn check_reachable() -> Result<(), Failure> {
    run_checked(PROGRAM, &["--user", "show-environment"]).map_err(|failure| {
        if failure.message.contains("is not here") {
            return failure;
        }
        let user = Env::from_process().path("USER");
        let user = user.map_or_else(|| "$USER".to_owned(), |user| user.display().to_string());
        Failure::run(format!(
            "the systemd of your user cannot be reached, so nothing was written: {}\n  Log in as this user itself (not with su or sudo), or let it run without a session: sudo loginctl enable-linger {user}\n  `toolcrib serve` runs in the foreground, and `toolcrib daemon service install --print` prints the unit.",
            failure.message
        ))
    })
}

pub(super) fn install() -> Result<(), Failure> {
    run_checked(PROGRAM, &["--user", "daemon-reload"])?;
    run_checked(PROGRAM, &["--user", "enable", "--now", UNIT])
}

pub(super) fn uninstall() -> Result<(), Failure> {
    run_checked(PROGRAM, &["--user", "disable", "--now", UNIT])
}

pub(super) fn start() -> Result<(), Failure> {
    run_checked(PROGRAM, &["--user", "start", UNIT])
}

pub(super) fn stop() -> Result<(), Failure> {
    run_checked(PROGRAM, &["--user", "stop", UNIT])
}

pub(super) fn status() -> Result<u8, Failure> {
    run_visible(PROGRAM, &["--user", "--no-pager", "status", UNIT])
}

pub(super) fn logs(lines: u32, follow: bool) -> Result<u8, Failure> {
    let lines = lines.to_string();
    let mut args = vec!["--user", "--unit", SERVICE_NAME, "--lines", &lines, "--no-pager"];
    if follow {
        args.push("--follow");
    }
    run_visible("journalctl", &args)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn service(workspace: &str) -> Service {
        Service {
            program: "/usr/bin/toolcrib".into(),
            workspace: workspace.into(),
            home: None,
            writes: vec![workspace.into()],
        }
    }

    #[test]
    fn paths_are_quoted_as_systemd_reads_them() {
        let check = |workspace: &str, word: &str, path: &str| {
            let unit = unit(&service(workspace)).unwrap();
            assert!(unit.contains(&format!("serve --workspace {word}\n")), "{unit}");
            assert!(unit.contains(&format!("ReadWritePaths={path}\n")), "{unit}");
        };
        check("/srv/work", "/srv/work", "/srv/work");
        check("/srv/my work", "\"/srv/my work\"", "\"/srv/my work\"");
        let (word, path) = (r#""/srv/1%%\"$$A\\x""#, r#""/srv/1%%\"$A\\x""#);
        check(r#"/srv/1%"$A\x"#, word, path);
        assert!(unit(&service("/srv/a\nExecStart=/bin/sh")).is_err());
        assert!(unit(&service("/srv/w")).unwrap().contains("\nPrivateTmp=yes\n"));
        assert!(!unit(&service("/tmp/w")).unwrap().contains("PrivateTmp"));
        let home = Service { home: Some("/srv/t c".into()), ..service("/w") };
        assert!(unit(&home).unwrap().contains("Environment=\"TOOLCRIB_HOME=/srv/t c\"\n"));
    }
}
