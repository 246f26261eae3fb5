//! The paths that the program of a server needs in the sandbox: its file behind links and shims,
//! the folders of its version manager or virtual environment, its interpreter, and the project of a
//! script.

use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use toolcrib_sandbox::SYSTEM_FOLDERS;

/// Maximum number of links that are followed; more form a cycle.
const MOST_LINKS: usize = 16;
/// Files that mark the folder of a project.
const PROJECT_FILES: [&str; 5] =
    ["package.json", "pyproject.toml", "setup.py", "requirements.txt", "deno.json"];

/// The part of the person's environment that determines how programs are found.
#[derive(Debug, Clone, Default)]
pub(super) struct PersonPaths {
    pub(super) path: Vec<PathBuf>,
    pub(super) home: Option<PathBuf>,
    pub(super) pyenv_version: Option<String>,
    /// The folder of the Pythons that uv has installed for the person.
    pub(super) uv_pythons: Option<PathBuf>,
    /// Folder in which relative paths are resolved; a script directly in it does not count as a
    /// project.
    pub(super) folder: PathBuf,
}

impl PersonPaths {
    pub(super) fn from_env() -> Self {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folder = |name: &str| {
            std::env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute())
        };
        let data =
            folder("XDG_DATA_HOME").or_else(|| Some(std::env::home_dir()?.join(".local/share")));
        Self {
            path: std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect(),
            home: std::env::home_dir(),
            pyenv_version: std::env::var("PYENV_VERSION").ok(),
            uv_pythons: folder("UV_PYTHON_INSTALL_DIR").or_else(|| Some(data?.join("uv/python"))),
            folder: std::env::current_dir().unwrap_or_default(),
        }
    }

    /// Returns whether a folder contains more of the person's data than one installation: the home
    /// folder, `~/.local` with its data, or the root.
    pub(super) fn is_wide(&self, folder: &Path) -> bool {
        let home = self.home.as_deref();
        folder.parent().is_none()
            || home.is_some_and(|home| folder == home || folder == home.join(".local"))
            || ["/tmp", "/home", "/root", "/srv", "/var"].map(Path::new).contains(&folder)
    }

    /// Returns the file of a program, behind the shim of a version manager.
    pub(super) fn find(&self, command: &str) -> Option<PathBuf> {
        let file = if command.contains('/') {
            std::path::absolute(self.folder.join(command)).ok().filter(|file| file.is_file())?
        } else {
            self.path.iter().map(|folder| folder.join(command)).find(|file| file.is_file())?
        };
        Some(self.behind_shim(&file).unwrap_or(file))
    }

    /// Resolves a shim of pyenv: a script that finds the real program, and needs all of pyenv for
    /// that.
    fn behind_shim(&self, file: &Path) -> Option<PathBuf> {
        let shims = file.parent().filter(|folder| folder.ends_with("shims"))?;
        let root = shims.parent().filter(|root| root.join("versions").is_dir())?;
        let told = self.pyenv_version.clone();
        let told = told.or_else(|| fs::read_to_string(root.join("version")).ok())?;
        let name = file.file_name()?;
        let versions = told.split([':', '\n', ' ']).map(str::trim).filter(|own| !own.is_empty());
        let files =
            versions.map(|version| root.join("versions").join(version).join("bin").join(name));
        files.into_iter().find(|file| file.is_file())
    }
}

/// Returns the folders and files, besides those of the system, that a program needs.
pub(super) fn needed(
    program: Option<&Path>,
    args: &[String],
    person: &PersonPaths,
) -> Vec<PathBuf> {
    let mut all = BTreeSet::new();
    if let Some(program) = program {
        add_program(program, person, &mut all);
    }
    for arg in args {
        let path = Path::new(arg);
        if path.is_absolute() && path.is_file() {
            all.insert(of_script(path, person));
        }
    }
    without_parts(all)
}

/// Removes paths that every program sees, and paths inside of others.
fn without_parts(mut all: BTreeSet<PathBuf>) -> Vec<PathBuf> {
    all.retain(|path| !is_system(path));
    let kept: Vec<PathBuf> = all.iter().cloned().collect();
    all.retain(|path| !kept.iter().any(|other| other != path && path.starts_with(other)));
    all.into_iter().collect()
}

