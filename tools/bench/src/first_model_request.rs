//! From the start of the process to the first byte of its first request to a model, with 1,000
//! tools beside the built-in ones.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::fake_provider::FakeProvider;
use crate::results::Results;

/// Starts of each kind; the median counts.
const STARTS: usize = 21;

pub(crate) fn run(table: &mut Results) {
    let Some(binary) = std::env::current_exe().ok().map(|path| path.with_file_name("toolcrib"))
    else {
        return;
    };
    if !binary.exists() {
        table.figure("start: the binary is not built beside this program", f64::NAN, "");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("shop")).expect("a folder");
    let bare = median(&binary, folder.path(), 0);
    table.figure("start: to the first request, built-in tools alone", bare, "ms");
    (0..1_000).for_each(|n| tool(&folder.path().join("tools"), n));
    let full = median(&binary, folder.path(), 1_000);
    table.at_most("start: to the first request, 1,000 tools of a folder", full, "ms", 25.0);
}

fn tool(folder: &Path, n: usize) {
    let folder = folder.join(format!("tool_{n}"));
    fs::create_dir_all(&folder).expect("a folder");
    let definition = format!(
        "description = \"Looks into the files of department {n}.\"\nrisk = \"safe\"\neffect = \"read\"\n\n[parameters]\npath = \"string\"\n\"limit?\" = {{ type = \"integer\", minimum = 1, maximum = 1000, description = \"How many.\" }}\n"
    );
    fs::write(folder.join("tool.toml"), definition).expect("a definition");
    let run = folder.join("run");
    fs::write(&run, "#!/bin/sh\ncat\n").expect("a program");
    fs::set_permissions(&run, fs::Permissions::from_mode(0o755)).expect("its mode");
}

/// Milliseconds from the start to the first byte.
fn median(binary: &Path, folder: &Path, tools: usize) -> f64 {
    let server = FakeProvider::start(0);
    let mut took: Vec<f64> =
        (0..=STARTS).map(|_| time_one_start(binary, folder, &server, tools)).collect();
    // The first one makes the database.
    took.remove(0);
    took.sort_by(f64::total_cmp);
    took[took.len() / 2]
}

fn time_one_start(binary: &Path, folder: &Path, server: &FakeProvider, tools: usize) -> f64 {
    let mut command = Command::new(binary);
    command
        .args(["run", "--provider", "openai-compatible", "--model", "bench", "--base-url"])
        .args([&server.base_url(), "Which invoices are open?"])
        .current_dir(folder.join("shop"))
        .env("TOOLCRIB_HOME", folder.join("home"))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    if tools > 0 {
        command.arg("--tools").arg(folder.join("tools"));
    }
    let begun = Instant::now();
    let status = command.status().expect("a process");
    assert!(status.success(), "{status}");
    let bodies = server.take_bodies();
    let names = bodies
        .first()
        .map_or(0, |body| String::from_utf8_lossy(body).matches("\"name\":\"tool_").count());
    assert_eq!(names, tools, "tools in the request");
    let first = server.first_byte().expect("a request");
    first.duration_since(begun).as_secs_f64() * 1000.0
}
