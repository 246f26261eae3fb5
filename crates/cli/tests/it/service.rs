//! `toolcrib daemon service`: the file of the service, and clear errors without a service manager.

use std::fs;
use std::process::Command;

use crate::support::{TestEnv, end};

#[test]
fn the_unit_is_one_that_systemd_reads() {
    let env = TestEnv::new();
    let unit = env.run(&["daemon", "service", "install", "--print"]).code(0).stdout;
    for line in ["Type=notify", "NoNewPrivileges=yes", "ProtectSystem=strict", "WatchdogSec=60s"] {
        assert!(unit.lines().any(|own| own == line), "{line}: {unit}");
    }
    assert!(unit.contains(&format!("serve --workspace {}", env.root().display())), "{unit}");
    assert!(unit.contains("TOOLCRIB_HOME="), "{unit}");
    let path = env.outside().join("toolcrib.service");
    fs::write(&path, unit).unwrap();
    // If systemd is available, it verifies the unit.
    let Ok(verified) =
        Command::new("systemd-analyze").args(["--user", "verify"]).arg(&path).output()
    else {
        return;
    };
    let said = String::from_utf8_lossy(&verified.stderr).into_owned();
    let ours: Vec<&str> = said.lines().filter(|line| line.contains("toolcrib.service")).collect();
    assert!(
        ours.iter().all(|line| line.contains("man page") || line.contains("Man page")),
        "{said}"
    );
}

#[test]
fn without_a_user_bus_nothing_is_written_and_the_way_out_is_said() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    let program = env.outside().join("systemctl");
    fs::write(
        &program,
        "#!/bin/sh\necho 'Failed to connect to bus: No medium found' >&2\nexit 1\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = env.command(&["daemon", "service", "install"]);
    command.env("PATH", env.outside()).env("USER", "ada");
    let words = ["nothing was written", "No medium found", "enable-linger ada", "toolcrib serve"];
    end(command, b"").code(1).says(&words);
    assert!(!env.outside().join("nobody/.config/systemd/user/toolcrib.service").exists());
}

#[test]
fn a_machine_without_a_service_manager_is_reported() {
    let env = TestEnv::new();
    let run = |args: &[&str]| {
        let mut command = env.command(args);
        command.env("PATH", env.outside());
        end(command, b"")
    };
    for args in [
        &["daemon", "service", "status"][..],
        &["daemon", "service", "start"],
        &["daemon", "service", "stop"],
        &["daemon", "service", "logs"],
    ] {
        run(args).code(1).says(&["is not here", "toolcrib serve"]);
    }
    run(&["daemon", "service", "uninstall"]).code(4).says(&["not installed"]);
    run(&["daemon", "service", "install"]).code(1).says(&["is not here"]);
    // Without a service manager, no file is written, and none is overwritten.
    let unit = env.outside().join("nobody/.config/systemd/user/toolcrib.service");
    assert!(!unit.exists());
    fs::create_dir_all(unit.parent().unwrap()).unwrap();
    fs::write(&unit, "mine").unwrap();
    run(&["daemon", "service", "install"]).code(2).says(&["--force"]);
    run(&["daemon", "service", "install", "--workspace", "/"]).code(2);
    assert_eq!(fs::read_to_string(&unit).unwrap(), "mine");
    let json = run(&["daemon", "service", "install", "--print", "--json"]).code(0).stdout;
    assert!(json.starts_with("[Unit]"));
}
