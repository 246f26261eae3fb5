//! The loader of the library: reads all folders and checks their files against the registered
//! tools.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use super::agent::{self, Agent, DEFAULT_ROLE, FileFormat, GENERAL_ASSISTANT};
use super::guide::{self, Guide};
use super::kit::{self, Kit};
use super::location::{Folder, Folders, Location, Problem, Scope};
use super::skill::{self, FILE, Skill};
use super::suggest::{did_you_mean, quote_name, similar_names};
use super::tool_lists::{KnownTools, UnknownEntry, expand_tool_list};
use super::{bounded_file, built_in};
use toolcrib_core::tool_pattern::names_a_server;

/// The library has no item with this name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no {kind} \"{}\"{}", quote_name(name), did_you_mean(&near.iter().map(String::as_str).collect::<Vec<_>>()))]
pub struct UnknownName {
    /// The kind of item: `agent` or `skill`.
    pub kind: &'static str,
    /// The name.
    pub name: String,
    /// Up to three similar names, the most similar first.
    pub near: Vec<String>,
}

/// All loaded items, each list ordered by name with the General Assistant first.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Library {
    /// Agents; the General Assistant always exists.
    pub agents: Vec<Agent>,
    /// Skills.
    pub skills: Vec<Skill>,
    /// Skills that are switched off: no model receives them.
    pub skills_off: Vec<Skill>,
    /// Kits.
    pub kits: Vec<Kit>,
    /// Guides, at most one per tool.
    pub guides: Vec<Guide>,
    /// Files that could not be loaded, with the reason.
    pub problems: Vec<Problem>,
}

impl Library {
    /// Reads the folders. Errors of a file are listed in `problems`; all other files are loaded.
    ///
    /// Of agents, kits and guides with one name, a trusted project's replaces the user's, which
    /// replaces the built-in one; two in the same scope conflict, and neither is loaded. Skills
    /// with the same name always conflict. The General Assistant and built-in skills cannot be
    /// replaced.
    #[must_use]
    pub fn load(folders: &Folders, tools: &KnownTools<'_>) -> Self {
        let mut problems = Vec::new();
        let skills = skills(&folders.skills, &mut problems);
        let agents = agents(&folders.agents, &skills, tools, &mut problems);
        // Some tools exist only on machines where programs can run; shipped files for missing tools
        // are skipped.
        let shipped = built_in::KITS.iter().filter(|(_, text)| kit::is_for(text, tools));
        let kits = parse_files("kits", shipped, &folders.kits, &mut problems, |text, place| {
            kit::read(text, place, tools)
        });
        let shipped = built_in::GUIDES.iter().filter(|(_, text)| guide::is_for(text, tools));
        let guides =
            parse_files("guides", shipped, &folders.guides, &mut problems, |text, place| {
                guide::read(text, place, tools)
            });
        let mut agents = apply_scopes("agent", agents, folders.trusted, &mut problems);
        if !folders.trusted {
            without_roles(&mut agents, &mut problems);
        }
        agents.sort_by_key(|agent| agent.name != GENERAL_ASSISTANT);
        let kits = apply_scopes("kit", kits, folders.trusted, &mut problems);
        let guides = apply_scopes("guide of the tool", guides, folders.trusted, &mut problems);
        Self { agents, skills, skills_off: Vec::new(), kits, guides, problems }
    }

    /// Returns the agent with this name.
    ///
    /// # Errors
    /// [`UnknownName`] with similar names.
    pub fn agent(&self, name: &str) -> Result<&Agent, UnknownName> {
        let found = self.agents.iter().find(|agent| agent.name == name);
        found.ok_or_else(|| unknown("agent", name, self.agents.iter().map(|a| a.name.as_str())))
    }

    /// Returns the skill with this name.
    ///
    /// # Errors
    /// [`UnknownName`] with similar names.
    pub fn skill(&self, name: &str) -> Result<&Skill, UnknownName> {
        let found = self.skills.iter().find(|skill| skill.name == name);
        found.ok_or_else(|| unknown("skill", name, self.skills.iter().map(|s| s.name.as_str())))
    }
}

fn unknown<'a>(
    kind: &'static str,
    name: &str,
    names: impl Iterator<Item = &'a str>,
) -> UnknownName {
    let near = similar_names(name, names).into_iter().map(str::to_owned).collect();
    UnknownName { kind, name: name.to_owned(), near }
}

