//! Escape suite: attacks by a hostile program, and the levels that must prevent each of them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use toolcrib_sandbox::{Backend as _, Level, LimitHit, Policy, Resources};

use crate::test_host::{Done, LEVELS, World, is_here, local};

const BOTH: &[Level] = &[Level::Namespace, Level::Reduced];
const APART: &[Level] = &[Level::Namespace];

struct Case {
    name: &'static str,
    script: &'static str,
    held_at: &'static [Level],
    /// Whether the attack was prevented.
    held: fn(&World, &Done) -> bool,
}

/// Returns whether the output contains no secret.
fn silent(_: &World, done: &Done) -> bool {
    !done.out().contains("SECRET")
}

/// Returns whether the script reported no success.
fn refused(_: &World, done: &Done) -> bool {
    !done.out().contains("DONE")
}

fn outside_is_as_it_was(world: &World, _: &Done) -> bool {
    let names: Vec<_> = fs::read_dir(world.path("out")).unwrap().flatten().collect();
    names.len() == 1 && fs::read(world.path("out/secret")).unwrap() == b"SECRET"
}

fn modes_are_as_they_were(world: &World, done: &Done) -> bool {
    let meta = fs::metadata(world.path("out/secret")).unwrap();
    let age = meta.modified().unwrap().elapsed().unwrap();
    let around = fs::metadata(world.path(".")).unwrap().permissions().mode();
    meta.permissions().mode() & 0o777 == 0o644
        && around & 0o777 != 0o711
        && age.as_secs() < 3600
        && refused(world, done)
}

fn configuration_is_as_it_was(world: &World, _: &Done) -> bool {
    let names: Vec<_> = fs::read_dir(world.path("ws/.toolcrib")).unwrap().flatten().collect();
    names.len() == 1 && fs::read(world.path("ws/.toolcrib/config.toml")).unwrap() == b"kept"
}

fn nothing_is_left(world: &World, _: &Done) -> bool {
    world.left().is_empty()
}

fn went_on(_: &World, done: &Done) -> bool {
    done.out().contains("STILL HERE")
}

