//! Userland tests with fake mirrors that serve a small system: installation and its failures,
//! programs in it, packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest as _, Sha256};
use toolcrib_net::{AddressPolicy, HttpClient, SystemResolver};
use toolcrib_sandbox::process::Limits;
use toolcrib_sandbox::userland::{
    InstallResult, Package, PackageName, Progress, Release, Signer, State, Userland, UserlandError,
};
use toolcrib_sandbox::{Egress, Job, Level, Network, Policy, run};

use crate::fake_mirror::{Mirror, Way};
use crate::fake_rootfs;
use crate::test_host::{is_here, local};

const VERSION: &str = "3.24.2";

/// Mirrors with an archive, and a folder for a userland.
struct Scene {
    folder: tempfile::TempDir,
    mirrors: Vec<Mirror>,
    archive: Vec<u8>,
    release: Release,
    told: Arc<Mutex<Vec<Progress>>>,
}

/// Creates the archive of a small system; `None` if there is no busybox.
fn archive() -> Option<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    if !fake_rootfs::build(folder.path()) {
        return None;
    }
    let apk = folder.path().join("sbin/apk");
    fs::write(&apk, include_str!("apk.sh")).unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(&apk, fs::Permissions::from_mode(0o755)).unwrap();
    let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    tar.follow_symlinks(false);
    tar.append_dir_all(".", folder.path()).unwrap();
    Some(tar.into_inner().unwrap().finish().unwrap())
}

impl Scene {
    async fn new(ways: &[Way]) -> Option<Self> {
        Some(Self::of(archive()?, ways).await)
    }

    /// Creates the same with any archive.
    async fn of(archive: Vec<u8>, ways: &[Way]) -> Self {
        let mut mirrors = Vec::new();
        for way in ways {
            let mirror = Mirror::start(*way).await;
            mirror.put(&path(""), archive.clone());
            mirrors.push(mirror);
        }
        let digest: String =
            Sha256::digest(&archive).iter().map(|byte| format!("{byte:02x}")).collect();
        let release = Release {
            version: VERSION.into(),
            branch: "v3.24".into(),
            mirrors: mirrors.iter().map(Mirror::url).collect(),
            sha256: [(std::env::consts::ARCH.to_owned(), digest)].into(),
            signer: None,
            ..Release::pinned()
        };
        let folder = tempfile::tempdir().unwrap();
        Self { folder, mirrors, archive, release, told: Arc::default() }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(path)
    }

    fn userland(&self) -> Userland {
        Userland::new(self.path("userland"), self.path("home")).release(self.release.clone())
    }

    fn addresses(&self) -> AddressPolicy {
        AddressPolicy::with_allowed(self.mirrors.iter().map(Mirror::entry)).unwrap()
    }

    async fn install(&self) -> Result<InstallResult, UserlandError> {
        self.install_again(false).await
    }

    async fn install_again(&self, anew: bool) -> Result<InstallResult, UserlandError> {
        let told = Arc::clone(&self.told);
        let told = move |progress| told.lock().unwrap().push(progress);
        let client = HttpClient::new(self.addresses());
        self.userland().install(&client, anew, &told).await
    }

    fn useless(&self) -> Vec<String> {
        let told = self.told.lock().unwrap();
        let reasons = told.iter().filter_map(|progress| match progress {
            Progress::Useless(_, reason) => Some(reason.clone()),
            _ => None,
        });
        reasons.collect()
    }

    fn backend(&self) -> toolcrib_sandbox::Local {
        local(Level::Namespace).egress(Egress::new(self.addresses(), Arc::new(SystemResolver)))
    }

    async fn sh(&self, script: &str) -> String {
        let job = Job::new("sh", Policy::default())
            .args(["-c", script])
            .root(self.userland().root().unwrap());
        let limits = Limits { time: Duration::from_secs(60), ..Limits::default() };
        let never = std::future::pending();
        let (report, _) = run(&self.backend(), &job, b"", limits, never).await.unwrap();
        report.stdout.text().into_owned() + &report.stderr.text()
    }

    fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.path("userland")).unwrap().flatten();
        let mut names: Vec<String> =
            names.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Returns the path of an archive on a mirror.
