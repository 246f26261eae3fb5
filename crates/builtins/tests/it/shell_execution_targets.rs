//! Shells in the Linux userland, installed from a mirror on loopback, and on the host.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use toolcrib_builtins::program_runner::{ProgramPolicy, ProgramRunner};
use toolcrib_core::{ErrorType, Permission};
use toolcrib_net::{AddressPolicy, HttpClient, SystemResolver};
use toolcrib_sandbox::userland::{Release, ShellTarget, State, Userland};
use toolcrib_sandbox::{Egress, HostRules, Level, Local, Network};

use crate::support::{Bench, Shop, WORKER, call_of, is_here};

#[expect(dead_code, reason = "not every way of a mirror is tried here")]
#[path = "../../../sandbox/tests/it/fake_mirror.rs"]
mod mirror;
#[path = "../../../sandbox/tests/it/fake_rootfs.rs"]
mod system;

use mirror::{Mirror, Way};

/// A bench whose shell runs in a userland at `state/userland`, with the mirror that installs it.
struct Scene {
    shop: Shop,
    userland: Userland,
    mirror: Mirror,
}

impl Scene {
    /// Returns `None` without busybox, or if this host does not support namespaces.
    async fn new(target: Option<ShellTarget>) -> Option<Self> {
        let built = tempfile::tempdir().unwrap();
        if !is_here(Level::Namespace).await || !system::build(built.path()) {
            return None;
        }
        let apk = built.path().join("sbin/apk");
        fs::write(&apk, include_str!("../../../sandbox/tests/it/apk.sh")).unwrap();
        fs::set_permissions(&apk, fs::Permissions::from_mode(0o755)).unwrap();
        let archive = archive(built.path());
        let arch = std::env::consts::ARCH;
        let mirror = Mirror::start(Way::Good).await;
        let digest = Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
        mirror
            .put(&format!("v3.24/releases/{arch}/alpine-minirootfs-3.24.2-{arch}.tar.gz"), archive);
        let release = Release {
            version: "3.24.2".into(),
            branch: "v3.24".into(),
            mirrors: vec![mirror.url()],
            sha256: [(arch.to_owned(), digest)].into(),
            signer: None,
            ..Release::pinned()
        };
        let mut userland = None;
        let bench = Bench::with(|confines| {
            let home = confines.home.clone().unwrap();
            let place = home.with_file_name("state").join("userland");
            let there = userland.insert(Userland::new(place, home).release(release)).clone();
            ProgramPolicy { userland: Some(there), shell: target, ..confines }
        });
        Some(Self { shop: Shop::on(bench), userland: userland.unwrap(), mirror })
    }

    async fn install(&self) {
        let client = HttpClient::new(AddressPolicy::with_allowed([self.mirror.entry()]).unwrap());
        self.userland.install(&client, false, &|_| ()).await.unwrap();
    }

    /// Returns the tool's description for models; computed again, as when Toolcrib starts.
    fn description(&self) -> String {
        let shells = Arc::clone(&self.shop.shells);
        let tools = toolcrib_builtins::Builtins::new().with_shells(shells).handlers();
        let shell = tools.iter().find(|tool| tool.spec().name.as_str() == "execute_shell_command");
        shell.unwrap().spec().description.clone()
    }
}

fn archive(folder: &Path) -> Vec<u8> {
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    tar.follow_symlinks(false);
    tar.append_dir_all(".", folder).unwrap();
    tar.into_inner().unwrap().finish().unwrap()
}