const CASES: &[Case] = &[
    Case { name: "read outside", script: "cat $OUT/secret", held_at: BOTH, held: silent },
    Case {
        name: "read by dots",
        script: "cat ../out/secret; cat $WS/src/../../out/secret; cat /../..$OUT/secret",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "read by a link",
        script: "ln -s $OUT/secret link; cat link; ln -s ../../out src/up; cat src/up/secret",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "read by a hard link",
        script: "ln $OUT/secret hard; cat hard; ln -L $OUT/secret hard2; cat hard2",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "read by renaming",
        script: "mv $OUT src/out; cat src/out/secret; mv $OUT/secret src/s; cat src/s",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "read by /proc",
        script: "for p in self 1 $PPID $HOSTPID; do cat /proc/$p/root$OUT/secret /proc/$p/cwd/$OUT/secret; done; for f in /proc/$PPID/fd/* /proc/1/fd/*; do cat $f; done < /dev/null",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "read what is denied",
        script: "cat .denied/key .env; cp -r .denied src/copy; cat src/copy/key; tar c .denied .env",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "read what is denied by a link",
        script: "ln .denied/key src/k; ln .env src/e; ln -s ../.env src/l; cat src/k src/e src/l",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "read what is denied by renaming",
        script: "mv .denied src/open; mv .env src/env; cat src/open/key src/env; cat .denied/key",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "read what is denied by changing modes",
        script: "chmod 777 .denied .denied/key .env; cat .denied/key .env",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "list what is denied",
        script: "ls .denied | grep -q key && echo DONE",
        held_at: APART,
        held: refused,
    },
    Case {
        name: "read secrets of the system",
        script: "cat /etc/shadow /etc/gshadow && echo DONE; cat /etc/ssh/*_key && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "write outside",
        script: "echo x > $OUT/new; echo x >> $OUT/secret; echo x > ../out/new; mkdir $OUT/dir; touch $OUT/t",
        held_at: BOTH,
        held: outside_is_as_it_was,
    },
    Case {
        name: "write by a link",
        script: "ln -s $OUT/new l; echo x > l; ln -s $OUT src/o; echo x > src/o/new",
        held_at: BOTH,
        held: outside_is_as_it_was,
    },
    Case {
        name: "remove outside",
        script: "rm -rf $OUT; rm -f $OUT/secret; truncate -s 0 $OUT/secret; mv -f src/main $OUT/secret",
        held_at: BOTH,
        held: outside_is_as_it_was,
    },
    Case {
        name: "write to the system",
        script: "for f in /usr/bin/x /etc/x /usr/lib/x /opt/x /x; do echo x > $f && echo DONE; done; echo x >> /etc/passwd && echo DONE; mount -o remount,rw /usr && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "change modes outside",
        script: "chmod 600 $OUT/secret && echo DONE; cd src; ln -s $OUT/secret l; chmod 600 l && echo DONE; chmod 711 ../..; setfattr -n user.x -v y $OUT/secret && echo DONE; python3 -c 'import os; fd = os.open(\"/usr/bin/env\", os.O_RDONLY); os.fchmod(fd, 0o700)' && echo DONE",
        held_at: BOTH,
        held: modes_are_as_they_were,
    },
    Case {
        name: "change times outside",
        script: "touch -d 2001-01-01 $OUT/secret && echo DONE; touch -d 2001-01-01 $OUT/../out/secret && echo DONE; cd src; ln -s $OUT/secret l; touch -d 2001-01-01 l && echo DONE",
        held_at: BOTH,
        held: modes_are_as_they_were,
    },
    Case {
        name: "see names outside",
        script: "test -e $OUT/secret && echo DONE",
        held_at: APART,
        held: refused,
    },
    Case {
        name: "change our configuration",
        script: "echo x >> .toolcrib/config.toml; echo x > .toolcrib/new; rm -rf .toolcrib; mv .toolcrib src/t; mv src .toolcrib; ln -sfn src .toolcrib",
        held_at: BOTH,
        held: configuration_is_as_it_was,
    },
    Case {
        name: "see other processes",
        script: "test -e /proc/$HOSTPID/status && echo DONE",
        held_at: APART,
        held: refused,
    },
    Case {
        name: "read variables of others",
        script: "cat /proc/$HOSTPID/environ && echo DONE; cat /proc/1/environ && echo DONE; cat /proc/$PPID/environ && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "read memory of others",
        script: "for p in 1 $PPID $HOSTPID; do dd if=/proc/$p/mem bs=1 count=1 2>/dev/null && echo DONE; cat /proc/$p/maps && echo DONE; done",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "kill others",
        script: "kill -0 $HOSTPID && echo DONE; kill -STOP $PPID && sleep 0.1; kill -9 1; kill -9 $PPID; kill -9 -1; echo STILL HERE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "kill the supervisor",
        script: "kill -TERM 1 2>/dev/null; kill -9 1 2>/dev/null; kill -9 $PPID; sleep 0.05; echo STILL HERE",
        held_at: BOTH,
        held: went_on,
    },
    Case {
        name: "mount",
        script: "mount -t tmpfs none /tmp && echo DONE; mount --bind / /mnt && echo DONE; umount /proc && echo DONE; chroot / true && echo DONE; pivot_root . . && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "namespaces again",
        script: "unshare -Ur true && echo DONE; unshare -m true && echo DONE; unshare -n true && echo DONE; nsenter -t 1 -m true && echo DONE; nsenter -t $PPID -a true && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "devices",
        script: "mknod d c 1 1 && echo DONE; mknod b b 254 0 && echo DONE; head -c1 /dev/mem && echo DONE; for d in /dev/vda /dev/sda /dev/nvme0n1 /dev/kmsg /dev/fuse; do head -c1 $d && echo DONE; done",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "kernel settings",
        script: "echo x > /proc/sys/kernel/core_pattern && echo DONE; echo b > /proc/sysrq-trigger && echo DONE; echo 1 > /proc/sys/vm/drop_caches && echo DONE; hostname evil && echo DONE; dmesg && echo DONE; date -s 2001-01-01 && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "set-id programs",
        script: "cp /bin/sh p; chmod 4755 p && echo DONE; chmod u+s p && echo DONE; chmod g+s p && echo DONE; install -m 4755 /bin/sh q && echo DONE; cp -p /usr/bin/passwd r; test -u r && echo DONE; umask 0; python3 -c 'import os; os.open(\"z\", os.O_CREAT|os.O_WRONLY, 0o4755)'; test -u z && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "become root",
        script: "test $(cat /proc/self/status | grep CapEff | tr -d '\\t ' | cut -d: -f2) = 0000000000000000 || echo DONE; su -c true && echo DONE; sudo -n true && echo DONE; setpriv --reuid 0 --clear-groups true && echo DONE; chown 12345 src/main && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "descriptors",
        script: "ls /proc/self/fd | tr '\\n' ' ' | grep -vx '0 1 2 3 ' && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "variables",
        script: "env -u PWD -u OLDPWD -u SHLVL -u _ -u WS -u OUT -u WORKER -u MARK -u HOSTPID env | grep -v '^PATH=\\|^HOME=\\|^TMPDIR=' && echo DONE",
        held_at: BOTH,
        held: refused,
    },
    Case {
        name: "our helper inside",
        script: "$WORKER sandbox-helper && echo DONE; $WORKER sandbox-helper < /dev/null && cat $OUT/secret",
        held_at: BOTH,
        held: silent,
    },
    Case {
        name: "daemons",
        script: "setsid sleep $MARK & (setsid sh -c 'trap \"\" TERM HUP INT; sleep '$MARK' & wait' &) ; nohup sleep $MARK >/dev/null 2>&1 & sleep 0.05; exit 0",
        held_at: BOTH,
        held: nothing_is_left,
    },
    Case {
        name: "daemons that leave their streams",
        script: "for i in 1 2 3; do setsid sh -c '(sleep '$MARK' </dev/null >/dev/null 2>&1 &)' ; done; exit 0",
        held_at: BOTH,
        held: nothing_is_left,
    },
    Case {
        name: "stopped processes",
        script: "sleep $MARK & kill -STOP $!; exit 0",
        held_at: BOTH,
        held: nothing_is_left,
    },
];