fn path(suffix: &str) -> String {
    let arch = std::env::consts::ARCH;
    format!("v3.24/releases/{arch}/alpine-minirootfs-{VERSION}-{arch}.tar.gz{suffix}")
}

fn ready(installed: Result<InstallResult, UserlandError>) -> toolcrib_sandbox::userland::Ready {
    match installed.unwrap() {
        InstallResult::Now(ready) | InstallResult::Already(ready) => ready,
    }
}

#[tokio::test]
async fn a_userland_is_installed_used_and_removed() {
    let Some(scene) = Scene::new(&[Way::Good]).await else { return };
    let userland = scene.userland();
    assert_eq!(userland.status().state, State::Absent);
    assert!(
        matches!(userland.root(), Err(UserlandError::NotReady(state)) if *state == State::Absent)
    );
    assert!(!userland.uninstall(true).unwrap());

    let installed = ready(scene.install().await);
    assert_eq!(installed.version, VERSION);
    assert_eq!(installed.mirror, scene.mirrors[0].url());
    assert_eq!(userland.status().state, State::Ready(installed.clone()));
    assert_eq!(scene.files(), ["lock", "root", "state.json"]);
    assert_eq!(userland.shell(), "sh");
    if is_here(Level::Namespace).await {
        let said = scene.sh("cat /etc/alpine-release; id -u; pwd; echo hello > note").await;
        assert_eq!(said, "3.24.2\n0\n/root\n");
        assert_eq!(fs::read_to_string(scene.path("home/note")).unwrap(), "hello\n");
    }

    assert!(matches!(scene.install().await, Ok(InstallResult::Already(same)) if same == installed));
    fs::write(scene.path("userland/root/etc/mark"), "x").unwrap();
    assert!(matches!(scene.install_again(true).await, Ok(InstallResult::Now(_))));
    assert!(!scene.path("userland/root/etc/mark").exists(), "it is a new one");

    assert!(userland.uninstall(false).unwrap());
    assert_eq!(userland.status().state, State::Absent);
    assert!(!scene.path("userland").exists() && scene.path("home").is_dir());
    assert!(userland.uninstall(true).unwrap());
    assert!(!scene.path("home").exists());
}

#[tokio::test]
async fn the_first_mirror_that_is_of_use_is_taken() {
    let ways = [Way::Silent, Way::Missing, Way::Wrong, Way::Encoded, Way::Good, Way::Good];
    let Some(mut scene) = Scene::new(&ways).await else { return };
    // A mirror that does not exist, and one with a forbidden address.
    scene.release.mirrors.insert(0, "http://127.0.0.1:1/alpine".into());
    let installed = ready(scene.install().await);
    assert_eq!(installed.mirror, scene.mirrors[4].url());
    assert!(scene.mirrors[5].seen().is_empty(), "nobody after it is asked");
    let reasons = scene.useless();
    assert_eq!(reasons.len(), 5, "{reasons:?}");
    for (reason, words) in reasons[2..].iter().zip(["404", "SHA-256", "another encoding"]) {
        assert!(reason.contains(words), "{reason}");
    }
}

#[tokio::test]
async fn where_no_mirror_is_of_use_each_is_named_with_its_reason() {
    let scene = Scene::of(b"whatever".to_vec(), &[Way::Missing, Way::Wrong]).await;
    let error = scene.install().await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, UserlandError::NoMirror { .. }), "{text}");
    for words in [scene.mirrors[0].url(), "404".into(), scene.mirrors[1].url(), "SHA-256".into()] {
        assert!(text.contains(&words), "{text}");
    }
    assert!(matches!(
        scene.userland().status().state,
        State::Verifying | State::Downloading { .. }
    ));
    assert!(!scene.path("userland/root").exists());
}

#[tokio::test]
async fn a_download_that_breaks_off_is_gone_on_with() {
    let Some(scene) = Scene::new(&[Way::Cut(200_000)]).await else { return };
    let installed = ready(scene.install().await);
    assert_eq!(installed.mirror, scene.mirrors[0].url());
    let seen = scene.mirrors[0].seen();
    let pieces = scene.archive.len().div_ceil(200_000);
    assert!(pieces > 2, "the archive is too small for this test");
    assert_eq!(seen.len(), pieces, "{seen:?}");
    assert!(seen[1].ends_with(" bytes=200000-") && seen[2].ends_with(" bytes=400000-"), "{seen:?}");
}

