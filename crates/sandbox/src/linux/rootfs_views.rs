//! Views of a program with another root file system: that system as `/`, its home, and the policy's
//! paths at their own places.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use super::plan::{Access, PathView, unusable};
use crate::SandboxError;
use crate::policy::{Network, Policy};
use crate::rootfs::{ROOTFS_HOME, Rootfs};

/// Folders that the sandbox provides in every system.
const OWN: [&str; 3] = ["/proc", "/dev", "/sys"];

/// DNS configuration, which comes from the host.
const RESOLVER: &str = "/etc/resolv.conf";

/// Access to a path, and its path on the host if it differs.
type SeenPath = (Access, Option<PathBuf>);

/// Computes the views, outer paths before inner ones, and the start folder.
pub(super) fn views(
    root: &Rootfs,
    policy: &Policy,
    folder: Option<&Path>,
) -> Result<(Vec<PathView>, PathBuf), SandboxError> {
    let real = |path: &Path| path.canonicalize().map_err(unusable(path));
    let system = real(&root.folder)?;
    if system == Path::new("/") {
        return Err(unusable(&system)(io::Error::other("it is the system of the host itself")));
    }
    let mut seen: BTreeMap<PathBuf, SeenPath> = BTreeMap::new();
    let how = if root.writable { Access::Write } else { Access::Read };
    seen.insert("/".into(), (how, Some(system.clone())));
    let home = root.home.as_deref().map(real).transpose()?;
    if let Some(home) = &home {
        seen.insert(ROOTFS_HOME.into(), (Access::Write, Some(home.clone())));
    }
    if policy.network == Network::Full
        && let Ok(resolver) = Path::new(RESOLVER).canonicalize()
    {
        seen.insert(RESOLVER.into(), (Access::Read, Some(resolver)));
    }
    let mut named = Vec::new();
    for (paths, how) in [(&policy.readable, Access::Read), (&policy.writable, Access::Write)] {
        for path in paths {
            let path = real(path)?;
            if path == Path::new("/") || OWN.iter().any(|own| path.starts_with(own)) {
                let why = "in another system that place is its own";
                return Err(unusable(&path)(io::Error::other(why)));
            }
            seen.insert(path.clone(), (how, None));
            named.push(path);
        }
    }
    let inside = HostPaths { system, home, named };
    for path in policy.read_only.iter().filter_map(|path| path.canonicalize().ok()) {
        for place in inside.inside_paths(&path) {
            // A symlink that leads out of a writable path grants nothing more.
            if outer(&seen, &place) == Some(Access::Write) {
                seen.entry(place).or_insert((Access::Read, Some(path.clone())));
            }
        }
    }
    for (paths, how) in [(&policy.masked, Access::Masked), (&policy.denied, Access::Hidden)] {
        for path in paths.iter().filter_map(|path| path.canonicalize().ok()) {
            let concealed = |place| (place, (how, Some(path.clone())));
            seen.extend(inside.inside_paths(&path).into_iter().map(concealed));
        }
    }
    drop_masked(&mut seen);
    pin_parents(&mut seen);
    let HostPaths { home, named, .. } = inside;
    let folder = folder_of(folder, policy, &named, home.is_some());
    if seen_at(&seen, &folder) == Some(Access::Hidden) {
        return Err(SandboxError::FolderNotVisible(folder));
    }
    let view = |(path, (how, from)): (PathBuf, SeenPath)| PathView {
        path: path.into(),
        from: from.map(PathBuf::into_os_string),
        how,
    };
    Ok((seen.into_iter().map(view).collect(), folder))
}

/// The host paths that are visible inside, with their inner names.
struct HostPaths {
    system: PathBuf,
    home: Option<PathBuf>,
    /// Visible at their own paths.
    named: Vec<PathBuf>,
}

impl HostPaths {
    /// Returns the inner paths of a host path. The root file system and the home are mapped as a
    /// whole, regardless of views around them.
    fn inside_paths(&self, path: &Path) -> Vec<PathBuf> {
        let own = self.named.iter().any(|named| path.starts_with(named));
        let mut places: Vec<PathBuf> = own.then(|| path.to_owned()).into_iter().collect();
        for (outer, place) in [(Some(&self.system), "/"), (self.home.as_ref(), ROOTFS_HOME)] {
            let rest = outer.and_then(|outer| path.strip_prefix(outer).ok());
            let rest = rest.filter(|rest| !rest.as_os_str().is_empty());
            places.extend(rest.map(|rest| Path::new(place).join(rest)));
        }
        places
    }
}

/// Removes all views inside a masked path, because a mask takes precedence over other entries of
/// the policy inside it.
fn drop_masked(seen: &mut BTreeMap<PathBuf, SeenPath>) {
    let is_mask =
        |(path, (how, _)): (&PathBuf, &SeenPath)| (*how == Access::Masked).then(|| path.clone());
    let masks: BTreeSet<PathBuf> = seen.iter().filter_map(is_mask).collect();
    seen.retain(|path, _| !path.ancestors().skip(1).any(|above| masks.contains(above)));
}

/// As for the host's own system: folders between a writable folder and a more restricted path in it
/// cannot be renamed. Inside the root file system they can, because the host trusts none of its
/// paths.
fn pin_parents(seen: &mut BTreeMap<PathBuf, SeenPath>) {
    let mut ways = Vec::new();
    for (path, (how, from)) in seen.iter() {
        let Some(from) = from.as_ref().filter(|_| *how != Access::Write) else { continue };
        let above = path.ancestors().skip(1);
        let way: Vec<&Path> = above.take_while(|above| !seen.contains_key(*above)).collect();
        let begin = way.last().unwrap_or(&path.as_path()).parent();
        if outer(seen, path) == Some(Access::Write) && begin != Some(Path::new("/")) {
            let outside = from.ancestors().skip(1);
            ways.extend(
                way.into_iter().zip(outside).map(|(place, from)| {
                    (place.to_owned(), (Access::Write, Some(from.to_owned())))
                }),
            );
        }
    }
    seen.extend(ways);
}

/// Returns the access of the view around this path.
fn outer(seen: &BTreeMap<PathBuf, SeenPath>, path: &Path) -> Option<Access> {
    path.parent().and_then(|parent| seen_at(seen, parent))
}

/// Returns the start folder: a host path that is visible inside, or a path of the root file system.
fn folder_of(folder: Option<&Path>, policy: &Policy, named: &[PathBuf], has_home: bool) -> PathBuf {
    let shared = |path: &Path| {
        let real = path.canonicalize().ok()?;
        (real.is_dir() && named.iter().any(|named| real.starts_with(named))).then_some(real)
    };
    if let Some(folder) = folder {
        return shared(folder).unwrap_or_else(|| folder.to_owned());
    }
    let first = policy.writable.iter().chain(&policy.readable).find_map(|path| shared(path));
    first.unwrap_or_else(|| PathBuf::from(if has_home { ROOTFS_HOME } else { "/" }))
}

fn seen_at(seen: &BTreeMap<PathBuf, SeenPath>, path: &Path) -> Option<Access> {
    path.ancestors().find_map(|path| seen.get(path).map(|(how, _)| *how))
}
