//! Landlock rules: the paths that a process and its descendants may access, and the processes they
//! may signal.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use super::control_socket::Fault;
use super::mount_namespace::{SCRATCH, open_no_symlinks};
use super::plan::{Access, PathView};

/// The newest Landlock ABI that is requested; older kernels apply the rights that they support.
const NEWEST: ABI = ABI::V7;

/// Maximum rules of one job: each uses kernel memory until the last process has ended.
const MOST_RULES: usize = 20_000;

/// Devices that are available at the reduced level.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

fn reading() -> BitFlags<AccessFs> {
    AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir
}

/// Returns all rights except ioctl on devices, which is only needed in `/dev`.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST)
}

/// Applies the rules inside a separate root: the mounts already define the access, and Landlock
/// enforces it a second time.
pub(super) fn within_root(views: &[PathView]) -> Result<(), Fault> {
    let all = || -> io::Result<()> {
        let mut rules = begin()?;
        grant(&mut rules, Path::new("/"), reading())?;
        let changed = views.iter().filter(|view| view.how == Access::Write).map(PathView::path);
        let own = [SCRATCH, "/dev/shm", "/dev/pts"].map(Path::new);
        for path in changed.chain(own) {
            grant(&mut rules, path, writing())?;
        }
        grant_devices(&mut rules);
        end(rules)
    };
    all().map_err(Fault::host("landlock"))
}

/// Applies the rules on the host itself, where they grant only the access of the views.
pub(super) fn on_host(views: &[PathView], scratch: &Path) -> Result<(), Fault> {
    let mut grants = Vec::new();
    for (index, view) in views.iter().enumerate() {
        let access = match view.how {
            Access::Masked | Access::Hidden => continue,
            Access::Read => reading(),
            Access::Write => writing(),
        };
        let narrower: Vec<&PathView> = views
            .iter()
            .skip(index + 1)
            .filter(|other| other.path().starts_with(view.path()) && other.how != Access::Write)
            .filter(|other| view.how == Access::Write || other.how.conceals())
            .collect();
        expand(view.path(), access, &narrower, &mut grants).map_err(Fault::path(view.path()))?;
    }
    let all = || -> io::Result<()> {
        let mut rules = begin()?;
        for (path, access) in &grants {
            match grant(&mut rules, path, *access) {
                // It was removed since it was listed.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                result => result?,
            }
        }
        grant(&mut rules, Path::new("/proc"), reading())?;
        grant(&mut rules, scratch, writing())?;
        grant_devices(&mut rules);
        end(rules)
    };
    all().map_err(Fault::host("landlock"))
}

/// Adds the grants of a path. Landlock rules only add rights: if a part of a folder has fewer
/// rights, all other entries are granted individually instead of the folder.
fn expand(
    path: &Path,
    access: BitFlags<AccessFs>,
    narrower: &[&PathView],
    grants: &mut Vec<(PathBuf, BitFlags<AccessFs>)>,
) -> io::Result<()> {
    if narrower.iter().any(|view| view.path() == path) {
        return Ok(());
    }
    if !narrower.iter().any(|view| view.path().starts_with(path)) {
        grants.push((path.to_owned(), access));
        return if grants.len() > MOST_RULES {
            Err(io::Error::other("too many files lie beside what is denied"))
        } else {
            Ok(())
        };
    }
    grants.push((path.to_owned(), AccessFs::ReadDir.into()));
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        // The target of a symlink is granted at its own path.
        if !entry.file_type()?.is_symlink() {
            expand(&entry.path(), access, narrower, grants)?;
        }
    }
    Ok(())
}

fn begin() -> io::Result<RulesetCreated> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        // Without these rights a rule would be useless, so they are required.
        .handle_access(AccessFs::from_all(ABI::V1))
        .map_err(io::Error::other)?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))
        .map_err(io::Error::other)?
        .scope(Scope::from_all(NEWEST))
        .map_err(io::Error::other)?;
    rules.create().map_err(io::Error::other)
}

fn grant(rules: &mut RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> io::Result<()> {
    let fd = open_no_symlinks(path)?;
    let access = if is_folder(&fd)? { access } else { access & AccessFs::from_file(NEWEST) };
    rules.add_rule(PathBeneath::new(fd, access)).map(drop).map_err(io::Error::other)
}

fn is_folder(fd: &OwnedFd) -> io::Result<bool> {
    let mode = rustix::fs::fstat(fd)?.st_mode;
    Ok(rustix::fs::FileType::from_raw_mode(mode) == rustix::fs::FileType::Directory)
}

fn end(rules: RulesetCreated) -> io::Result<()> {
    let status = rules.restrict_self().map_err(io::Error::other)?;
    if status.ruleset == RulesetStatus::NotEnforced {
        return Err(io::Error::from_raw_os_error(libc::ENOSYS));
    }
    Ok(())
}

/// Grants the devices that the host has.
fn grant_devices(rules: &mut RulesetCreated) {
    for path in DEVICES {
        let access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let _ = grant(rules, Path::new(path), access);
    }
}