#[tokio::test]
async fn a_download_that_was_killed_is_gone_on_with_by_the_next_installation() {
    let Some(scene) = Scene::new(&[Way::Silent]).await else { return };
    let part = scene.path(&format!("userland/{}.part", path("").rsplit('/').next().unwrap()));
    fs::create_dir(scene.path("userland")).unwrap();
    // The state after a killed process.
    fs::write(&part, &scene.archive[..300_000]).unwrap();
    fs::write(scene.path("userland/state.json"), r#"{"state":"downloading","mirror":"m"}"#)
        .unwrap();
    fs::create_dir(scene.path("userland/left-over-1")).unwrap();
    let status = scene.userland().status();
    assert_eq!((status.downloaded, status.at_work), (300_000, false));
    let Err(UserlandError::NotReady(state)) = scene.userland().root() else { panic!("it is not") };
    assert!(state.message().contains("partly installed"), "{}", state.message());

    assert!(scene.install().await.is_err());
    assert_eq!(fs::metadata(&part).unwrap().len(), 300_000, "what came is kept");
    scene.mirrors[0].behave(Way::Good);
    ready(scene.install().await);
    assert!(scene.mirrors[0].seen().last().unwrap().ends_with(" bytes=300000-"));
    assert_eq!(scene.files(), ["lock", "root", "state.json"]);
}

#[tokio::test]
async fn a_wrong_beginning_is_thrown_away() {
    for way in [Way::Good, Way::CutAndForgetful(usize::MAX)] {
        let Some(scene) = Scene::new(&[way]).await else { return };
        let part = scene.path(&format!("userland/{}.part", path("").rsplit('/').next().unwrap()));
        fs::create_dir(scene.path("userland")).unwrap();
        // A part of another archive, and a part longer than this one.
        for length in [1000, scene.archive.len() + 1000] {
            fs::write(&part, vec![7; length]).unwrap();
            ready(scene.install_again(true).await);
        }
    }
}

#[tokio::test]
async fn a_mirror_that_always_breaks_off_at_the_start_is_given_up() {
    let ways = [Way::CutAndForgetful(1000), Way::Good];
    let Some(scene) = Scene::new(&ways).await else { return };
    assert_eq!(ready(scene.install().await).mirror, scene.mirrors[1].url());
    assert!(scene.mirrors[0].seen().len() <= 21, "{}", scene.mirrors[0].seen().len());
}

#[tokio::test]
async fn hostile_archives_leave_nothing_and_what_was_ready_stays() {
    let Some(scene) = Scene::new(&[Way::Good]).await else { return };
    let before = ready(scene.install().await);
    let hostile = |name: &str, kind: tar::EntryType, link: &str| {
        let mut tar = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        for (place, byte) in header.as_old_mut().name.iter_mut().zip(name.bytes()) {
            *place = byte;
        }
        for (place, byte) in header.as_old_mut().linkname.iter_mut().zip(link.bytes()) {
            *place = byte;
        }
        header.set_mode(0o755);
        header.set_size(0);
        header.set_cksum();
        tar.append(&header, &b""[..]).unwrap();
        tar.into_inner().unwrap().finish().unwrap()
    };
    let outside = scene.path("outside");
    for (name, kind, link) in [
        ("../../outside", tar::EntryType::Regular, ""),
        (outside.to_str().unwrap(), tar::EntryType::Regular, ""),
        ("bin/sh", tar::EntryType::Symlink, "../../../../outside"),
        ("bin/sh", tar::EntryType::Link, "../../../outside"),
        ("bin/disk", tar::EntryType::Block, ""),
    ] {
        let mirror = Scene::of(hostile(name, kind, link), &[Way::Good]).await;
        let userland = Userland::new(scene.path("userland"), scene.path("home"));
        let client = HttpClient::new(mirror.addresses());
        let result =
            userland.release(mirror.release.clone()).install(&client, false, &|_| {}).await;
        assert!(matches!(result, Err(UserlandError::Unpack(_))), "{name}: {result:?}");
        assert!(!outside.exists(), "{name}");
        assert_eq!(scene.userland().status().state, State::Ready(before.clone()), "{name}");
        assert_eq!(scene.files(), ["lock", "root", "state.json"], "{name}");
    }
}

/// A defect, and its description.
type Breakage<'a> = (&'a str, Box<dyn Fn() + 'a>);

#[tokio::test]
async fn what_broke_is_said_and_repaired() {
    let Some(scene) = Scene::new(&[Way::Good]).await else { return };
    ready(scene.install().await);
    fs::write(scene.path("home/note"), "kept").unwrap();
    let root = scene.path("userland/root");
    let breakages: [Breakage<'_>; 5] = [
        ("is gone", Box::new(|| fs::remove_dir_all(&root).unwrap())),
        ("/bin/sh is missing", Box::new(|| fs::remove_file(root.join("bin/sh")).unwrap())),
        ("cannot be read", Box::new(|| fs::write(scene.path("userland/state.json"), "{").unwrap())),
        ("is gone", Box::new(|| fs::remove_file(scene.path("userland/state.json")).unwrap())),
        (
            "is gone",
            Box::new(|| {
                fs::remove_dir_all(&root).unwrap();
                std::os::unix::fs::symlink("/", &root).unwrap();
            }),
        ),
    ];
    for (words, break_it) in breakages {
        break_it();
        let State::Broken { reason } = scene.userland().status().state else {
            panic!("{words}: {:?}", scene.userland().status());
        };
        assert!(matches!(scene.userland().root(), Err(UserlandError::NotReady(_))), "{words}");
        assert!(reason.contains(words), "{reason}");
        assert!(matches!(scene.install().await, Ok(InstallResult::Now(_))), "{words}");
        assert!(root.join("bin/sh").symlink_metadata().is_ok(), "{words}");
    }
    fs::remove_dir_all(scene.path("userland")).unwrap();
    assert_eq!(scene.userland().status().state, State::Absent);
    ready(scene.install().await);
    assert_eq!(fs::read_to_string(scene.path("home/note")).unwrap(), "kept");
    fs::remove_dir_all(scene.path("home")).unwrap();
    scene.userland().root().unwrap();
    assert!(scene.path("home").is_dir(), "a home that vanished is made again");
}

#[tokio::test]
async fn one_at_a_time_changes_it() {
    let Some(scene) = Scene::new(&[Way::Good]).await else { return };
    ready(scene.install().await);
    let lock = fs::File::open(scene.path("userland/lock")).unwrap();
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).unwrap();
    assert!(scene.userland().status().at_work);
    assert!(matches!(scene.install().await, Err(UserlandError::Busy)));
    assert!(matches!(scene.userland().uninstall(false), Err(UserlandError::Busy)));
    drop(lock);
    assert!(!scene.userland().status().at_work);
    ready(scene.install().await);
}

