//! Minimal root file system made of the host's busybox, laid out like Alpine.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Finds the host's busybox; without one the test is skipped with a message.
pub(crate) fn busybox() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join("busybox"));
    let found = found.filter(|path| path.is_file()).find_map(|path| path.canonicalize().ok());
    if found.is_none() {
        eprintln!("NOT TRIED: there is no busybox on this host (package busybox-static)");
    }
    found
}

/// Creates a system in a folder; `false` if there is no busybox.
pub(crate) fn build(folder: &Path) -> bool {
    let Some(busybox) = busybox() else { return false };
    for name in ["bin", "dev", "etc/apk/keys", "home", "lib/apk/db", "proc", "root", "sbin", "sys"]
    {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    for name in ["tmp", "usr/bin", "usr/sbin", "var/cache/apk", "run"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    fs::set_permissions(folder.join("tmp"), fs::Permissions::from_mode(0o1777)).unwrap();
    let here = folder.join("bin/busybox");
    fs::copy(&busybox, &here).unwrap();
    fs::set_permissions(&here, fs::Permissions::from_mode(0o755)).unwrap();
    bring_libraries(&busybox, folder);
    let applets = Command::new(&busybox).arg("--list").output().unwrap().stdout;
    for applet in String::from_utf8(applets).unwrap().lines().filter(|name| *name != "busybox") {
        symlink("/bin/busybox", folder.join("bin").join(applet)).unwrap();
    }
    for (path, text) in [
        ("etc/alpine-release", "3.24.2\n"),
        ("etc/os-release", "ID=alpine\nVERSION_ID=3.24.2\nPRETTY_NAME=\"Alpine Linux v3.24\"\n"),
        ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n"),
        ("etc/group", "root:x:0:\n"),
        ("etc/apk/world", "busybox\n"),
        ("etc/apk/arch", "x86_64\n"),
    ] {
        fs::write(folder.join(path), text).unwrap();
    }
    true
}

/// Copies the libraries of a busybox that is not static.
fn bring_libraries(program: &Path, folder: &Path) {
    let Ok(said) = Command::new("ldd").arg(program).output() else { return };
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    for library in said.split_whitespace().filter(|word| word.starts_with('/')) {
        let place = folder.join(library.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        fs::copy(library, place).unwrap();
    }
}
