//! Another root file system without namespaces: `proot` rewrites the paths of the program's system
//! calls. It isolates nothing, so this is level `none`, and runs only if the policy allows that
//! level.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::mount_namespace::SCRATCH;
use super::plan::{Action, PathView, Plan};
use crate::SandboxError;
use crate::process::{DEFAULT_PATH, find_program};

/// Host folders that it needs to emulate a complete system.
const OF_THE_HOST: [&str; 2] = ["/dev", "/proc"];

/// Converts a plan to run under `proot`.
pub(super) fn plan_with_proot(plan: &Plan) -> Result<Plan, SandboxError> {
    let none = SandboxError::NoMaker {
        program: "proot",
        remedy: "install the package proot, or allow user namespaces, which keep programs apart too",
    };
    let proot = find().ok_or(none)?;
    let mut plan = plan.clone();
    let Some((system, others)) = plan.views.split_first() else { return Ok(plan) };
    // Emulates root, including changes of ownership.
    let mut line: Vec<OsString> = ["-0", "-r"].map(OsString::from).into();
    line.push(system.outside().into());
    for folder in OF_THE_HOST {
        line.extend(["-b".into(), folder.into()]);
    }
    for view in others {
        line.extend(["-b".into(), bound(view)?]);
    }
    line.extend(["-w".into(), plan.folder.clone()]);
    if let Action::Run { program, args, env, .. } = &mut plan.act {
        line.push(std::mem::replace(program, proot.into()));
        line.append(args);
        *args = line;
        if !env.iter().any(|(name, _)| name == "TMPDIR") {
            env.push(("TMPDIR".into(), SCRATCH.into()));
        }
    }
    plan.folder = "/".into();
    // The disk usage is measured at the host paths.
    let outside =
        |view: &PathView| PathView { path: view.outside().into(), from: None, ..view.clone() };
    plan.views = plan.views.iter().map(outside).collect();
    Ok(plan)
}

/// Renders a view as `OUTSIDE:INSIDE`.
fn bound(view: &PathView) -> Result<OsString, SandboxError> {
    let mut text = view.outside().as_os_str().to_owned();
    if view.from.is_some() {
        text.push(":");
        text.push(&view.path);
    }
    let colons = |text: &OsStr| text.as_bytes().iter().filter(|byte| **byte == b':').count();
    if colons(&text) > usize::from(view.from.is_some()) {
        let source = io::Error::other("proot cannot show a path with a colon");
        return Err(SandboxError::Path { path: view.outside().to_owned(), source });
    }
    Ok(text)
}

fn find() -> Option<PathBuf> {
    find_program(OsStr::new("proot"), Path::new("/"), OsStr::new(DEFAULT_PATH)).ok()
}
