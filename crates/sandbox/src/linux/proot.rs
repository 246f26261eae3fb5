//! Another system without namespaces: `proot` lets a program believe in it, by rewriting the paths of its system calls. It keeps nothing apart, so
//! this is the level `none`, and runs only where a policy says that it will do.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use super::plan::{Act, Plan, View};
use super::root::SCRATCH;
use crate::SandboxError;
use crate::process::{DEFAULT_PATH, look_up};

/// What it needs of the host to show a system whole.
const OF_THE_HOST: [&str; 2] = ["/dev", "/proc"];

/// The same plan by `proot`.
pub(super) fn instead(plan: &Plan) -> Result<Plan, SandboxError> {
    let none = SandboxError::NoMaker {
        program: "proot",
        remedy: "install the package proot, or allow user namespaces, which keep programs apart too",
    };
    let proot = find().ok_or(none)?;
    let mut plan = plan.clone();
    let Some((system, others)) = plan.views.split_first() else { return Ok(plan) };
    // Root of it, who owns what it is given.
    let mut line: Vec<OsString> = ["-0", "-r"].map(OsString::from).into();
    line.push(system.outside().into());
    for folder in OF_THE_HOST {
        line.extend(["-b".into(), folder.into()]);
    }
    for view in others {
        line.extend(["-b".into(), bound(view)?]);
    }
    line.extend(["-w".into(), plan.folder.clone()]);
    if let Act::Run { program, args, env, .. } = &mut plan.act {
        line.push(std::mem::replace(program, proot.into()));
        line.append(args);
        *args = line;
        if !env.iter().any(|(name, _)| name == "TMPDIR") {
            env.push(("TMPDIR".into(), SCRATCH.into()));
        }
    }
    plan.folder = "/".into();
    // What is watched of the disk is where it is outside.
    let outside = |view: &View| View { path: view.outside().into(), from: None, ..view.clone() };
    plan.views = plan.views.iter().map(outside).collect();
    Ok(plan)
}

/// A view as `OUTSIDE:INSIDE`.
fn bound(view: &View) -> Result<OsString, SandboxError> {
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
    look_up(OsStr::new("proot"), Path::new("/"), OsStr::new(DEFAULT_PATH)).ok()
}
