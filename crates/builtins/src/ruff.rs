//! `ruff check` on Python files: lint results without a language server.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use toolcrib_core::{CallCtx, ErrorType, ToolError};

use crate::fs::Roots;
use crate::lsp::display_path;
use crate::program_runner::{Needs, Program, ProgramRunner, WorkspaceAccess};

/// Time limit of a run.
const TIME: Duration = Duration::from_secs(60);
/// Maximum number of findings in a result.
const MAX_FINDINGS: usize = 50;
/// Capture limit of the output, in bytes; a finding takes about 700.
const ANSWER: usize = 16 << 20;

#[derive(Debug, Deserialize)]
struct Finding {
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    message: String,
    #[serde(default)]
    filename: String,
    #[serde(default)]
    location: RuffLocation,
    #[serde(default)]
    fix: Option<serde::de::IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
struct RuffLocation {
    #[serde(default)]
    row: u64,
    #[serde(default)]
    column: u64,
}

/// Runs ruff on a file or folder.
///
/// # Errors
/// `not_configured` without ruff, `file_not_found` and others for the path, `execution_error` when
/// ruff fails.
pub(crate) async fn check(
    ctx: &CallCtx,
    workbench: &ProgramRunner,
    roots: &Roots,
    path: &str,
) -> Result<String, ToolError> {
    let real = roots.real_path(path)?;
    let needs = Needs { workspace: WorkspaceAccess::Read, ..Needs::default() };
    let program = Program::new("ruff")
        .args(["check", "--output-format=json", "--no-cache", "--quiet", "--no-fix", "--"])
        .args([&real])
        .needs(needs)
        .time(TIME)
        .keep(ANSWER);
    let finished = workbench.run(ctx, program).await.map_err(not_installed)?;
    if let Some(stopped) = finished.stop_error("ruff") {
        return Err(stopped);
    }
    // Exit code 1 means findings, 2 an error.
    let findings = serde_json::from_slice::<Vec<Finding>>(&finished.stdout.head);
    match (finished.code(), findings) {
        (Some(0 | 1), Ok(findings)) => Ok(render(roots, path, &findings)),
        _ => {
            let said = String::from_utf8_lossy(&finished.stderr.head);
            let said: String = said.trim().chars().take(1000).collect();
            Err(ToolError::execution(format!(
                "ruff could not check {path}: {said}\nIts configuration in the project may be wrong."
            )))
        }
    }
}

fn not_installed(error: ToolError) -> ToolError {
    if !error.message.starts_with("The program ruff is not there") {
        return error;
    }
    let detail = error.detail.unwrap_or_default();
    ToolError::new(
        ErrorType::NotConfigured,
        "ruff is not there. Tell the user to install it (pip install ruff); if it is in a folder of its own, that folder belongs into `sandbox.path` of the configuration. Until then use the action diagnostics.",
    )
    .with_detail(detail)
}

fn render(roots: &Roots, path: &str, findings: &[Finding]) -> String {
    if findings.is_empty() {
        return format!("ruff finds nothing wrong in {path}.");
    }
    let fixable = findings.iter().filter(|finding| finding.fix.is_some()).count();
    let mut out =
        format!("{path}: {} findings, {fixable} of them with a known fix.\n", findings.len());
    for Finding { code, message, filename, location, .. } in findings.iter().take(MAX_FINDINGS) {
        let file = display_path(roots, Path::new(filename));
        let code = code.as_deref().unwrap_or("error");
        let _ = writeln!(out, "{file}:{}:{} [{code}] {message}", location.row, location.column);
    }
    if findings.len() > MAX_FINDINGS {
        let _ = writeln!(out, "(and {} more)", findings.len() - MAX_FINDINGS);
    }
    out
}