#[tokio::test]
async fn every_case_is_held_where_it_has_to_be() {
    let mut wrong = Vec::new();
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let mut held = 0;
        for case in CASES {
            let world = World::new();
            let done = world.sh(level, world.policy(), case.script).await;
            assert_eq!(done.ended.level, level);
            let is_held = (case.held)(&world, &done);
            held += usize::from(is_held);
            if is_held != case.held_at.contains(&level) {
                wrong.push(format!(
                    "{level}: {}: held is {is_held}: {} {}",
                    case.name,
                    done.out(),
                    done.err()
                ));
            }
        }
        println!("{level}: {held} of {} cases held", CASES.len());
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[tokio::test]
async fn what_the_probe_tries_is_held_where_it_has_to_be() {
    let open_when_reduced = ["names_outside", "processes_seen"];
    let probe = local(Level::Namespace).probe().await;
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        for case in &probe.cases {
            let open = level == Level::Reduced && open_when_reduced.contains(&case.name);
            assert_eq!(case.held_at.contains(&level), !open, "{level}: {}", case.name);
            assert_eq!(case.open_at.contains(&level), open, "{level}: {}", case.name);
        }
    }
    assert!(probe.cases.len() > 20);
}

/// Runs a script that exceeds a limit. It must be stopped for one of these reasons, or fail before
/// its end if the script reports that.
async fn bomb(what: &str, resources: Resources, script: &str, expected: &[LimitHit]) {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        let policy = Policy { resources, ..world.policy() };
        let done = world.sh(level, policy, script).await;
        let stopped = done.ended.stopped;
        let held = match stopped {
            Some(stop) => expected.contains(&stop),
            None => !done.out().contains("DONE"),
        };
        assert!(held, "{level}: {what}: {:?} {} {}", done.ended, done.out(), done.err());
        assert!(world.left().is_empty(), "{level}: {what}: {:?}", world.left());
    }
}