/// A library that is replaced when its files change or a skill is switched; cheap to clone. A
/// snapshot stays unchanged.
#[derive(Debug, Clone, Default)]
pub struct LibraryHandle(Arc<RwLock<Held>>);

/// A library, and the names of skills that are off, including names without a skill.
#[derive(Debug, Default)]
struct Held {
    library: Arc<Library>,
    off: BTreeSet<String>,
}

impl Library {
    /// Returns the same library with exactly these skills off.
    fn with_skills_off(mut self, off: &BTreeSet<String>) -> Self {
        self.skills.append(&mut self.skills_off);
        self.skills.sort_by(|a, b| a.name.cmp(&b.name));
        (self.skills_off, self.skills) =
            self.skills.into_iter().partition(|skill| off.contains(&skill.name));
        self
    }
}

impl LibraryHandle {
    /// Creates a handle of this library.
    #[must_use]
    pub fn new(library: Library) -> Self {
        Self(Arc::new(RwLock::new(Held { library: Arc::new(library), off: BTreeSet::new() })))
    }

    /// Returns the current snapshot.
    #[must_use]
    pub fn current(&self) -> Arc<Library> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).library)
    }

    /// Replaces the library for all clones of the handle.
    pub fn replace(&self, library: Library) {
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        held.library = Arc::new(library.with_skills_off(&held.off));
    }

    /// Switches these skills off, and all others on, for all clones of the handle.
    pub fn set_skills_off(&self, off: BTreeSet<String>) {
        if self.0.read().unwrap_or_else(PoisonError::into_inner).off == off {
            return;
        }
        let mut held = self.0.write().unwrap_or_else(PoisonError::into_inner);
        held.library = Arc::new(Library::clone(&held.library).with_skills_off(&off));
        held.off = off;
    }
}

/// An item with a name, which a later scope may replace.
trait LibraryItem {
    fn name(&self) -> &str;
    fn location(&self) -> &Location;
}

macro_rules! named {
    ($type:ty, $name:ident) => {
        impl LibraryItem for $type {
            fn name(&self) -> &str {
                &self.$name
            }

            fn location(&self) -> &Location {
                &self.location
            }
        }
    };
}

named!(Agent, name);
named!(Kit, name);
named!(Guide, tool);
named!(Skill, name);

/// Selects one item per name, from the last scope that contains it; two in one scope are a problem
/// of both.
fn apply_scopes<T: LibraryItem>(
    kind: &str,
    mut all: Vec<T>,
    trusted: bool,
    problems: &mut Vec<Problem>,
) -> Vec<T> {
    if !trusted {
        all = without_replacements(kind, all, problems);
    }
    let mut groups: BTreeMap<_, Vec<T>> = BTreeMap::new();
    for one in all {
        // The last scope of a name comes first.
        let key = (one.name().to_owned(), Reverse(one.location().scope()));
        groups.entry(key).or_default().push(one);
    }
    let mut kept: Vec<T> = Vec::new();
    for group in groups.into_values() {
        let Some(one) = single(kind, group, problems) else { continue };
        if kept.last().is_none_or(|last| last.name() != one.name()) {
            kept.push(one);
        }
    }
    kept
}

/// Removes items of an untrusted workspace that would replace others: a person who names their own
/// agent must not run a foreign one.
fn without_replacements<T: LibraryItem>(
    kind: &str,
    all: Vec<T>,
    problems: &mut Vec<Problem>,
) -> Vec<T> {
    let is_project = |one: &T| one.location().scope() == Some(Scope::Project);
    let taken: HashSet<String> =
        all.iter().filter(|one| !is_project(one)).map(|one| one.name().to_owned()).collect();
    let (kept, left_out): (Vec<T>, Vec<T>) =
        all.into_iter().partition(|one| !is_project(one) || !taken.contains(one.name()));
    for one in left_out {
        let message = format!(
            "{kind} \"{}\" is there already, and this workspace is not trusted: it is not used in its place",
            one.name()
        );
        problems.push(Problem::new(one.location().path().unwrap_or(Path::new("")), message));
    }
    kept
}