#[tokio::test]
async fn what_programs_closed_is_removed_all_the_same() {
    let Some(scene) = Scene::new(&[Way::Good]).await else { return };
    ready(scene.install().await);
    let closed = scene.path("userland/root/var/closed/deep");
    fs::create_dir_all(&closed).unwrap();
    fs::write(closed.join("file"), "x").unwrap();
    std::os::unix::fs::symlink(scene.path("home"), closed.join("link")).unwrap();
    fs::write(scene.path("home/note"), "kept").unwrap();
    use std::os::unix::fs::PermissionsExt as _;
    for folder in [&closed, &scene.path("userland/root/var/closed")] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o000)).unwrap();
    }
    assert!(scene.userland().uninstall(false).unwrap());
    assert!(!scene.path("userland").exists());
    assert_eq!(fs::read_to_string(scene.path("home/note")).unwrap(), "kept");
}

#[tokio::test]
async fn only_what_the_release_key_signed_is_unpacked() {
    let Some(mut scene) = Scene::new(&[Way::Good, Way::Good]).await else { return };
    let Some((signer, signature)) = signed(&scene.archive) else { return };
    scene.release.signer = Some(signer.clone());
    let refused = scene.install().await;
    assert!(matches!(refused, Err(UserlandError::NoMirror { .. })), "{refused:?}");
    assert!(refused.unwrap_err().to_string().contains("signature"));
    assert!(!scene.path("userland/root").exists());
    // The archive's mirror has an invalid signature, another mirror the valid one.
    scene.mirrors[0].put(&path(".asc"), "<html>");
    scene.mirrors[1].put(&path(".asc"), signature);
    let installed = ready(scene.install().await);
    assert_eq!(installed.mirror, scene.mirrors[0].url());
    assert_eq!(installed.signed_by, Some(signer.fingerprint));
    let archives = scene.mirrors[0].seen().iter().filter(|seen| seen.ends_with(".tar.gz")).count();
    assert_eq!(archives, 1, "what had come was not fetched again");
    // A key of another signer.
    scene.release.signer = Release::pinned().signer;
    assert!(scene.install_again(true).await.is_err());
}

