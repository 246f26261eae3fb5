//! `toolcrib trust`: trusts workspaces, after showing their content.

use std::fs;
use std::io::{self, BufRead as _, IsTerminal as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_app::rule_files::RuleFile;
use toolcrib_app::rules::Layer;

use super::config::hook_line;
use crate::clap_args::Trust;
use crate::config::{self, Config, ConfigEditor, Env};
use crate::output::{self, Failure};
use crate::{bootstrap, terminal};

/// The key in the person's file.
const TRUSTED_WORKSPACES_KEY: &str = "trusted_workspaces";

pub(super) fn run(command: &Trust, json: bool) -> Result<u8, Failure> {
    let own = config::load(&Env::from_process(), None)?;
    if command.list {
        return list(&own, json);
    }
    if let Some(folder) = &command.rm {
        return remove(&own, folder, json);
    }
    let folder = command.dir.as_deref().unwrap_or(Path::new("."));
    let folder = folder
        .canonicalize()
        .map_err(|error| Failure::usage(format!("{}: {error}", folder.display())))?;
    if !folder.is_dir() {
        return Err(Failure::usage(format!("{} is not a folder", folder.display())));
    }
    let Some(path) = folder.to_str() else {
        return Err(Failure::usage("the path of the folder is not UTF-8 text"));
    };
    let brought = WorkspaceContents::read(&folder, &own)?;
    if own.is_trusted_workspace(&folder, &Env::from_process()) {
        return report(&folder, &brought, false, json);
    }
    if !json {
        brought.show(&folder);
    }
    if !command.yes && !confirm(json)? {
        return Err(Failure { code: 5, message: format!("{path} is not trusted, as before") });
    }
    let mut edit = ConfigEditor::open(&user_config_file(&own)?)?;
    edit.list(TRUSTED_WORKSPACES_KEY).push(path);
    edit.store(|path, text| config::parse(path, text).map(|_| ()))?;
    report(&folder, &brought, true, json)
}

/// Returns the person's file.
fn user_config_file(own: &Config) -> Result<PathBuf, Failure> {
    let path = Some(own.path.clone()).filter(|path| !path.as_os_str().is_empty());
    path.ok_or_else(|| {
        Failure::configuration("there is no home folder; set TOOLCRIB_HOME to a folder")
    })
}

/// Asks at the terminal.
fn confirm(json: bool) -> Result<bool, Failure> {
    if json || !io::stdin().is_terminal() || !io::stderr().is_terminal() {
        return Err(Failure::usage(
            "there is no terminal to ask on; check the list and pass --yes to trust it",
        ));
    }
    output::eprint_line("Trust it? [y/N]");
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

fn report(
    folder: &Path,
    brought: &WorkspaceContents,
    changed: bool,
    json: bool,
) -> Result<u8, Failure> {
    if json {
        let row = json!({
            "workspace": folder,
            "trusted": true,
            "changed": changed,
            "brings": brought.to_json(),
        });
        output::print_json(&row, true)?;
    } else {
        let already = if changed { "" } else { " already" };
        output::eprint_line(&format!("toolcrib: {} is trusted{already}", folder.display()));
    }
    Ok(0)
}

fn list(own: &Config, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(own.trusted_workspaces), true)?;
    } else if own.trusted_workspaces.is_empty() {
        output::eprint_line("toolcrib: no workspace is trusted");
    } else {
        let lines = own.trusted_workspaces.iter().map(|path| format!("{}\n", path.display()));
        output::print_line(&lines.collect::<String>())?;
    }
    Ok(0)
}

fn remove(own: &Config, folder: &Path, json: bool) -> Result<u8, Failure> {
    let env = Env::from_process();
    let meant = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    // A deleted folder is still identified by its written path.
    let is_meant = |written: &str| {
        let written = Path::new(written);
        written == folder || written == meant || own.is_same_folder(written, &meant, &env)
    };
    let mut edit = ConfigEditor::open(&user_config_file(own)?)?;
    let list = edit.list(TRUSTED_WORKSPACES_KEY);
    let before = list.len();
    list.retain(|entry| !entry.as_str().is_some_and(is_meant));
    if list.len() == before {
        return Err(Failure::not_found(format!(
            "{} is not among the trusted workspaces; `toolcrib trust --list` shows them",
            meant.display()
        )));
    }
    edit.store(|path, text| config::parse(path, text).map(|_| ()))?;
    if json {
        output::print_json(&json!({"workspace": meant, "trusted": false, "changed": true}), true)?;
    } else {
        output::eprint_line(&format!("toolcrib: {} is trusted no longer", meant.display()));
    }
    Ok(0)
}

/// The tools, rules and settings of a workspace: headings, each with its lines.
struct WorkspaceContents(Vec<(&'static str, Vec<String>)>);

impl WorkspaceContents {
    /// Reads the folder.
    ///
    /// # Errors
    /// A file of it that is broken, or contains a setting that no workspace may have: it could not
    /// be used, trusted or not.
    fn read(folder: &Path, own: &Config) -> Result<Self, Failure> {
        let base = folder.join(bootstrap::PROJECT_FOLDER);
        let mut brought = vec![
            ("tools", entry_names(&base.join("tools"))),
            ("agents", entry_names(&base.join("agents"))),
            ("skills", entry_names(&base.join("skills"))),
            ("kits", entry_names(&base.join("kits"))),
            ("guides", entry_names(&base.join("guides"))),
        ];
        let rules = RuleFile::new(Layer::Project, base.join("rules.toml")).rules()?;
        let rules = rules.iter().map(|rule| format!("{} {}", rule.text.effect, rule.text.rule));
        brought.push(("rules", rules.collect()));
        let path = config::project_file(folder);
        if path.exists() {
            let text = config::read_file(&path).map_err(|error| {
                Failure::configuration(format!("{} cannot be read: {error}", path.display()))
            })?;
            config::parse_project(&path, &text, own)?;
            let file = config::parse_layer(&path, &text)?;
            brought.push(("hooks", file.hooks.iter().map(hook_line).collect()));
            let values = file.values.iter().map(|(key, held)| {
                format!("{key} = {}", super::config::masked_line(key, &held.value))
            });
            brought.push(("configuration", values.collect()));
        }
        brought.retain(|(_, lines)| !lines.is_empty());
        Ok(Self(brought))
    }

    fn show(&self, folder: &Path) {
        let mut text = format!("{} brings along:\n", folder.display());
        if self.0.is_empty() {
            text += "  nothing as yet; what is put into .toolcrib later is trusted too\n";
        }
        for (heading, lines) in &self.0 {
            text += &format!("  {heading}\n");
            for line in lines {
                text += &format!("    {}\n", terminal::escape_to_line(line));
            }
        }
        output::eprint_line(text.trim_end());
    }

    fn to_json(&self) -> Value {
        self.0.iter().map(|(heading, lines)| ((*heading).to_owned(), json!(lines))).collect()
    }
}

/// Returns the names in a folder, in alphabetical order.
fn entry_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
    names.sort_unstable();
    names
}