#[tokio::test]
async fn once_it_is_installed_the_shell_is_in_the_userland() {
    let Some(scene) = Scene::new(None).await else { return };
    let shop = &scene.shop;
    let ours = shop.sh("a", "test -e /etc/alpine-release && echo alpine; echo $0").await;
    assert_eq!(ours.out(), "bash\n", "before it is there, it is the host's");
    assert!(scene.description().contains("bash on Linux, in a sandbox"), "{}", scene.description());

    scene.install().await;
    let said = scene.description();
    assert!(said.contains("sh (busybox; no bash) on Alpine Linux 3.24.2"), "{said}");
    assert!(said.contains("60 s"), "{said}");
    // The running shell keeps its target; the shell of another conversation runs in the userland.
    let script = "cat /etc/alpine-release; id -u; pwd; echo from there > made; echo x > ~/own";
    let workspace = shop.bench.path("ws").display().to_string();
    assert_eq!(shop.sh("b", script).await.out(), format!("3.24.2\n0\n{workspace}\n"));
    assert_eq!(shop.bench.read("ws/made").unwrap(), "from there\n");
    assert_eq!(shop.bench.read("home/own").unwrap(), "x\n");
    assert_eq!(shop.bench.read("state/key").as_deref(), Some("SECRET"));
    let hidden = format!("cat {}", shop.bench.path("state/key").display());
    assert_ne!(shop.sh("b", &hidden).await.field("exit_code"), json!(0));
}

#[tokio::test]
async fn a_shell_that_is_no_bash_keeps_its_state_and_its_order() {
    let Some(scene) = Scene::new(Some(ShellTarget::Userland)).await else { return };
    scene.install().await;
    let shop = &scene.shop;
    fs::create_dir_all(shop.bench.path("ws/sub dir")).unwrap();
    shop.sh("a", "cd 'sub dir'; export SHOWN=1; hidden=2; say() { echo \"said $1\"; }").await;
    let said = shop.sh("a", "pwd; echo $SHOWN $hidden; say it").await;
    let folder = shop.bench.path("ws/sub dir").display().to_string();
    assert_eq!(said.out(), format!("{folder}\n1 2\nsaid it\n"));
    assert_eq!((said.str("cwd"), said.field("exit_code")), (folder.clone(), json!(0)));

    let check = async |command: &str, out: &str, code: i64| {
        let said = shop.sh("a", command).await;
        assert_eq!(
            (said.out(), said.field("exit_code")),
            (out.to_owned(), json!(code)),
            "{said:?}"
        );
        assert_eq!(shop.sh("a", "echo still here").await.out(), "still here\n", "{command:?}");
    };
    check("cat <<END\none\n$((1+1))\nEND", "one\n2\n", 0).await;
    check("for i in 1 2; do\n  echo $i\ndone # comment\n", "1\n2\n", 0).await;
    check("echo a; break; echo b", "a\n", 0).await;
    check("echo a; return 3; echo b", "a\n", 3).await;
    check("if true; then", "", 2).await;
    check("echo 'open", "", 2).await;
    check("cat; read x; echo [$x]", "[]\n", 0).await;
    check("exec >out.txt 2>&1; echo hidden", "", 0).await;
    check("IFS=x; echo größer", "größer\n", 0).await;
    check("(exit 3)", "", 3).await;
    check("sleep 100 & echo begun", "begun\n", 0).await;
    check("nosuch", "", 127).await;

    let args =
        json!({"command": "echo $A; env | grep ^A=", "env": {"A": "it's"}, "working_dir": ".."});
    assert_eq!(shop.with("a", args).await.out(), "it's\nA=it's\n");
    assert_eq!(shop.sh("a", "echo [$A]").await.out(), "[]\n");

    let said = shop.sh("a", "exit 4").await;
    assert_eq!((said.field("exit_code"), said.field("shell_died")), (json!(4), json!(true)));
    assert_eq!(shop.sh("a", "echo [$hidden]").await.out(), "[]\n");
    let fresh = json!({"command": "echo fresh; exit 2", "fresh": true});
    assert_eq!(shop.with("a", fresh).await.field("exit_code"), json!(2));
    let started = shop.with("a", json!({"command": "cat /etc/alpine-release", "background": true}));
    assert!(started.await.text().contains("3.24.2"));
}