/// Creates a GnuPG key and a signature of this data.
fn signed(data: &[u8]) -> Option<(Signer, Vec<u8>)> {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path();
    let gpg = |args: &[&str]| {
        let fixed = ["--batch", "--yes", "--passphrase", "", "--pinentry-mode", "loopback"];
        let output = Command::new("gpg").args(fixed).arg("--homedir").arg(home).args(args).output();
        output.ok().map(|output| output.stdout)
    };
    if gpg(&["--quick-gen-key", "Somebody <s@example.com>", "rsa2048", "sign", "never"]).is_none() {
        eprintln!("NOT TRIED: there is no gpg on this host");
        return None;
    }
    fs::write(home.join("data"), data).unwrap();
    let file = home.join("data");
    let signature = gpg(&["--armor", "--output", "-", "--detach-sign", file.to_str().unwrap()])?;
    // Old packet format with two length bytes: version, time, algorithm, and two numbers with their
    // bit lengths.
    let key = gpg(&["--export"])?;
    let number = |at: usize| {
        let bits = usize::from(u16::from_be_bytes([key[at], key[at + 1]]));
        let end = at + 2 + bits.div_ceil(8);
        let hex = key[at + 2..end].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        (hex, end)
    };
    let (modulus, end) = number(9);
    let (exponent, _) = number(end);
    let created = u32::from_be_bytes([key[4], key[5], key[6], key[7]]);
    let _ = Command::new("gpgconf").arg("--homedir").arg(home).args(["--kill", "all"]).status();
    Some((Signer { fingerprint: "OURS".into(), created, modulus, exponent }, signature))
}

fn asked(names: &[&str]) -> Vec<PackageName> {
    names.iter().map(|name| name.parse().unwrap()).collect()
}

fn names(packages: &[Package]) -> Vec<String> {
    packages.iter().map(|package| format!("{} {}", package.name, package.version)).collect()
}

/// Adds packages to a mirror.
fn with_packages(mirror: &Mirror) {
    for part in ["main", "community"] {
        let folder = format!("v3.24/{part}/x86_64");
        mirror.put(
            &format!("{folder}/INDEX"),
            "hello-1.2-r3 - Says hello\njq-1.8.1-r0 - A processor\n",
        );
        mirror.put(&format!("{folder}/hello"), "#!/bin/sh\necho hello from a package\n");
        mirror.put(&format!("{folder}/jq"), "#!/bin/sh\necho {}\n");
    }
}

