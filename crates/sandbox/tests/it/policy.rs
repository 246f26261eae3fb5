//! Policy tests: visible paths, precedence, and policies that are rejected before anything runs.

use std::fs;
use std::path::Path;

use toolcrib_sandbox::{Backend as _, HostRules, Job, Level, Network, Policy, SandboxError};

use crate::test_host::{LEVELS, World, is_here, local};

#[tokio::test]
async fn only_what_is_named_is_there() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let world = World::new();
    let policy = Policy { readable: vec![world.path("ws")], ..Policy::default() };
    let done = world.sh(Level::Namespace, policy, "ls /; ls -A /tmp | wc -l").await;
    assert_eq!(done.err(), "");
    let names = done.out();
    let allowed = [
        "bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "nix", "opt", "proc", "sbin",
        "tmp", "usr", "1",
    ];
    assert!(names.lines().all(|name| allowed.contains(&name)), "{names}");
}

#[tokio::test]
async fn of_two_paths_the_inner_one_decides() {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        fs::create_dir_all(world.path("out/deep/open")).unwrap();
        fs::write(world.path("out/deep/open/file"), "open").unwrap();
        fs::write(world.path("out/deep/file"), "deep").unwrap();
        let policy = Policy {
            readable: vec![world.path("out")],
            writable: vec![world.path("ws"), world.path("out/deep/open")],
            denied: vec![world.path("out/deep")],
            ..Policy::default()
        };
        let script = "cat $OUT/secret; cat $OUT/deep/file; echo more >> $OUT/deep/open/file; cat $OUT/deep/open/file; echo x >> $OUT/secret && echo DONE";
        let done = world.sh(level, policy, script).await;
        assert_eq!(done.out(), "SECRETopenmore\n", "{level}: {}", done.err());
    }
}

#[tokio::test]
async fn what_is_kept_cannot_be_changed_and_opens_nothing_elsewhere() {
    let script = "cat .toolcrib/config.toml; echo x > .toolcrib/new && echo made; mv .toolcrib gone && echo moved; cat way/secret && echo LEAK; cat $OUT/secret && echo LEAK";
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        std::os::unix::fs::symlink(world.path("out"), world.path("ws/way")).unwrap();
        let kept = ["ws/.toolcrib", "ws/way", "ws/missing"].map(|path| world.path(path)).to_vec();
        let policy =
            Policy { writable: vec![world.path("ws")], read_only: kept, ..Policy::default() };
        let done = world.sh(level, policy, script).await;
        assert_eq!(done.out(), "kept", "{level}: {}", done.err());
    }
}

#[tokio::test]
async fn what_is_masked_is_empty_and_causes_no_error_around_it() {
    let script = "ls -A deep; cat deep/key file; echo \"$(cat own 2>/dev/null)\"; echo x > own; echo x > deep/new; mv deep gone; rm -rf deep; grep -r . . | sort";
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        fs::create_dir_all(world.path("ws/deep/kept")).unwrap();
        for (path, text) in [
            ("deep/key", "CONCEALED"),
            ("deep/kept/key", "CONCEALED"),
            ("own", "CONCEALED"),
            ("file", "open\n"),
        ] {
            fs::write(world.path("ws").join(path), text).unwrap();
        }
        let policy = Policy {
            writable: vec![world.path("ws")],
            // The mask takes precedence over this path.
            read_only: vec![world.path("ws/deep/kept")],
            masked: ["ws/deep", "ws/own", "ws/missing"].map(|path| world.path(path)).to_vec(),
            ..Policy::default()
        };
        let done = world.sh(level, policy, script).await;
        let text = format!("{}{}", done.out(), done.err());
        assert!(!text.contains("CONCEALED") && text.contains("open"), "{level}: {text}");
        if level == Level::Namespace {
            assert!(!done.err().contains("grep"), "{}", done.err());
        }
        for path in ["deep/key", "deep/kept/key", "own"] {
            let text = fs::read_to_string(world.path("ws").join(path)).unwrap();
            assert_eq!(text, "CONCEALED", "{level}: {path}");
        }
        assert!(!world.path("ws/deep/new").exists(), "{level}");
    }
}