#[tokio::test]
async fn limits_of_the_userland_are_its_own() {
    let Some(scene) = Scene::new(None).await else { return };
    scene.install().await;
    let shop = &scene.shop;
    let said = shop.sh("a", "seq 1 20000").await;
    let whole: usize = (1..=20_000usize).map(|n| n.to_string().len() + 1).sum();
    assert_eq!(said.field("stdout_bytes"), json!(whole));
    let left_out = format!("[… {} bytes left out …]", whole - 15_000);
    assert!(said.out().contains(&left_out), "{}", said.out().len());
    let said = shop.with("a", json!({"command": "echo a; sleep 60", "timeout": 1})).await;
    assert_eq!((said.out().as_str(), said.field("timed_out")), ("a\n", json!(true)));
    assert_eq!(shop.sh("a", "echo again").await.out(), "again\n");
}

#[tokio::test]
async fn a_userland_that_is_not_whole_is_said_with_what_mends_it() {
    let Some(scene) = Scene::new(Some(ShellTarget::Userland)).await else { return };
    let args = || json!({"command": "echo never"});
    let check = async |what: &str| {
        for background in [Value::Null, json!(true)] {
            let args = json!({"command": "touch made", "background": background});
            let error = scene.shop.fails("execute_shell_command", "a", args).await;
            assert_eq!(error.error_type, ErrorType::SandboxError);
            assert!(error.message.contains(what), "{}", error.message);
            assert!(error.message.contains("`toolcrib sandbox install`"), "{}", error.message);
        }
        assert!(scene.shop.bench.read("ws/made").is_none());
    };
    check("not installed").await;

    // The mirror closes the connection in the middle of the archive.
    scene.mirror.behave(Way::Cut(10_000));
    let client = HttpClient::new(AddressPolicy::with_allowed([scene.mirror.entry()]).unwrap());
    scene.userland.install(&client, false, &|_| ()).await.unwrap_err();
    assert!(matches!(scene.userland.status().state, State::Downloading { .. }));
    check("partly installed").await;

    scene.mirror.behave(Way::Good);
    scene.install().await;
    assert_eq!(scene.shop.with("a", args()).await.out(), "never\n");
    scene.shop.shells.end("ann", "a");
    fs::remove_file(scene.userland.folder().join("root/bin/sh")).unwrap();
    check("broken").await;
}

#[tokio::test]
async fn natively_a_command_does_what_the_person_can() {
    let bench =
        Bench::with(|confines| ProgramPolicy { shell: Some(ShellTarget::Native), ..confines });
    let confines = ProgramPolicy::clone(&bench.workbench.program_policy());
    let outside = bench.path("out/secret").display().to_string();
    let shop = Shop::on(bench);
    // The call is refused, because no backend for native programs is set.
    let args = json!({"command": "true"});
    let error = shop.fails("execute_shell_command", "a", args).await;
    assert_eq!(error.error_type, ErrorType::SandboxError);

    let (walled, bare) = (Local::with_helper(WORKER), Local::with_helper(WORKER));
    let workbench = ProgramRunner::new(Arc::new(walled), confines)
        .with_native(Arc::new(bare.max_level(Level::None)));
    let shells = Arc::new(toolcrib_builtins::shell::Shells::new(Arc::new(workbench), None));
    let tools = toolcrib_builtins::Builtins::new().with_shells(shells).handlers();
    let shell = &tools[tools
        .iter()
        .position(|tool| tool.spec().name.as_str() == "execute_shell_command")
        .unwrap()];
    assert!(shell.spec().description.contains("without a sandbox"));
    let args = json!({"command": format!("cat {outside}; echo; echo $HOME; cd /; sleep 100 &")});
    assert!(shell.assess(&args).unwrap().reach.exec);
    let said = shell.call(&call_of("a"), &args).await.unwrap();
    let fields = said.structured.unwrap();
    let home = std::env::var("HOME").unwrap();
    assert_eq!(fields["stdout"], json!(format!("SECRET\n{home}\n")));
    assert_eq!((&fields["sandbox"], &fields["cwd"]), (&json!("none"), &json!("/")));
}

