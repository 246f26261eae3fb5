//! Landlock: which paths a process and all that it starts may touch, and whom it may signal.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, Ruleset,
    RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetStatus, Scope,
};

use super::control::Fault;
use super::plan::{How, View};
use super::root::{SCRATCH, open_really};

/// The newest kernel interface that is asked for; older kernels give what they have.
const NEWEST: ABI = ABI::V7;

/// Most rules of one job: a rule costs memory of the kernel until the last process is gone.
const MOST_RULES: usize = 20_000;

/// Device files that may be used at the reduced level.
const DEVICES: [&str; 6] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

fn reading() -> BitFlags<AccessFs> {
    AccessFs::Execute | AccessFs::ReadFile | AccessFs::ReadDir
}

/// Everything but device commands, which have no business outside of `/dev`.
fn writing() -> BitFlags<AccessFs> {
    AccessFs::from_all(NEWEST)
}

/// Inside a root of its own: the mounts say what is there, this says it once more.
pub(super) fn within_root(views: &[View]) -> Result<(), Fault> {
    let all = || -> io::Result<()> {
        let mut rules = begin()?;
        grant(&mut rules, Path::new("/"), reading())?;
        let changed = views.iter().filter(|view| view.how == How::Write).map(View::path);
        let own = [SCRATCH, "/dev/shm", "/dev/pts"].map(Path::new);
        for path in changed.chain(own) {
            grant(&mut rules, path, writing())?;
        }
        grant_devices(&mut rules);
        end(rules)
    };
    all().map_err(Fault::host("landlock"))
}

/// On the host itself: nothing but what the views grant.
pub(super) fn on_host(views: &[View], scratch: &Path) -> Result<(), Fault> {
    let mut grants = Vec::new();
    for (index, view) in views.iter().enumerate() {
        let access = match view.how {
            How::Hidden => continue,
            How::Read => reading(),
            How::Write => writing(),
        };
        let narrower: Vec<&View> = views
            .iter()
            .skip(index + 1)
            .filter(|other| other.path().starts_with(view.path()) && other.how != How::Write)
            .filter(|other| view.how == How::Write || other.how == How::Hidden)
            .collect();
        expand(view.path(), access, &narrower, &mut grants).map_err(Fault::path(view.path()))?;
    }
    let all = || -> io::Result<()> {
        let mut rules = begin()?;
        for (path, access) in &grants {
            match grant(&mut rules, path, *access) {
                // It went away since it was listed.
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

/// Rules only ever add up: where something in a folder has fewer rights, everything beside it is granted instead of the folder.
fn expand(
    path: &Path,
    access: BitFlags<AccessFs>,
    narrower: &[&View],
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
        // What a link names is granted where it is.
        if !entry.file_type()?.is_symlink() {
            expand(&entry.path(), access, narrower, grants)?;
        }
    }
    Ok(())
}

fn begin() -> io::Result<RulesetCreated> {
    let rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        // Without these there is no rule worth the name.
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
    let fd = open_really(path)?;
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

/// Devices, where the host has them.
fn grant_devices(rules: &mut RulesetCreated) {
    for path in DEVICES {
        let access = AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev;
        let _ = grant(rules, Path::new(path), access);
    }
}
