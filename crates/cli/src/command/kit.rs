//! `toolcrib kit list|show`: proven sequences of tools for one purpose.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use toolcrib_ops::OpError;
use toolcrib_ops::kits::{self, ShowKitRequest};
use toolcrib_ops::library::LibraryContext;

use super::library_snapshot::{self, LibrarySnapshot};
use crate::clap_args::LibraryArgs;
use crate::output::{self, Failure};

pub(super) fn list(places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    let reply = kits::list(&snapshot.context());
    library_snapshot::print_problems(&reply.problems, json);
    if json {
        output::print_json(&json!(reply.kits), true)?;
        return Ok(0);
    }
    let mut rows = vec![["KIT", "FROM", "TOOLS", "DESCRIPTION"].map(str::to_owned).to_vec()];
    rows.extend(reply.kits.iter().map(|kit| {
        let tools = kit.tools.join(", ");
        vec![kit.name.clone(), kit.source.word().to_owned(), tools, kit.description.clone()]
    }));
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

pub(super) fn show(name: &str, places: &LibraryArgs, json: bool) -> Result<u8, Failure> {
    let snapshot = LibrarySnapshot::load(places, json)?;
    let ctx = snapshot.context();
    let kit = kits::show(&ctx, &ShowKitRequest { name: name.to_owned() })
        .map_err(|error| missing(&ctx, name, error))?;
    if json {
        output::print_json(&json!(kit), true)?;
        return Ok(0);
    }
    let mut text = format!("{}\n\n{}\n\nfrom {}\n", kit.name, kit.description, kit.place);
    for (number, step) in (1..).zip(&kit.steps) {
        let optional = if step.optional { " (if you have the tool)" } else { "" };
        let _ = writeln!(text, "\n{number}. {} {}{optional}", step.tool, step.params);
        if !step.note.is_empty() {
            let _ = writeln!(text, "   {}", step.note.replace('\n', "\n   "));
        }
    }
    output::print_line(&text)?;
    Ok(0)
}

/// Returns the failure: a broken file with this name is a configuration error.
fn missing(ctx: &LibraryContext<'_>, name: &str, error: OpError) -> Failure {
    let problems = kits::list(ctx).problems;
    let is_named = |path: &str| Path::new(path).file_stem().is_some_and(|stem| stem == name);
    match problems.iter().find(|problem| is_named(&problem.path)) {
        Some(problem) => Failure::configuration(problem.to_string()),
        None => error.into(),
    }
}