/// Returns the paths that `uvx` needs besides itself: `uv`, which it executes from its own folder,
/// and the Pythons that uv may choose from. uv chooses among all versions, as some packages require
/// certain ones.
pub(super) fn needed_by_uvx(uvx: Option<&Path>, person: &PersonPaths) -> Vec<PathBuf> {
    let mut all = BTreeSet::new();
    let mut file = uvx.map(Path::to_owned);
    for _ in 0..MOST_LINKS {
        let Some(own) = file else { break };
        let uv = own.with_file_name("uv");
        if uv.is_file() {
            add_program(&uv, person, &mut all);
        }
        file = link_target(&own);
    }
    if let Some(python) = person.find("python3") {
        add_program(&python, person, &mut all);
    }
    // Add the folder even if it does not exist yet: a Python that `uv python install` adds later is
    // then found without a change of the entry.
    all.extend(person.uv_pythons.clone());
    without_parts(all)
}

fn add_program(program: &Path, person: &PersonPaths, all: &mut BTreeSet<PathBuf>) {
    let mut file = program.to_owned();
    for _ in 0..MOST_LINKS {
        all.insert(installation(&file, person));
        let Some(target) = link_target(&file) else { break };
        file = target;
    }
    if let Some(interpreter) = interpreter(&file, person)
        && interpreter != file
        && !is_system(&interpreter)
    {
        add_program(&interpreter, person, all);
    }
}

fn link_target(file: &Path) -> Option<PathBuf> {
    let target = fs::read_link(file).ok()?;
    std::path::absolute(file.parent()?.join(target)).ok().map(|path| normal(&path))
}

/// Removes `..` from the text of a path, as for the target of a link.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            std::path::Component::ParentDir => {
                out.pop();
            }
            part => out.push(part),
        }
    }
    out
}

/// Returns the folder of a program's installation: the parent of `bin`, if it looks like one.
fn installation(file: &Path, person: &PersonPaths) -> PathBuf {
    for folder in file.ancestors().skip(1) {
        if person.is_wide(folder) {
            break;
        }
        let looks = folder.join("pyvenv.cfg").is_file()
            || folder.join("lib/node_modules").is_dir()
            || folder.join("bin").is_dir() && folder.join("lib").is_dir();
        if looks {
            return folder.to_owned();
        }
    }
    file.to_owned()
}

/// Returns the interpreter of a script.
fn interpreter(file: &Path, person: &PersonPaths) -> Option<PathBuf> {
    let mut start = [0; 256];
    let read = fs::File::open(file).ok()?.read(&mut start).ok()?;
    let text = String::from_utf8_lossy(start.get(..read)?).into_owned();
    let line = text.lines().next()?.strip_prefix("#!")?.trim().to_owned();
    let mut words = line.split_whitespace();
    let program = words.next()?;
    if !program.ends_with("/env") {
        return Some(PathBuf::from(program));
    }
    let name = words.find(|word| !word.starts_with('-') && !word.contains('='))?;
    // Search beside the script first, as version managers install both together.
    let beside = file.ancestors().skip(1).take(5).map(|folder| folder.join("bin").join(name));
    beside.into_iter().find(|file| file.is_file()).or_else(|| person.find(name))
}

/// Returns the project of a script, or only the script.
fn of_script(file: &Path, person: &PersonPaths) -> PathBuf {
    let current = person.folder.canonicalize().ok();
    for folder in file.ancestors().skip(1).take(6) {
        let is_workspace = current.as_deref().is_some_and(|current| current.starts_with(folder));
        if is_workspace || person.is_wide(folder) {
            break;
        }
        if PROJECT_FILES.iter().any(|name| folder.join(name).is_file()) {
            return folder.to_owned();
        }
    }
    file.to_owned()
}

