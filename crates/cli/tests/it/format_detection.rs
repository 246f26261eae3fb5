//! Detection of formats in every recorded response: the detected format is the folder of the
//! recording, and specifying it makes no difference.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{self, FORMATS, TestEnv};

/// Recordings without any sign of a format: prose is a response without calls in any format.
const UNTOLD: &[&str] = &["text/prose.txt"];

fn recordings() -> Vec<(&'static str, PathBuf)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../providers/tests/fixtures");
    let mut found = Vec::new();
    for format in FORMATS {
        for entry in fs::read_dir(folder.join(format)).unwrap() {
            found.push((format, entry.unwrap().path()));
        }
    }
    found.sort();
    found
}

fn told(path: &Path) -> bool {
    !UNTOLD.iter().any(|name| path.ends_with(name))
}

#[test]
fn every_recording_is_found_out() {
    let recordings = recordings();
    assert!(recordings.len() > 30, "{}", recordings.len());
    for (format, path) in recordings.into_iter().filter(|(_, path)| told(path)) {
        let text = fs::read(&path).unwrap();
        // Use `locked`: the recording must not change anything, and both runs must see the same
        // state.
        let args = ["exec", "--policy", "locked", "--json"];
        let found = TestEnv::new().feed(&args, &text);
        let given = TestEnv::new().feed(&[&args[..], &["--format", format]].concat(), &text);
        assert_eq!((found.code, &found.stderr), (given.code, &given.stderr), "{}", path.display());
        let (found, given) = (shape(&found.stdout), shape(&given.stdout));
        assert_eq!(found, given, "{}", path.display());
    }
}

/// Returns the messages without the part that differs from run to run: the time of day.
fn shape(stdout: &str) -> String {
    if stdout.is_empty() {
        return String::new();
    }
    let text = support::json(stdout).to_string();
    text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

#[test]
fn a_recording_given_as_another_format_names_its_own() {
    for (format, path) in recordings().into_iter().filter(|(_, path)| told(path)) {
        let text = fs::read(&path).unwrap();
        for other in FORMATS.into_iter().filter(|other| *other != format) {
            let ended =
                TestEnv::new().feed(&["exec", "--policy", "locked", "--format", other], &text);
            assert_eq!(
                (ended.code, ended.stdout.as_str()),
                (2, ""),
                "{}: {}",
                path.display(),
                ended.stderr
            );
            // A response that contains only an error is reported as that error, for any provider.
            let error = ended.stderr.contains("the provider answered with an error");
            let names = ended.stderr.contains(&format!("use --format {format}"));
            assert!(names || error, "{} as {other}: {}", path.display(), ended.stderr);
        }
    }
}
