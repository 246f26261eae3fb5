//! Tests of programs with another root file system: visible paths and rights.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use toolcrib_sandbox::process::Limits;
use toolcrib_sandbox::{
    Backend as _, HostRules, Job, Level, Network, Policy, Rootfs, SandboxError, run,
};

use crate::fake_rootfs;
use crate::test_host::{Done, World, is_here, local};

struct Inside {
    world: World,
    root: Rootfs,
}

/// Creates a system with a home folder; `None` if this host cannot provide it.
async fn inside() -> Option<Inside> {
    if !is_here(Level::Namespace).await {
        return None;
    }
    let world = World::new();
    let (folder, home) = (world.path("system"), world.path("home"));
    fs::create_dir_all(&home).unwrap();
    fake_rootfs::build(&folder)
        .then(|| Inside { root: Rootfs { folder, writable: true, home: Some(home) }, world })
}

impl Inside {
    fn job(&self, policy: Policy, script: &str) -> Job {
        self.world.script(policy, script).root(self.root.clone())
    }

    async fn sh(&self, policy: Policy, script: &str) -> Done {
        let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
        let job = self.job(policy, script);
        let never = std::future::pending();
        let (report, ended) =
            run(&local(Level::Namespace), &job, b"", limits, never).await.unwrap();
        Done { report, ended }
    }

    fn policy(&self) -> Policy {
        Policy { readable: Vec::new(), ..self.world.policy() }
    }
}

#[tokio::test]
async fn a_program_lives_in_the_other_system_as_its_root() {
    let Some(inside) = inside().await else { return };
    let script = "cat /etc/alpine-release; id -u; pwd; cat src/main; echo; echo hello > ~/note; echo $HOME; touch /etc/new && echo changed; ls -d /usr/share 2>&1; echo x > /dev/null; echo t > /tmp/t; cat /tmp/t; ls /proc/self/comm; ls -A /sys | wc -l";
    let done = inside.sh(inside.policy(), script).await;
    let ws = inside.world.path("ws");
    let expected = format!(
        "3.24.2\n0\n{}\nmain\n/root\nchanged\nls: /usr/share: No such file or directory\nt\n/proc/self/comm\n0\n",
        ws.display()
    );
    assert_eq!(done.out(), expected, "{}", done.err());
    assert_eq!(done.ended.level, Level::Namespace);
    assert_eq!(fs::read_to_string(inside.world.path("home/note")).unwrap(), "hello\n");
    assert!(inside.root.folder.join("etc/new").exists());
    assert!(!inside.root.folder.join("tmp/t").exists(), "temporary files stay in memory");
}

#[tokio::test]
async fn nothing_of_the_host_is_seen_but_what_is_named() {
    let Some(inside) = inside().await else { return };
    let script = "cat $OUT/secret; cat $WS/.denied/key; cat $WS/.env; ls -A $WS/.denied; ls /usr/lib; cat /etc/debian_version; echo x > $WS/../out/new; ls $OUT; echo over";
    let done = inside.sh(inside.policy(), script).await;
    assert_eq!(done.out(), "over\n", "{}", done.err());
}

#[tokio::test]
async fn root_of_the_other_system_does_what_package_managers_do() {
    let Some(inside) = inside().await else { return };
    let script = "touch /etc/f && chown 33:33 /etc/f && echo given; mkdir -m 555 /var/closed && echo x > /var/closed/f && echo written; mkdir -p /r/bin && cp /bin/busybox /r/bin && chroot /r /bin/busybox echo in there; ln /etc/f /etc/g && echo linked; chmod 4755 /etc/f || echo no set-id";
    let done = inside.sh(inside.policy(), script).await;
    assert_eq!(done.out(), "given\nwritten\nin there\nlinked\nno set-id\n", "{}", done.err());
}

#[tokio::test]
async fn root_of_the_other_system_has_no_rights_on_the_host() {
    let Some(inside) = inside().await else { return };
    let script = "mount -t tmpfs x /mnt 2>/dev/null && echo MOUNTED; mknod /dev/x c 1 3 2>/dev/null && echo DEVICE; mknod /etc/x c 1 3 2>/dev/null && echo DEVICE; echo 1 > /proc/sys/vm/drop_caches && echo SYSCTL; unshare -m true 2>/dev/null && echo NAMESPACE; kill -0 $HOSTPID && echo SEEN; hostname other && echo NAMED; chroot /proc/1/root /bin/cat $OUT/secret && echo OUT; setpriv --nnp=0 true && echo PRIVS; echo over";
    let done = inside.sh(inside.policy(), script).await;
    assert_eq!(done.out(), "over\n", "{}", done.err());
}

#[tokio::test]
async fn a_system_that_may_only_be_read_cannot_be_changed() {
    let Some(mut inside) = inside().await else { return };
    inside.root.writable = false;
    let script = "touch /etc/new && echo CHANGED; rm /etc/passwd && echo GONE; echo x > ~/f && echo home; echo x > src/f && echo workspace; echo x > /tmp/f && echo temporary";
    let done = inside.sh(inside.policy(), script).await;
    assert_eq!(done.out(), "home\nworkspace\ntemporary\n", "{}", done.err());
}