/// Returns whether every program sees the path.
fn is_system(path: &Path) -> bool {
    SYSTEM_FOLDERS.iter().any(|folder| path.starts_with(folder))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn file(path: &Path, text: &str) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn person(home: &Path, path: &[&str]) -> PersonPaths {
        let path = path.iter().map(|folder| home.join(folder)).collect();
        PersonPaths { path, home: Some(home.to_owned()), ..PersonPaths::default() }
    }

    #[test]
    fn a_program_of_a_version_manager_needs_its_installation() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let node = home.join(".nvm/versions/node/v22");
        file(&node.join("bin/node"), "");
        file(&node.join("lib/node_modules/npm/bin/npx-cli.js"), "#!/usr/bin/env node\n");
        symlink("../lib/node_modules/npm/bin/npx-cli.js", node.join("bin/npx")).unwrap();
        let person = person(home, &[".nvm/versions/node/v22/bin"]);
        let npx = person.find("npx").unwrap();
        assert_eq!(npx, node.join("bin/npx"));
        assert_eq!(needed(Some(&npx), &[], &person), [node]);
    }

    #[test]
    fn a_virtual_environment_needs_the_python_that_it_was_made_from() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let python = home.join(".pyenv/versions/3.12.1");
        file(&python.join("bin/python3.12"), "");
        fs::create_dir_all(python.join("lib")).unwrap();
        let venv = home.join("work/server/.venv");
        file(&venv.join("pyvenv.cfg"), "");
        file(&venv.join("bin/server"), &format!("#!{}/bin/python\n", venv.display()));
        symlink(python.join("bin/python3.12"), venv.join("bin/python")).unwrap();
        let person = person(home, &[]);
        assert_eq!(needed(Some(&venv.join("bin/server")), &[], &person), [python, venv]);
    }

    #[test]
    fn a_shim_is_the_program_that_it_stands_for() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        file(&home.join(".pyenv/shims/python3"), "#!/usr/bin/env bash\n");
        file(&home.join(".pyenv/version"), "3.12.1\n");
        let real = home.join(".pyenv/versions/3.12.1/bin/python3");
        file(&real, "");
        assert_eq!(person(home, &[".pyenv/shims"]).find("python3"), Some(real));
    }

    #[test]
    fn a_program_in_the_home_folder_shows_nothing_beside_it() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        file(&home.join(".local/bin/server"), "");
        file(&home.join(".local/lib/x"), "");
        file(&home.join(".local/share/keyrings/secret"), "");
        let person = person(home, &[".local/bin"]);
        let server = person.find("server").unwrap();
        assert_eq!(needed(Some(&server), &[], &person), [home.join(".local/bin/server")]);
    }

    /// Regression: `uvx` executes the `uv` beside it, which was not in the sandbox.
    #[test]
    fn uvx_finds_uv_and_the_pythons_of_the_person() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        for name in ["uv", "uvx"] {
            file(&home.join(".local/bin").join(name), "");
        }
        let pythons = home.join(".local/share/uv/python");
        let person =
            PersonPaths { uv_pythons: Some(pythons.clone()), ..person(home, &[".local/bin"]) };
        let uvx = person.find("uvx").unwrap();
        assert_eq!(
            needed_by_uvx(Some(&uvx), &person),
            [home.join(".local/bin/uv"), pythons.clone()]
        );
        // The program is behind a link, as tools with several versions create it.
        let kept = home.join(".cache/uv-0.9");
        for name in ["uv", "uvx"] {
            file(&kept.join(name), "");
        }
        fs::create_dir(home.join("bin")).unwrap();
        symlink(kept.join("uvx"), home.join("bin/uvx")).unwrap();
        let needed = needed_by_uvx(Some(&home.join("bin/uvx")), &person);
        assert_eq!(needed, [kept.join("uv"), pythons]);
    }

    #[test]
    fn a_script_needs_its_project_and_never_the_whole_home() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        file(&home.join("package.json"), "{}");
        file(&home.join("alone.js"), "");
        file(&home.join("code/srv/package.json"), "{}");
        file(&home.join("code/srv/build/index.js"), "");
        let person = person(home, &[]);
        let needed = |script: &str| {
            let script = home.join(script).display().to_string();
            needed(Some(Path::new("/usr/bin/node")), &[script], &person)
        };
        assert_eq!(needed("code/srv/build/index.js"), [home.join("code/srv")]);
        assert_eq!(needed("alone.js"), [home.join("alone.js")]);
    }
}