/// Removes the roles from agents of an untrusted workspace: flags that grant more to a role refer
/// to the user's own agents.
fn without_roles(agents: &mut [Agent], problems: &mut Vec<Problem>) {
    for agent in agents.iter_mut().filter(|agent| agent.location.scope() == Some(Scope::Project)) {
        if agent.role != DEFAULT_ROLE {
            let message = format!(
                "agent \"{}\" has the role {DEFAULT_ROLE} and not {}: this workspace is not trusted",
                agent.name, agent.role
            );
            problems.push(Problem::new(agent.location.path().unwrap_or(Path::new("")), message));
            DEFAULT_ROLE.clone_into(&mut agent.role);
        }
    }
}

/// Returns the only member of a group; if there are several, each is a problem that names the
/// others.
fn single<T: LibraryItem>(kind: &str, mut group: Vec<T>, problems: &mut Vec<Problem>) -> Option<T> {
    if group.len() == 1 {
        return group.pop();
    }
    for (i, one) in group.iter().enumerate() {
        let others = group.iter().enumerate().filter(|(j, _)| *j != i);
        let others: Vec<String> = others.map(|(_, other)| other.location().to_string()).collect();
        let message = format!(
            "{kind} \"{}\" is also defined in {}; neither is loaded",
            one.name(),
            others.join(", ")
        );
        problems.push(Problem::new(one.location().path().unwrap_or(Path::new("")), message));
    }
    None
}

/// Returns the files of folders with one of these extensions, each with its folder.
fn files_of<'a>(
    folders: &'a [Folder],
    endings: &[&str],
    problems: &mut Vec<Problem>,
) -> Vec<(&'a Folder, PathBuf)> {
    let mut files = Vec::new();
    for folder in folders {
        match bounded_file::entries(&folder.path) {
            Err(fault) => problems.push(Problem::new(&folder.path, fault)),
            Ok(entries) => {
                let wanted = entries.into_iter().filter(|path| {
                    let ending = path.extension().and_then(|ending| ending.to_str());
                    !is_draft(path)
                        && ending.is_some_and(|ending| endings.contains(&ending))
                        && path.file_stem().is_some_and(|stem| stem != "README")
                });
                files.extend(wanted.map(|path| (folder, path)));
            }
        }
    }
    files
}

/// Returns whether a file is a draft: files whose name begins with `_` are not loaded.
fn is_draft(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('_'))
}

/// Parses kits or guides, built in and from folders.
fn parse_files<'a, T>(
    kind: &str,
    shipped: impl Iterator<Item = &'a (&'a str, &'a str)>,
    folders: &[Folder],
    problems: &mut Vec<Problem>,
    read: impl Fn(&str, Location) -> Result<T, String>,
) -> Vec<T> {
    let mut all = Vec::new();
    let mut keep = |path: &Path, read: Result<T, String>, problems: &mut Vec<Problem>| match read {
        Ok(one) => all.push(one),
        Err(fault) => problems.push(Problem::new(path, fault)),
    };
    for (name, text) in shipped {
        let path = format!("built-in {kind}/{name}");
        keep(Path::new(&path), read(text, Location::BuiltIn), problems);
    }
    for (folder, path) in files_of(folders, &["yaml", "yml"], problems) {
        let place = Location::File { scope: folder.scope, path: path.clone() };
        let one = bounded_file::read(&folder.path, &path).and_then(|text| read(&text, place));
        keep(&path, one, problems);
    }
    all
}

fn agents(
    folders: &[Folder],
    skills: &[Skill],
    tools: &KnownTools<'_>,
    problems: &mut Vec<Problem>,
) -> Vec<Agent> {
    let mut all = Vec::new();
    for (name, text) in built_in::AGENTS {
        match agent::read(name, text, FileFormat::Markdown, Location::BuiltIn) {
            Ok(agent) => all.push(agent),
            Err(fault) => {
                problems.push(Problem::new(format!("built-in agents/{name}.md"), fault));
            }
        }
    }
    for (folder, path) in files_of(folders, &["toml", "md"], problems) {
        let place = Location::File { scope: folder.scope, path: path.clone() };
        let read = bounded_file::read(&folder.path, &path)
            .and_then(|text| parse_agent(&path, &text, place))
            .and_then(|agent| check_references(agent, skills, tools));
        match read {
            Ok((agent, warning)) => {
                all.push(agent);
                problems.extend(warning.map(|warning| Problem::new(&path, warning)));
            }
            Err(fault) => problems.push(Problem::new(path, fault)),
        }
    }
    all
}

