//! Test frameworks: detects which one a project uses, builds its command line, and parses its
//! output.
#![deny(clippy::indexing_slicing)]

mod parse_output;

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

pub(crate) use parse_output::{TestCounts, parse_output};

/// A program that runs tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Runner {
    Pytest,
    Unittest,
    Cargo,
    Go,
    Npm,
    Make,
}

/// A project's folder, as detection sees it.
pub(crate) struct Project<'a> {
    /// Names in the folder, and those in its test folder, prefixed with it.
    pub(crate) names: Vec<String>,
    /// Reads the text of a file in it.
    pub(crate) text: &'a dyn Fn(&str) -> Option<String>,
}

impl Project<'_> {
    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|other| other == name)
    }

    fn says(&self, file: &str, word: &str) -> bool {
        self.has(file) && (self.text)(file).is_some_and(|text| text.contains(word))
    }

    /// Returns the test script in `package.json`.
    fn script(&self) -> Option<String> {
        let package = (self.text)("package.json").filter(|_| self.has("package.json"))?;
        let package: serde_json::Value = serde_json::from_str(&package).ok()?;
        Some(package.pointer("/scripts/test")?.as_str()?.to_owned())
    }

    /// Returns the option that filters tests by name in the program that npm starts; the option of
    /// node's own runner differs from the others.
    pub(crate) fn names_tests_by(&self) -> &'static str {
        let is_node = self.script().is_some_and(|script| script.contains("node --test"));
        if is_node { "--test-name-pattern" } else { "-t" }
    }
}

impl Runner {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Pytest => "pytest",
            Self::Unittest => "unittest",
            Self::Cargo => "cargo",
            Self::Go => "go",
            Self::Npm => "npm",
            Self::Make => "make",
        }
    }

    /// Detects the framework from the files of a project; `file` is the test file of the call.
    /// `None` if nothing identifies a framework.
    pub(crate) fn detect(project: &Project<'_>, file: Option<&str>) -> Option<Self> {
        let ending = file.and_then(|file| Path::new(file).extension()?.to_str());
        match ending {
            Some("py") => return Some(Self::python(project)),
            Some("rs") => return Some(Self::Cargo),
            Some("go") => return Some(Self::Go),
            _ => {}
        }
        let is_test = |path: &String| {
            let name = path.rsplit('/').next().unwrap_or(path);
            name.ends_with(".py") && (name.starts_with("test_") || name.ends_with("_test.py"))
        };
        let is_python =
            ["pytest.ini", "pyproject.toml", "setup.py", "setup.cfg", "tox.ini", "conftest.py"]
                .iter()
                .any(|name| project.has(name))
                || project.names.iter().any(is_test);
        let makefile = ["Makefile", "makefile", "GNUmakefile"].into_iter();
        if project.has("Cargo.toml") {
            Some(Self::Cargo)
        } else if project.has("go.mod") {
            Some(Self::Go)
        } else if is_python {
            Some(Self::python(project))
        } else if project.script().is_some() {
            Some(Self::Npm)
        } else if makefile.into_iter().any(|name| project.has(name) && has_target(project, name)) {
            Some(Self::Make)
        } else {
            None
        }
    }

    /// Chooses between pytest and unittest. Pytest also runs `unittest` tests, so plain unittest is
    /// used only if nothing indicates pytest and `unittest` is imported.
    fn python(project: &Project<'_>) -> Self {
        let speaks = ["pyproject.toml", "setup.cfg", "tox.ini", "requirements.txt"]
            .iter()
            .any(|file| project.says(file, "pytest"));
        if speaks || project.has("pytest.ini") || project.has("conftest.py") {
            return Self::Pytest;
        }
        let is_old = |name: &&String| {
            // `unittest` discovery enters a subfolder only if it is a package.
            let is_found = name.split_once('/').is_none_or(|(folder, _)| {
                project.names.iter().any(|other| *other == format!("{folder}/__init__.py"))
            });
            is_found
                && name.ends_with(".py")
                && name.contains("test")
                && project.says(name, "import unittest")
        };
        if project.names.iter().any(|name| is_old(&name)) { Self::Unittest } else { Self::Pytest }
    }

    /// Returns the default time limit: 30 s, more where tests are compiled first.
    pub(crate) fn time(self) -> Duration {
        match self {
            Self::Pytest | Self::Unittest => Duration::from_secs(30),
            Self::Cargo | Self::Go | Self::Npm | Self::Make => Duration::from_secs(120),
        }
    }

    /// Returns the program and its arguments for all tests, those of a file, or those whose name
    /// contains `test`; see [`Project::names_tests_by`] for npm.
    pub(crate) fn command(
        self,
        file: Option<&str>,
        test: Option<&str>,
        by: &'static str,
    ) -> Vec<String> {
        let words: &[&str] = match self {
            // No cache folder, and no colors in the output.
            Self::Pytest => &[
                "python3",
                "-m",
                "pytest",
                "-rfE",
                "--tb=short",
                "--color=no",
                "-p",
                "no:cacheprovider",
            ],
            Self::Unittest => &["python3", "-m", "unittest", "-v"],
            Self::Cargo => &["cargo", "test", "--no-fail-fast", "--color=never"],
            Self::Go => &["go", "test", "-v"],
            Self::Npm => &["npm", "test", "--silent"],
            Self::Make => &["make", "test"],
        };
        let mut command: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut add = |words: &[&str]| command.extend(words.iter().map(|word| (*word).to_owned()));
        match self {
            Self::Pytest => {
                test.iter().for_each(|test| add(&["-k", test]));
                file.iter().for_each(|file| add(&["--", file]));
            }
            Self::Unittest => {
                test.iter().for_each(|test| add(&["-k", test]));
                file.iter().for_each(|file| add(&[file]));
            }
            Self::Cargo => {
                let stem = file.and_then(|file| Path::new(file).file_stem()?.to_str());
                let is_own = file.is_some_and(|file| file.starts_with("tests/"));
                if let (Some(stem), true) = (stem, is_own) {
                    add(&["--test", stem]);
                }
                test.iter().for_each(|test| add(&["--", test]));
            }
            Self::Go => {
                test.iter().for_each(|test| add(&["-run", test]));
                let folder = file.and_then(|file| Path::new(file).parent()?.to_str());
                match folder {
                    Some(folder) => add(&[&format!("./{folder}")]),
                    None => add(&["./..."]),
                }
            }
            Self::Npm => {
                if file.is_some() || test.is_some() {
                    add(&["--"]);
                }
                test.iter().for_each(|test| add(&[by, test]));
                file.iter().for_each(|file| add(&[file]));
            }
            Self::Make => {}
        }
        command
    }
}

fn has_target(project: &Project<'_>, makefile: &str) -> bool {
    (project.text)(makefile).is_some_and(|text| text.lines().any(|line| line.starts_with("test:")))
}

#[cfg(test)]
mod tests;