#[tokio::test]
async fn a_host_that_is_not_allowed_is_asked_for_and_reached_by_that_call_alone() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let addr = listener.local_addr().unwrap().to_string();
    let serving = tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 1024]).await;
            let said = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello";
            let _ = stream.write_all(said).await;
        }
    });
    let bench = Bench::with(|confines| ProgramPolicy {
        network: Network::Hosts(HostRules::default()),
        ..confines
    });
    let confines = ProgramPolicy::clone(&bench.workbench.program_policy());
    let addresses = AddressPolicy::with_allowed([&addr]).unwrap();
    let egress = Egress::new(addresses, Arc::new(SystemResolver));
    let workbench =
        ProgramRunner::new(Arc::new(Local::with_helper(WORKER).egress(egress)), confines);
    let workbench = Arc::new(workbench);
    let shells = Arc::new(toolcrib_builtins::shell::Shells::new(Arc::clone(&workbench), None));
    let tools = toolcrib_builtins::Builtins::new().with_shells(shells).handlers();
    let is_it = |name: &str| name == "execute_shell_command";
    let shell = tools.iter().find(|tool| is_it(tool.spec().name.as_str())).unwrap();
    let ask = format!(
        "exec 3<>/dev/tcp/127.0.0.1/3128; printf 'GET http://{addr}/ HTTP/1.1\\r\\nHost: {addr}\\r\\n\\r\\n' >&3; cat <&3; pwd"
    );
    let run = async |args: &Value| {
        let said = shell.call(&call_of("a"), args).await.unwrap().structured.unwrap();
        (said["stdout"].as_str().unwrap().to_owned(), said["notes"].to_string())
    };
    let plain = json!({"command": ask, "working_dir": "/usr"});
    assert_eq!(shell.assess(&plain).unwrap().permissions, []);
    let (out, notes) = run(&plain).await;
    assert!(!out.contains("hello"), "{out}");
    let named = format!("call again with hosts: [\\\"{addr}\\\"]");
    assert!(notes.contains(&named), "{notes} {named}");

    let asking = json!({"command": ask, "hosts": [addr]});
    let assessed = shell.assess(&asking).unwrap();
    assert_eq!(assessed.permissions, [Permission::Host(addr.clone())]);
    assert!(assessed.reach.outbound && assessed.reach.exec);
    let (out, notes) = run(&asking).await;
    assert!(out.contains("hello") && out.ends_with("/usr\n"), "{out} {notes}");
    let (out, _) = run(&json!({"command": ask})).await;
    assert!(!out.contains("hello"), "only that one call: {out}");

    for wrong in ["*.example.com", "https://example.com/x", "a b", ""] {
        let error = shell.assess(&json!({"command": "ls", "hosts": [wrong]})).unwrap_err();
        assert_eq!(error.error_type, ErrorType::ValidationError, "{wrong}");
    }
    // Hosts that are already allowed, or never can be, need no approval.
    let with =
        |network| ProgramPolicy { network, ..ProgramPolicy::clone(&workbench.program_policy()) };
    let of = |host: &str| json!({"command": "ls", "hosts": [host]});
    workbench
        .set_program_policy(with(Network::Hosts(HostRules::parse(["*.example.com"]).unwrap())));
    assert_eq!(shell.assess(&of("a.example.com")).unwrap().permissions, []);
    assert_eq!(shell.assess(&of("example.com")).unwrap().permissions.len(), 1);
    workbench.set_program_policy(with(Network::Full));
    assert_eq!(shell.assess(&of("a.example")).unwrap().permissions, []);
    workbench.set_program_policy(with(Network::None));
    assert!(shell.assess(&of("a.example")).unwrap_err().message.contains("sandbox.network"));
    serving.abort();
}