/// Returns the warning for people about entries whose server is unavailable; `None` if there are
/// none.
fn away_warning(away: &[UnknownEntry]) -> Option<String> {
    let names: Vec<String> =
        away.iter().map(|unknown| format!("\"{}\"", quote_name(&unknown.entry))).collect();
    (!names.is_empty()).then(|| {
        format!(
            "tools: {} matches no tool now: its MCP server is gone, off, or was never connected (`toolcrib mcp list`); the agent works without it",
            names.join(", ")
        )
    })
}

fn parse_agent(path: &Path, text: &str, place: Location) -> Result<Agent, String> {
    let toml = path.extension().is_some_and(|ending| ending == "toml");
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    if stem == GENERAL_ASSISTANT {
        return Err(format!(
            "the agent \"{GENERAL_ASSISTANT}\" is built in and cannot be replaced; give this one another name"
        ));
    }
    agent::read(&stem, text, if toml { FileFormat::Toml } else { FileFormat::Markdown }, place)
}

/// Checks that the tools and skills of an agent exist. An unavailable server removes its tools, but
/// not the agent: the second value is the warning about it.
pub(super) fn check_references(
    agent: Agent,
    skills: &[Skill],
    tools: &KnownTools<'_>,
) -> Result<(Agent, Option<String>), String> {
    let mut expansion = expand_tool_list(agent.tools.as_deref(), tools.names);
    let (away, unknown): (Vec<_>, Vec<_>) = expansion.unknown.into_iter().partition(|unknown| {
        // Similar to the name of an available server: a typing error.
        let is_slip = unknown.entry.starts_with("server:") && !unknown.near.is_empty();
        names_a_server(&unknown.entry) && !is_slip
    });
    expansion.unknown = unknown;
    if let Some(complaint) = expansion.complaint() {
        return Err(complaint);
    }
    let warning = away_warning(&away);
    for wanted in &agent.skills {
        if !skills.iter().any(|skill| skill.name == *wanted) {
            let near = similar_names(wanted, skills.iter().map(|skill| skill.name.as_str()));
            let near = did_you_mean(&near);
            return Err(format!("skills: unknown skill \"{}\"{near}", quote_name(wanted)));
        }
    }
    Ok((agent, warning))
}

fn skills(folders: &[Folder], problems: &mut Vec<Problem>) -> Vec<Skill> {
    let mut groups: BTreeMap<String, Vec<Skill>> = BTreeMap::new();
    for skill in own_skills(folders, problems) {
        groups.entry(skill.name.clone()).or_default().push(skill);
    }
    for (name, text) in built_in::SKILLS {
        for own in groups.remove(name).unwrap_or_default() {
            let message = format!(
                "the skill \"{name}\" is built in and cannot be replaced; give this one another name"
            );
            problems.push(Problem::new(own.location.path().unwrap_or(Path::new("")), message));
        }
        match skill::parse(name, text, Location::BuiltIn) {
            Ok(body) => groups.entry(name.to_owned()).or_default().push(body.skill),
            Err(faults) => {
                let path = format!("built-in skills/{name}/{FILE}");
                problems.push(Problem::new(path, faults.join("; ")));
            }
        }
    }
    groups.into_values().filter_map(|group| single("skill", group, problems)).collect()
}

fn own_skills(folders: &[Folder], problems: &mut Vec<Problem>) -> Vec<Skill> {
    let mut seen = HashSet::new();
    let mut skills = Vec::new();
    for folder in folders {
        let entries = match bounded_file::entries(&folder.path) {
            Ok(entries) => entries,
            Err(fault) => {
                problems.push(Problem::new(&folder.path, fault));
                continue;
            }
        };
        for path in entries.into_iter().filter(|path| !is_draft(path) && path.join(FILE).exists()) {
            // One folder under two paths, such as a linked `.claude/skills`, is one skill.
            if path.canonicalize().is_ok_and(|real| !seen.insert(real)) {
                continue;
            }
            let place = Location::File { scope: folder.scope, path: path.join(FILE) };
            match skill::read(&path, &place) {
                Ok(body) => skills.push(body.skill),
                Err(faults) => {
                    let of_file = |fault| Problem::new(path.join(FILE), fault);
                    problems.extend(faults.into_iter().map(of_file));
                }
            }
        }
    }
    skills
}
