//! What is seen where a program gets another system than the host's: that system as `/`, its home, and at their own places the paths that a
//! policy names.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use super::plan::{How, View, unusable};
use crate::SandboxError;
use crate::policy::{Network, Policy};
use crate::root::{ROOT_HOME, Root};

/// Folders of every system that are the sandbox's own.
const OWN: [&str; 3] = ["/proc", "/dev", "/sys"];

/// How names of hosts are looked up, which is the host's business.
const RESOLVER: &str = "/etc/resolv.conf";

/// How a path is seen, and where it is outside if that is another one.
type Seen = (How, Option<PathBuf>);

/// The views, outer paths before inner ones, and the folder to start in.
pub(super) fn views(
    root: &Root,
    policy: &Policy,
    folder: Option<&Path>,
) -> Result<(Vec<View>, PathBuf), SandboxError> {
    let real = |path: &Path| path.canonicalize().map_err(unusable(path));
    let system = real(&root.folder)?;
    if system == Path::new("/") {
        return Err(unusable(&system)(io::Error::other("it is the system of the host itself")));
    }
    let mut seen: BTreeMap<PathBuf, Seen> = BTreeMap::new();
    let how = if root.writable { How::Write } else { How::Read };
    seen.insert("/".into(), (how, Some(system.clone())));
    let home = root.home.as_deref().map(real).transpose()?;
    if let Some(home) = &home {
        seen.insert(ROOT_HOME.into(), (How::Write, Some(home.clone())));
    }
    if policy.network == Network::Full
        && let Ok(resolver) = Path::new(RESOLVER).canonicalize()
    {
        seen.insert(RESOLVER.into(), (How::Read, Some(resolver)));
    }
    let mut named = Vec::new();
    for (paths, how) in [(&policy.readable, How::Read), (&policy.writable, How::Write)] {
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
    let inside = Inside { system, home, named };
    for path in policy.kept.iter().filter_map(|path| path.canonicalize().ok()) {
        for place in inside.places(&path) {
            // Where a link leads out of what may be written, nothing is opened.
            if outer(&seen, &place) == Some(How::Write) {
                seen.entry(place).or_insert((How::Read, Some(path.clone())));
            }
        }
    }
    for path in policy.denied.iter().filter_map(|path| path.canonicalize().ok()) {
        let hidden = |place| (place, (How::Hidden, Some(path.clone())));
        seen.extend(inside.places(&path).into_iter().map(hidden));
    }
    hold_ways(&mut seen);
    let Inside { home, named, .. } = inside;
    let folder = folder_of(folder, policy, &named, home.is_some());
    if seen_at(&seen, &folder) == Some(How::Hidden) {
        return Err(SandboxError::FolderNotVisible(folder));
    }
    let view = |(path, (how, from)): (PathBuf, Seen)| View {
        path: path.into(),
        from: from.map(PathBuf::into_os_string),
        how,
    };
    Ok((seen.into_iter().map(view).collect(), folder))
}

/// What of the host is inside, and by which names.
struct Inside {
    system: PathBuf,
    home: Option<PathBuf>,
    /// Seen at their own places.
    named: Vec<PathBuf>,
}

impl Inside {
    /// The places of a path of the host. The whole system and the whole home are theirs already, whatever is said of what is around them.
    fn places(&self, path: &Path) -> Vec<PathBuf> {
        let own = self.named.iter().any(|named| path.starts_with(named));
        let mut places: Vec<PathBuf> = own.then(|| path.to_owned()).into_iter().collect();
        for (outer, place) in [(Some(&self.system), "/"), (self.home.as_ref(), ROOT_HOME)] {
            let rest = outer.and_then(|outer| path.strip_prefix(outer).ok());
            let rest = rest.filter(|rest| !rest.as_os_str().is_empty());
            places.extend(rest.map(|rest| Path::new(place).join(rest)));
        }
        places
    }
}

/// As for the host's own system: what lies between a writable folder and something narrower in it cannot be renamed. In the system itself it
/// may: nobody outside takes it for anything.
fn hold_ways(seen: &mut BTreeMap<PathBuf, Seen>) {
    let mut ways = Vec::new();
    for (path, (how, from)) in seen.iter() {
        let Some(from) = from.as_ref().filter(|_| *how != How::Write) else { continue };
        let above = path.ancestors().skip(1);
        let way: Vec<&Path> = above.take_while(|above| !seen.contains_key(*above)).collect();
        let begin = way.last().unwrap_or(&path.as_path()).parent();
        if outer(seen, path) == Some(How::Write) && begin != Some(Path::new("/")) {
            let outside = from.ancestors().skip(1);
            ways.extend(
                way.into_iter()
                    .zip(outside)
                    .map(|(place, from)| (place.to_owned(), (How::Write, Some(from.to_owned())))),
            );
        }
    }
    seen.extend(ways);
}

/// How the place around this one is seen.
fn outer(seen: &BTreeMap<PathBuf, Seen>, path: &Path) -> Option<How> {
    path.parent().and_then(|parent| seen_at(seen, parent))
}

/// Where the program starts: a path of the host that it sees too, or one of its own system.
fn folder_of(folder: Option<&Path>, policy: &Policy, named: &[PathBuf], has_home: bool) -> PathBuf {
    let shared = |path: &Path| {
        let real = path.canonicalize().ok()?;
        (real.is_dir() && named.iter().any(|named| real.starts_with(named))).then_some(real)
    };
    if let Some(folder) = folder {
        return shared(folder).unwrap_or_else(|| folder.to_owned());
    }
    let first = policy.writable.iter().chain(&policy.readable).find_map(|path| shared(path));
    first.unwrap_or_else(|| PathBuf::from(if has_home { ROOT_HOME } else { "/" }))
}

fn seen_at(seen: &BTreeMap<PathBuf, Seen>, path: &Path) -> Option<How> {
    path.ancestors().find_map(|path| seen.get(path).map(|(how, _)| *how))
}
