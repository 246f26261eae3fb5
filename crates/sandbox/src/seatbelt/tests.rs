//! Tests of the backend with a fake `sandbox-exec` that records its profile and runs the program:
//! everything except the isolation itself.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::backend::{KillChildrenResult, run};
use crate::host_rules::HostRules;
use crate::job::{LimitHit, Status};
use crate::process::Limits;

struct World {
    folder: tempfile::TempDir,
    seatbelt: Seatbelt,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stand_in = folder.path().join("sandbox-exec");
        let text = format!(
            "#!/bin/sh\n[ \"$1\" = -p ] || exit 99\nprintf %s \"$2\" > {}/profile\nshift 2\nexec \"$@\"\n",
            folder.path().display()
        );
        std::fs::write(&stand_in, text).unwrap();
        std::fs::set_permissions(&stand_in, PermissionsExt::from_mode(0o755)).unwrap();
        std::fs::create_dir(folder.path().join("work")).unwrap();
        let seatbelt = Seatbelt { program: stand_in, ..Seatbelt::new() };
        Self { folder, seatbelt }
    }

    fn sh(&self, command: &str) -> Job {
        let work = self.folder.path().join("work").canonicalize().unwrap();
        let policy = Policy { writable: vec![work], ..Policy::default() };
        Job::new("sh", policy).args(["-c", command])
    }

    async fn out(&self, job: &Job) -> (String, crate::job::JobResult) {
        let forever = std::future::pending();
        let (report, ended) =
            run(&self.seatbelt, job, b"hello", Limits::default(), forever).await.unwrap();
        (report.stdout.text().to_string() + &report.stderr.text(), ended)
    }
}

#[tokio::test]
async fn a_program_runs_in_its_folder_with_its_variables_and_streams() {
    let world = World::new();
    let mut job = world.sh("pwd; echo $A $HOME; cat; echo oops >&2; exit 7").env("A", "set");
    job.stdin = Stdin::Piped;
    let (said, ended) = world.out(&job).await;
    let work = world.folder.path().join("work").canonicalize().unwrap();
    assert!(said.starts_with(&format!("{}\nset /", work.display())), "{said}");
    assert!(said.contains("hello") && said.ends_with("oops\n"), "{said}");
    assert_eq!((ended.status, ended.level), (Status::Exited(7), Level::Reduced));
    let profile = std::fs::read_to_string(world.folder.path().join("profile")).unwrap();
    assert!(profile.contains(&format!("(subpath \"{}\")", work.display())), "{profile}");
}

#[tokio::test]
async fn its_time_ends_it_with_its_group() {
    let world = World::new();
    let mut job = world.sh("trap '' TERM; sleep 60 & sleep 60");
    job.policy.resources.wall = Some(Duration::from_millis(100));
    let (_, ended) = world.out(&job).await;
    assert_eq!((ended.stopped, ended.status), (Some(LimitHit::Time), Status::Signalled(9)));
}

#[tokio::test]
async fn what_a_command_leaves_is_swept_and_the_program_goes_on() {
    let world = World::new();
    let job = world.sh("sleep 60 & echo up; read line; echo $line");
    let mut process = world.seatbelt.start(&Job { stdin: Stdin::Piped, ..job }).await.unwrap();
    let mut said = [0; 3];
    process.stdout.read_exact(&mut said).await.unwrap();
    assert_eq!(process.kill_children().await.unwrap(), KillChildrenResult::Killed(1));
    process.stdin.take().unwrap().write_all(b"on\n").await.unwrap();
    let mut rest = String::new();
    process.stdout.read_to_string(&mut rest).await.unwrap();
    assert_eq!(rest, "on\n");
    assert_eq!(process.wait().await.unwrap().status, Status::Exited(0));
}

#[tokio::test]
async fn a_bridge_is_descriptor_three() {
    let world = World::new();
    let job = Job { bridge: true, ..world.sh("read line <&3; echo got $line >&3") };
    let mut process = world.seatbelt.start(&job).await.unwrap();
    let mut bridge = process.bridge.take().unwrap();
    bridge.write_all(b"word\n").await.unwrap();
    let mut said = [0; 9];
    bridge.read_exact(&mut said).await.unwrap();
    assert_eq!(&said, b"got word\n");
}

#[tokio::test]
async fn hosts_are_reached_by_the_proxy_alone() {
    let world = World::new();
    let mut job = world.sh("echo $HTTPS_PROXY");
    job.policy.network = Network::Hosts(HostRules::default());
    let (said, _) = world.out(&job).await;
    let port = said.trim().strip_prefix("http://127.0.0.1:").unwrap().to_owned();
    let profile = std::fs::read_to_string(world.folder.path().join("profile")).unwrap();
    assert!(profile.contains(&format!("\"localhost:{port}\"")), "{profile}");
    assert!(
        world.seatbelt.enforces_hosts(Level::Reduced)
            && !world.seatbelt.enforces_hosts(Level::None)
    );
    // The request is checked and reported, and the proxy ends with the program.
    let ask = "exec 3<>/dev/tcp/127.0.0.1/${HTTPS_PROXY##*:}; printf 'CONNECT other.example:443 HTTP/1.1\\r\\nHost: other.example:443\\r\\n\\r\\n' >&3; read -r line <&3; echo \"$line\"";
    let mut job = Job::new("bash", job.policy).args(["-c", ask]);
    job.folder = Some(world.folder.path().join("work"));
    let (said, ended) = world.out(&job).await;
    assert!(said.starts_with("HTTP/1.1 403"), "{said}");
    let refused: Vec<&str> = ended.refused.iter().map(|one| one.host.as_str()).collect();
    assert_eq!(refused, ["other.example:443"]);
}

#[tokio::test]
async fn what_it_cannot_do_is_refused_before_anything_runs() {
    let world = World::new();
    let check = async |change: &dyn Fn(&mut Job), words: &str| {
        let mut job = world.sh("true");
        change(&mut job);
        let error = world.seatbelt.start(&job).await.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    check(&|job| job.policy.minimum = Level::Namespace, "at least namespace").await;
    check(&|job| job.program = "no-such-program".into(), "no-such-program").await;
    check(&|job| job.folder = Some("/var".into()), "paths that the program may see").await;
    check(&|job| job.policy.readable.push("/no/such".into()), "/no/such").await;
    assert!(!world.folder.path().join("profile").exists());
    let unwalled = Seatbelt::new().max_level(Level::None);
    let mut job = world.sh("true");
    job.policy.minimum = Level::None;
    job.policy.network = Network::Hosts(HostRules::default());
    let error = unwalled.start(&job).await.unwrap_err();
    assert!(matches!(error, SandboxError::CannotHold { .. }), "{error}");
    job.policy.network = Network::None;
    job.policy.denied.push("/etc".into());
    let error = unwalled.start(&job).await.unwrap_err();
    assert!(matches!(error, SandboxError::CannotHold { .. }), "{error}");
}