const MIB: u64 = 1 << 20;

fn few() -> Resources {
    Resources {
        memory: Some(256 * MIB),
        processes: Some(64),
        disk: Some(32 * MIB),
        ..Resources::default()
    }
}

/// If the kernel itself refuses processes beyond the limit, the bomb continues within it until the
/// timeout; otherwise it is stopped. In both cases the number of processes stays close to the
/// limit.
#[tokio::test]
async fn fork_bombs_are_bounded() {
    const COUNTED: &str =
        "i=0; while [ $i -lt 300 ]; do sleep $MARK & i=$((i+1)); done; sleep $MARK";
    const BREEDING: [&str; 2] = [
        "f() { sleep $MARK & f | f & }; f; f; wait; sleep $MARK",
        "while :; do (setsid sleep $MARK &) ; done",
    ];
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        // Self-replicating bombs run only where the kernel can kill everything at once. At the
        // reduced level, only the limit watch restricts root's processes, and losing that race
        // would crash the machine; docs/sandbox.md says that this level does not prevent it.
        let breeding = if level == Level::Namespace { &BREEDING[..] } else { &[] };
        let scripts: Vec<&str> = breeding.iter().copied().chain([COUNTED]).collect();
        for script in scripts {
            let world = World::new();
            let wall = Some(std::time::Duration::from_millis(700));
            let policy = Policy { resources: Resources { wall, ..few() }, ..world.policy() };
            let running = world.sh(level, policy, script);
            tokio::pin!(running);
            let mut most = 0;
            let done = loop {
                tokio::select! {
                    done = &mut running => break done,
                    () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {
                        most = most.max(world.left().len());
                    }
                }
            };
            // Beyond the limit of 64 there are the first 300 process ids, which a namespace assigns
            // regardless of the limit, or the processes created between two checks.
            let beyond = if level == Level::Namespace { 300 } else { 5000 };
            assert!(most < 64 + beyond, "{level}: {script}: {most}");
            let ended = (done.ended.stopped, done.ended.status);
            let fine = matches!(ended.0, Some(LimitHit::Processes | LimitHit::Time))
                || matches!(ended.1, toolcrib_sandbox::Status::Exited(code) if code != 0);
            assert!(fine, "{level}: {script}: {ended:?} {}", done.err());
            assert!(world.left().is_empty(), "{level}: {script}: {:?}", world.left());
        }
    }
}

#[tokio::test]
async fn memory_bombs_are_stopped() {
    bomb("one process", few(), "tail /dev/zero && echo DONE; exit 3", &[LimitHit::Memory]).await;
    let many = "for i in 1 2 3 4 5 6 7 8; do { x=$(head -c 60000000 /dev/zero | tr '\\0' a); sleep $MARK; } & done; wait; echo DONE";
    bomb("many processes", few(), many, &[LimitHit::Memory]).await;
    let leap = "python3 -c 'x = bytearray(4 << 30)' && echo DONE; exit 3";
    bomb("a leap", few(), leap, &[]).await;
    let files = Resources { disk: None, ..few() };
    let script = "dd if=/dev/zero of=$TMPDIR/a bs=1M count=400 && sleep 20 && echo DONE";
    // Temporary files on a disk do not use memory.
    if is_here(Level::Namespace).await {
        let world = World::new();
        let policy = Policy { resources: files, ..world.policy() };
        let done = world.sh(Level::Namespace, policy, script).await;
        assert!(!done.out().contains("DONE"), "{:?} {}", done.ended, done.err());
    }
}