#[tokio::test]
async fn packages_come_from_the_first_mirror_that_has_them() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let Some(scene) = Scene::new(&[Way::Good, Way::Good, Way::Good]).await else { return };
    ready(scene.install().await);
    // The first mirror has archives but no packages.
    with_packages(&scene.mirrors[1]);
    with_packages(&scene.mirrors[2]);
    let userland = scene.userland();
    let backend = scene.backend();
    let packages = userland.packages(&backend, &|_| {});
    assert_eq!(names(&packages.list().await.unwrap()), [""; 0]);
    let found = packages.search(&"hello".parse().unwrap()).await.unwrap();
    assert_eq!(names(&found), ["hello 1.2-r3"]);
    assert_eq!(found[0].description, "Says hello");
    let State::Ready(chosen) = userland.status().state else { panic!("it is ready") };
    assert_eq!(chosen.repositories, Some(scene.mirrors[1].url()));
    packages.install(&asked(&["hello", "jq"])).await.unwrap();
    assert_eq!(names(&packages.list().await.unwrap()), ["hello 1.2-r3", "jq 1.8.1-r0"]);
    assert_eq!(scene.sh("hello").await, "hello from a package\n");
    packages.remove(&asked(&["hello"])).await.unwrap();
    assert_eq!(names(&packages.list().await.unwrap()), ["jq 1.8.1-r0"]);
    assert!(scene.mirrors[2].seen().is_empty(), "nobody after it is asked");

    // It disappears; the next one is used.
    scene.mirrors[1].behave(Way::Missing);
    packages.install(&asked(&["hello"])).await.unwrap();
    let State::Ready(chosen) = userland.status().state else { panic!("it is ready") };
    assert_eq!(chosen.repositories, Some(scene.mirrors[2].url()));

    let error = packages.install(&asked(&["nosuch"])).await.unwrap_err().to_string();
    assert!(error.contains("nosuch (no such package)"), "{error}");
    let error = packages.remove(&asked(&["nosuch"])).await.unwrap_err().to_string();
    assert!(error.contains("apk del"), "{error}");
}

#[tokio::test]
async fn without_a_mirror_for_packages_each_is_named() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let Some(scene) = Scene::new(&[Way::Good, Way::Good]).await else { return };
    ready(scene.install().await);
    let userland = scene.userland();
    let backend = scene.backend();
    let packages = userland.packages(&backend, &|_| {});
    let error = packages.install(&asked(&["hello"])).await.unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, UserlandError::NoMirror { .. }), "{text}");
    assert!(scene.mirrors.iter().all(|mirror| text.contains(&mirror.url())), "{text}");
    userland.uninstall(false).unwrap();
    assert!(
        matches!(packages.list().await, Err(UserlandError::NotReady(state)) if *state == State::Absent)
    );
}

#[tokio::test]
async fn programs_in_it_reach_its_mirrors_alone() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let Some(scene) = Scene::new(&[Way::Good, Way::Good]).await else { return };
    ready(scene.install().await);
    let other = Mirror::start(Way::Good).await;
    for mirror in scene.mirrors.iter().chain([&other]) {
        mirror.put("file", "reached\n");
    }
    let network = Network::Hosts(scene.userland().hosts());
    let get = |mirror: &Mirror| format!("wget -q -O - {}/file;", mirror.url());
    let script = get(&scene.mirrors[0]) + &get(&scene.mirrors[1]) + &get(&other) + "echo over";
    let job = Job::new("sh", Policy { network, ..Policy::default() })
        .args(["-c", &script])
        .root(scene.userland().root().unwrap());
    let never = std::future::pending();
    let (report, ended) = run(&scene.backend(), &job, b"", Limits::default(), never).await.unwrap();
    assert_eq!(report.stdout.text(), "reached\nreached\nover\n");
    assert_eq!(ended.refused.len(), 1, "{:?}", ended.refused);
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_system_that_turned_its_own_files_into_links_writes_nothing_of_the_hosts() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let Some(scene) = Scene::new(&[Way::Good]).await else { return };
    ready(scene.install().await);
    with_packages(&scene.mirrors[0]);
    let outside = scene.path("outside");
    fs::write(&outside, "kept").unwrap();
    let root = scene.path("userland/root");
    for name in ["etc/apk/repositories", "etc/resolv.conf"] {
        let _ = fs::remove_file(root.join(name));
        std::os::unix::fs::symlink(&outside, root.join(name)).unwrap();
    }
    let userland = scene.userland();
    let backend = scene.backend();
    let _ = userland.packages(&backend, &|_| {}).choose_mirror().await;
    ready(scene.install_again(true).await);
    assert_eq!(fs::read_to_string(Path::new(&outside)).unwrap(), "kept");
}