/// Regression: a folder with a restricted path inside could be renamed, and another one could
/// replace it.
#[tokio::test]
async fn what_is_narrower_cannot_be_moved_away_with_the_folders_around_it() {
    let script = "mv deep gone && echo moved; mv deep/er gone && echo moved; rm -rf deep; mkdir -p deep/er/own && echo evil > deep/er/own/config; mkdir -p deep/er/kept && echo evil > deep/er/kept/config; echo more > deep/er/file && cat deep/er/file";
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        for folder in ["ws/deep/er/own", "ws/deep/er/kept"] {
            fs::create_dir_all(world.path(folder)).unwrap();
            fs::write(world.path(folder).join("config"), "ours").unwrap();
        }
        let policy = Policy {
            writable: vec![world.path("ws")],
            read_only: vec![world.path("ws/deep/er/kept")],
            denied: vec![world.path("ws/deep/er/own")],
            ..Policy::default()
        };
        let done = world.sh(level, policy, script).await;
        let expected = if level == Level::Namespace { "more\n" } else { "" };
        assert_eq!(done.out(), expected, "{level}: {}", done.err());
        for folder in ["ws/deep/er/own", "ws/deep/er/kept"] {
            assert_eq!(fs::read_to_string(world.path(folder).join("config")).unwrap(), "ours");
        }
    }
}

#[tokio::test]
async fn what_may_be_changed_may_have_other_modes_and_times() {
    let script = "cd src && chmod 750 main && touch -d 2001-01-01 main && stat -c '%a %Y' main; cd $WS; chmod 4644 src/main; chmod 600 ./src/../src/main; cp -p src/main src/copy; cp -a src/main src/again; touch src/new; ln -s main src/l; touch -h -d 2002-02-02 src/l; touch -d @7 src/l; stat -c '%a %Y' src/main src/copy; tar c src | tar x -C $TMPDIR && stat -c %a $TMPDIR/src/main; chown $(id -u) src/main && echo own; touch $TMPDIR/x && chmod 700 $TMPDIR/x && echo temporary; chmod 600 .toolcrib/config.toml && echo DONE";
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        let done = world.sh(level, world.policy(), script).await;
        let expected = "750 978307200\n600 7\n600 978307200\n600\nown\ntemporary\n";
        assert_eq!(done.out(), expected, "{level}: {}", done.err());
    }
}

#[tokio::test]
async fn beside_what_is_narrower_the_reduced_level_makes_no_files() {
    let script = "echo x > new && echo made; echo x > src/new && echo made below";
    for (level, expected) in
        [(Level::Namespace, "made\nmade below\n"), (Level::Reduced, "made below\n")]
    {
        if is_here(level).await {
            let world = World::new();
            let done = world.sh(level, world.policy(), script).await;
            assert_eq!(done.out(), expected, "{level}: {}", done.err());
        }
    }
}

#[tokio::test]
async fn a_file_can_be_named_and_a_link_leads_to_what_it_names() {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        std::os::unix::fs::symlink(world.path("ws"), world.path("link")).unwrap();
        let policy = Policy {
            readable: vec![world.path("out/secret")],
            writable: vec![world.path("link")],
            ..Policy::default()
        };
        let script = format!(
            "cat $OUT/secret; cat {}/src/main; ls $OUT | wc -l",
            world.path("link").display()
        );
        let done = world.sh(level, policy, &script).await;
        let listed = if level == Level::Namespace { "1\n" } else { "0\n" };
        assert_eq!(done.out(), format!("SECRETmain{listed}"), "{level}: {}", done.err());
    }
}