#[tokio::test]
async fn disk_bombs_are_stopped() {
    let one = "dd if=/dev/zero of=src/big bs=1M count=200 && echo DONE; exit 3";
    bomb("one file", few(), one, &[LimitHit::Disk]).await;
    let many = "i=0; while [ $i -lt 200 ]; do dd if=/dev/zero of=src/f$i bs=1M count=4 2>/dev/null; i=$((i+1)); done; sleep 20; echo DONE";
    bomb("many files", few(), many, &[LimitHit::Disk]).await;
    let gone = "i=0; while [ $i -lt 200 ]; do exec 4> src/f; rm src/f; dd if=/dev/zero bs=1M count=4 >&4 2>/dev/null; sleep $MARK <&4 & i=$((i+1)); done; sleep 20; echo DONE";
    bomb("files without a name", few(), gone, &[LimitHit::Disk, LimitHit::Processes]).await;
    let hidden = "python3 -c 'import ctypes, time; ctypes.CDLL(None).prctl(4, 0); [open(f\"src/h{i}\", \"wb\").write(bytes(8 << 20)) for i in range(20)]; time.sleep(20)'; echo DONE";
    bomb("a process that may not be looked at", few(), hidden, &[LimitHit::Disk]).await;
    let claimed =
        "for i in 1 2 3 4 5 6 7 8; do fallocate -l 20M src/c$i && echo DONE; done; exit 3";
    bomb("room that nobody wrote to", few(), claimed, &[]).await;
    let both = "dd if=/dev/zero of=src/a bs=1M count=20; dd if=/dev/zero of=$TMPDIR/b bs=1M count=20; sleep 20; echo DONE";
    bomb("half here, half in temporary files", few(), both, &[LimitHit::Disk]).await;
}

#[tokio::test]
async fn time_is_bounded() {
    let second = std::time::Duration::from_secs(1);
    let wall = Resources { wall: Some(second / 5), ..few() };
    bomb(
        "wall time",
        wall,
        "trap '' TERM INT HUP; sleep $MARK & wait; sleep $MARK; echo DONE",
        &[LimitHit::Time],
    )
    .await;
    let cpu = Resources { cpu: Some(second / 2), ..few() };
    let script = "for i in 1 2 3 4; do sh -c 'while :; do :; done' & done; wait; echo DONE";
    bomb("processor time", cpu, script, &[LimitHit::Cpu]).await;
    let short = "i=0; while :; do sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done'; done; echo DONE";
    bomb("processor time of many short ones", cpu, short, &[LimitHit::Cpu]).await;
}

#[tokio::test]
async fn a_library_that_is_named_is_loaded_inside_only() {
    for level in LEVELS {
        if !is_here(level).await {
            continue;
        }
        let world = World::new();
        let script = "echo STILL HERE; grep -c . /proc/1/maps";
        let job = world.script(world.policy(), script).env("LD_PRELOAD", world.path("out/evil.so"));
        let limits = toolcrib_sandbox::process::Limits::default();
        let local = local(level);
        let ran = toolcrib_sandbox::run(&local, &job, b"", limits, std::future::pending()).await;
        let (report, _) = ran.unwrap();
        assert!(report.stdout.text().contains("STILL HERE"));
        // The loader of the programs inside complains, once each; no process outside loaded the
        // file.
        assert!(report.stderr.text().contains("evil.so"), "{}", report.stderr.text());
        let after = world.sh(level, world.policy(), "echo $LD_PRELOAD; echo STILL HERE").await;
        assert_eq!(after.out().trim(), "STILL HERE");
        assert!(after.err().is_empty(), "{}", after.err());
    }
}
