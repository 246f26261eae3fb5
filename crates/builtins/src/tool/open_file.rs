//! `open_file`: opens a file for the user with the desktop's default program.

use std::path::{Component, Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Assessment, CallCtx, Effect, ErrorType, PathAccess, Permission, Risk, Tool, ToolError,
    ToolOutput, ToolSpec, Trust, defaults,
};

use super::{base_spec, examples, text_output};
use crate::fs::FsErrorKind;
use crate::program_runner::ProgramRunner;

/// Extensions that may be opened: viewable files only, nothing that a desktop would execute.
const KINDS: [&str; 30] = [
    "html", "htm", "pdf", "png", "jpg", "jpeg", "gif", "webp", "svg", "bmp", "txt", "md", "csv",
    "tsv", "json", "xml", "yaml", "toml", "log", "mp3", "wav", "ogg", "flac", "mp4", "webm", "mov",
    "docx", "xlsx", "pptx", "odt",
];

/// How long the opener is observed: a failing one exits early, and one that becomes the viewer
/// keeps running.
const AT_ONCE: Duration = Duration::from_secs(2);

/// The desktop's program for opening files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opener {
    /// The program; it gets the path of the file as argument.
    pub program: PathBuf,
    /// Its complete environment: the variables that connect to the user's desktop.
    pub env: Vec<(String, String)>,
}

/// Handler of `open_file`.
pub(crate) struct OpenFile {
    pub(crate) bench: Arc<ProgramRunner>,
    pub(crate) opener: Opener,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// The file: a path from the workspace on, or from the home folder of programs, without `..`.
    path: String,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "open_file",
        "Open file for the user",
        "Open one file for the user in the program of their desktop: a page in the browser, a picture in the viewer. You get nothing of its content. Only this one file is opened, so write HTML with inline CSS and JavaScript.",
    );
    spec.group = Some("shell".to_owned());
    spec.parameter_aliases = super::path_aliases();
    // An opened HTML page may run scripts and load resources.
    (spec.effect, spec.risk) = (Effect::SideEffect, Risk::High);
    spec.permissions = vec![Permission::FsRead, Permission::Exec];
    spec.timeout = defaults::TIMEOUT_FILE;
    spec.trust = Trust::Tool;
    spec.examples = examples([("Show me the report", json!({"path": "out/report.html"}))]);
    spec
}

impl Tool for OpenFile {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        plain(&args.path)?;
        Ok(Assessment::from_spec(spec).with_summary(format!("open {} on the desktop", args.path)))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let relative = plain(&args.path)?;
        let confines = self.bench.program_policy();
        let bases = confines.roots.iter().take(1).chain(&confines.home);
        let found = bases.filter_map(|base| inside(base, relative)).next();
        let path = found.ok_or_else(|| {
            ToolError::new(
                ErrorType::FileNotFound,
                format!("File not found: {}. Name a file of the workspace.", args.path),
            )
        })?;
        let denials = &ctx.path_denials;
        if let Some(rule) = denials.denying_rule(PathAccess::Read, &path) {
            return Err(FsErrorKind::Denied(rule.named()).at(args.path).into());
        }
        self.opener.open(&path).await?;
        Ok(text_output(format!("{} was opened on the user's desktop.", args.path)))
    }
}

impl Opener {
    /// Opens a file or an address with the desktop's program.
    pub(crate) async fn open(&self, what: &Path) -> Result<(), ToolError> {
        let failed = |what: &str| {
            ToolError::execution(format!(
                "It could not be opened: {what}. Tell the user where it is instead."
            ))
        };
        let mut command = tokio::process::Command::new(&self.program);
        command
            .arg(what)
            .env_clear()
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        // A separate process group: the viewer belongs to the user and ends when they close it.
        let mut child = command.spawn().map_err(|error| {
            failed("the desktop's opener cannot be started").with_detail(error.to_string())
        })?;
        match tokio::time::timeout(AT_ONCE, child.wait()).await {
            Ok(Ok(status)) if !status.success() => {
                Err(failed("the desktop has no program for it, or refused"))
            }
            _ => Ok(()),
        }
    }
}

/// Checks for a relative path of plain names with an allowed extension.
fn plain(path: &str) -> Result<&Path, ToolError> {
    let refused = |why: &str| {
        Err(ToolError::new(ErrorType::PathNotAllowed, format!("{path} cannot be opened: {why}.")))
    };
    let named = Path::new(path);
    let is_plain = !path.is_empty()
        && !path.contains('\0')
        && named.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if !is_plain {
        return refused("name it from the workspace on, without a leading `/` and without `..`");
    }
    check_extension(named).or_else(|why| refused(why).map(drop))?;
    Ok(named)
}

/// Checks for an allowed extension.
pub(super) fn check_extension(path: &Path) -> Result<(), &'static str> {
    let kind = path.extension().and_then(|kind| kind.to_str()).map(str::to_ascii_lowercase);
    if kind.is_some_and(|kind| KINDS.contains(&kind.as_str())) {
        return Ok(());
    }
    Err("only pages, pictures, documents, texts, sounds and films are opened")
}

/// Returns the real path of the file, if no link leads out of the folder.
fn inside(base: &Path, relative: &Path) -> Option<PathBuf> {
    let base = base.canonicalize().ok()?;
    let path = base.join(relative).canonicalize().ok()?;
    let kept = plain(path.file_name()?.to_str()?).is_ok();
    (path.starts_with(&base) && path.is_file() && kept).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_the_folder_that_are_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("ws");
        std::fs::create_dir_all(base.join("sub")).unwrap();
        for name in ["ws/a.html", "ws/run.sh", "ws/sub/b.PNG", "secret.txt"] {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        let link = |to: &str, name: &str| std::os::unix::fs::symlink(to, base.join(name)).unwrap();
        link("../secret.txt", "out.txt");
        link("run.sh", "looks.txt");
        let check = |path: &str, found: bool| {
            let got = plain(path).ok().and_then(|path| inside(&base, path)).is_some();
            assert_eq!(got, found, "{path}");
        };
        check("a.html", true);
        check("./sub/b.PNG", true);
        for refused in [
            "run.sh",
            "missing.txt",
            "sub",
            "out.txt",
            "looks.txt",
            "../secret.txt",
            "/etc/passwd",
            "a.html\0",
            "",
        ] {
            check(refused, false);
        }
        check(&base.join("a.html").display().to_string(), false);
        check("sub/../a.html", false);
    }
}
