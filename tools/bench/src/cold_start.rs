//! Cold start of the binary to a finished `tool call`. The binary stands beside this program:
//! `cargo xtask bench` builds both.

use std::process::{Command, Stdio};

use crate::results::Results;
use crate::timing::wall_ms;

pub(crate) fn run(table: &mut Results) {
    let Some(binary) = std::env::current_exe().ok().map(|path| path.with_file_name("toolcrib"))
    else {
        return;
    };
    if !binary.exists() {
        table.figure("binary: not built beside this program", f64::NAN, "");
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("notes.md"), "hello\n").expect("a file");
    let spawn = |program: &std::path::Path, words: &[&str]| {
        let done = Command::new(program)
            .args(words)
            .current_dir(folder.path())
            .env("TOOLCRIB_HOME", folder.path().join("home"))
            .stdout(Stdio::null())
            .status();
        assert!(done.is_ok_and(|status| status.success()));
    };
    let floor = wall_ms(41, || spawn(std::path::Path::new("/bin/true"), &[]));
    table.figure("binary: floor, /bin/true", floor, "ms");
    for (what, words) in [
        ("get_current_time", &["tool", "call", "get_current_time"][..]),
        ("read_file", &["tool", "call", "read_file", "--args", r#"{"path":"notes.md"}"#]),
    ] {
        let ms = wall_ms(41, || spawn(&binary, words));
        table.at_most(format!("binary: cold start to a finished {what}"), ms, "ms", 8.0);
    }
    table.at_most(
        "binary: peak memory of one tool call",
        peak_mb(&binary, folder.path()),
        "MB",
        20.0,
    );
}

/// Peak resident memory of a run, from the kernel's own count for children.
fn peak_mb(binary: &std::path::Path, folder: &std::path::Path) -> f64 {
    let script = "import resource,subprocess,sys\nsubprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,check=True)\nprint(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let output = Command::new("python3")
        .args(["-c", script])
        .arg(binary)
        .args(["tool", "call", "read_file", "--args", r#"{"path":"notes.md"}"#])
        .current_dir(folder)
        .env("TOOLCRIB_HOME", folder.join("home"))
        .output();
    let text =
        output.map(|out| String::from_utf8_lossy(&out.stdout).into_owned()).unwrap_or_default();
    text.trim().parse::<f64>().unwrap_or(f64::NAN) / 1024.0
}