#[tokio::test]
async fn what_is_denied_in_the_system_or_the_home_is_denied_by_its_other_name() {
    let Some(inside) = inside().await else { return };
    fs::write(inside.root.folder.join("etc/key"), "SECRET").unwrap();
    fs::write(inside.world.path("home/key"), "SECRET").unwrap();
    let denied = vec![
        inside.root.folder.join("etc/key"),
        inside.world.path("home/key"),
        // A folder that contains all of them.
        inside.root.folder.clone(),
    ];
    let policy = Policy { denied, ..inside.policy() };
    let done = inside.sh(policy, "cat /etc/key; cat ~/key; cat /etc/alpine-release").await;
    assert_eq!(done.out(), "3.24.2\n", "{}", done.err());
}

#[tokio::test]
async fn what_is_kept_in_the_workspace_or_the_home_is_read_and_cannot_be_moved_away() {
    let Some(inside) = inside().await else { return };
    for folder in ["ws/.git", "home/.git"] {
        fs::create_dir_all(inside.world.path(folder)).unwrap();
        fs::write(inside.world.path(folder).join("config"), "kept").unwrap();
    }
    let kept = ["ws/.git/config", "home/.git/config"].map(|path| inside.world.path(path));
    let policy = Policy { read_only: kept.to_vec(), ..inside.policy() };
    let script = "for d in $WS ~; do cat $d/.git/config; echo; echo x > $d/.git/config && echo CHANGED; rm -f $d/.git/config && echo GONE; mv $d/.git $d/.other && echo MOVED; echo x > $d/.git/new && echo made; done";
    let done = inside.sh(policy, script).await;
    assert_eq!(done.out(), "kept\nmade\nkept\nmade\n", "{}", done.err());
}

#[tokio::test]
async fn without_namespaces_there_is_no_other_system() {
    let Some(inside) = inside().await else { return };
    let job = inside.job(inside.policy(), "echo RAN");
    let refused = local(Level::Reduced).start(&job).await;
    assert!(matches!(refused, Err(SandboxError::CannotHold { .. })), "{refused:?}");
}

#[tokio::test]
async fn where_nothing_needs_to_be_kept_apart_proot_shows_the_other_system() {
    let Some(inside) = inside().await else { return };
    let policy = Policy {
        minimum: Level::None,
        writable: vec![inside.world.path("ws")],
        ..Policy::default()
    };
    let script = "cat /etc/alpine-release; id -u; pwd; cat src/main; echo; echo hello > ~/note; echo x > made; touch /etc/f && chown 33:33 /etc/f && echo given; exit 7";
    let job = inside.job(policy.clone(), script);
    let backend = local(Level::Reduced);
    let never = std::future::pending();
    let (report, ended) = match run(&backend, &job, b"", Limits::default(), never).await {
        Err(SandboxError::NoMaker { .. }) => {
            eprintln!("NOT TRIED: there is no proot on this host");
            return;
        }
        result => result.unwrap(),
    };
    let ws = inside.world.path("ws").display().to_string();
    let expected = format!("3.24.2\n0\n{ws}\nmain\ngiven\n");
    assert_eq!(report.stdout.text(), expected, "{}", report.stderr.text());
    assert_eq!((ended.level, ended.status.code()), (Level::None, 7));
    assert_eq!(fs::read_to_string(inside.world.path("home/note")).unwrap(), "hello\n");
    assert_eq!(fs::read_to_string(inside.world.path("ws/made")).unwrap(), "x\n");
    assert_eq!(inside.world.left(), Vec::<String>::new());
    // proot enforces nothing, and reports that.
    let denied = vec![inside.world.path("ws/.env")];
    let network = Network::Hosts(HostRules::default());
    for policy in [Policy { denied, ..policy.clone() }, Policy { network, ..policy.clone() }] {
        let refused = backend.start(&inside.job(policy, "echo RAN")).await;
        assert!(matches!(refused, Err(SandboxError::CannotHold { .. })), "{refused:?}");
    }
    // The isolation of other programs is unchanged.
    let other = inside.world.script(inside.world.policy(), "true");
    let never = std::future::pending();
    let (_, ended) = run(&backend, &other, b"", Limits::default(), never).await.unwrap();
    assert_eq!(ended.level, Level::Reduced);
}

#[tokio::test]
async fn a_system_that_is_not_there_or_is_the_hosts_own_is_refused() {
    let Some(mut inside) = inside().await else { return };
    for folder in [inside.world.path("gone"), PathBuf::from("/")] {
        inside.root.folder = folder;
        let refused = local(Level::Namespace).start(&inside.job(inside.policy(), "true")).await;
        assert!(matches!(refused, Err(SandboxError::Path { .. })), "{refused:?}");
    }
}

#[tokio::test]
async fn a_system_whose_folders_were_replaced_by_links_leads_nowhere() {
    for place in ["root", "tmp", "dev", "proc"] {
        let Some(inside) = inside().await else { return };
        let path = inside.root.folder.join(place);
        fs::remove_dir_all(&path).unwrap();
        std::os::unix::fs::symlink("/etc", &path).unwrap();
        let refused = local(Level::Namespace).start(&inside.job(inside.policy(), "true")).await;
        assert!(refused.is_err(), "{place}: {refused:?}");
        let left = fs::read_dir(inside.root.folder.join("etc")).unwrap().count();
        assert_eq!(left, 5, "{place}: nothing was made in /etc");
    }
}