#[tokio::test]
async fn paths_that_cannot_be_used_are_refused_before_anything_runs() {
    let world = World::new();
    let local = local(Level::Namespace);
    let check =
        async |policy: Policy, folder: Option<&Path>, expected: fn(&SandboxError) -> bool| {
            let mut job = Job::new("true", policy);
            job.folder = folder.map(Path::to_owned);
            let error = local.start(&job).await.unwrap_err();
            assert!(expected(&error), "{error}");
        };
    let missing = Policy { readable: vec![world.path("missing")], ..Policy::default() };
    check(missing, None, |error| matches!(error, SandboxError::Path { .. })).await;
    let processes = Policy { readable: vec!["/proc/1".into()], ..Policy::default() };
    check(processes, None, |error| matches!(error, SandboxError::Path { .. })).await;
    let unseen = Policy::default();
    check(unseen, Some(&world.path("ws")), |e| matches!(e, SandboxError::FolderNotVisible(_)))
        .await;
    let denied = world.path("ws/.denied");
    check(world.policy(), Some(&denied), |e| matches!(e, SandboxError::FolderNotVisible(_))).await;
    let strong = Policy { minimum: Level::External, ..Policy::default() };
    check(strong, None, |e| matches!(e, SandboxError::BelowMinimum { .. })).await;
}

#[tokio::test]
async fn what_a_level_cannot_keep_is_refused() {
    let world = World::new();
    let job = |policy| Job::new("true", policy);
    let hosts = Network::Hosts(HostRules::parse(["example.com"]).unwrap());
    let proxied = Policy { network: hosts, ..Policy::default() };
    let error = local(Level::Reduced).start(&job(proxied)).await.unwrap_err();
    assert!(matches!(error, SandboxError::CannotHold { level: Level::Reduced, .. }), "{error}");
    let nothing = Policy { minimum: Level::None, ..world.policy() };
    let error = local(Level::None).start(&job(nothing)).await.unwrap_err();
    assert!(matches!(error, SandboxError::CannotHold { level: Level::None, .. }), "{error}");
    let error = local(Level::None).start(&job(Policy::default())).await.unwrap_err();
    assert!(matches!(error, SandboxError::BelowMinimum { .. }), "{error}");
}

#[tokio::test]
async fn the_whole_root_can_be_named() {
    if !is_here(Level::Namespace).await {
        return;
    }
    let world = World::new();
    let policy = Policy {
        readable: vec!["/".into()],
        writable: vec![world.path("ws")],
        denied: vec![world.path("ws/.denied")],
        ..Policy::default()
    };
    let script = "cat $OUT/secret; echo x > $OUT/x || echo held; echo y > made && cat made; cat .denied/key; ls /proc/$HOSTPID || echo held";
    let done = world.sh(Level::Namespace, policy, script).await;
    assert_eq!(done.out(), "SECRETheld\ny\nheld\n", "{}", done.err());
}

#[tokio::test]
async fn files_go_in_and_come_out_within_the_policy() {
    let world = World::new();
    let local = local(Level::Namespace);
    let policy = world.policy();
    local.put(&policy, &world.path("ws/src/new"), b"new").await.unwrap();
    assert_eq!(local.get(&policy, &world.path("ws/src/new"), 3).await.unwrap(), b"new");
    local.put(&policy, &world.path("ws/src/new"), b"n").await.unwrap();
    assert_eq!(local.get(&policy, &world.path("ws/src/new"), 3).await.unwrap(), b"n");
    assert_eq!(
        local.get(&policy, &world.path("ws/.toolcrib/config.toml"), 9).await.unwrap(),
        b"kept"
    );
    std::os::unix::fs::symlink(world.path("out/secret"), world.path("ws/src/link")).unwrap();
    std::os::unix::fs::symlink(world.path("out"), world.path("ws/src/folder")).unwrap();
    for path in [
        "out/secret",
        "ws/.denied/key",
        "ws/.env",
        "ws/src/link",
        "ws/src/folder/secret",
        "ws/src",
        "ws/missing/x",
    ] {
        let read = local.get(&policy, &world.path(path), 100).await;
        assert!(matches!(read, Err(SandboxError::Path { .. })), "{path}: {read:?}");
        let written = local.put(&policy, &world.path(path), b"x").await;
        assert!(matches!(written, Err(SandboxError::Path { .. })), "{path}: {written:?}");
    }
    let kept = local.put(&policy, &world.path("ws/.toolcrib/config.toml"), b"x").await;
    assert!(matches!(kept, Err(SandboxError::Path { .. })), "{kept:?}");
    let long = local.get(&policy, &world.path("ws/src/main"), 3).await;
    assert!(matches!(long, Err(SandboxError::Path { .. })), "{long:?}");
}
