//! Table of languages and the language servers for them.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolcrib_core::{ErrorType, ToolError};
use toolcrib_sandbox::process::{DEFAULT_PATH, find_program};

use crate::program_runner::ProgramPolicy;

/// A language and its servers.
#[derive(Debug)]
pub(super) struct Language {
    /// Name for people.
    pub(super) title: &'static str,
    /// File extensions, each with its LSP language id.
    endings: &'static [(&'static str, &'static str)],
    /// Files that mark the root of a project.
    pub(super) markers: &'static [&'static str],
    /// Servers in order of preference.
    servers: &'static [Server],
    /// How to install the first of them.
    install: &'static str,
    /// Environment variables beside [`ENV`].
    pub(super) env: &'static [(&'static str, &'static str)],
}

/// A language server.
#[derive(Debug)]
pub(super) struct Server {
    /// Name of the program.
    pub(super) program: &'static str,
    pub(super) args: &'static [&'static str],
    /// A note on what an empty list of diagnostics of this server does not prove; empty if there is
    /// nothing to add.
    pub(super) unchecked: &'static str,
}

/// Environment variables of every server: caches go to a folder outside the workspace and the home
/// folder.
pub(super) const ENV: &[(&str, &str)] = &[("XDG_CACHE_HOME", "/tmp/cache")];

/// The languages.
static LANGUAGES: [Language; 4] = [
    Language {
        title: "Rust",
        endings: &[("rs", "rust")],
        markers: &["Cargo.toml", "rust-project.json"],
        servers: &[Server {
            program: "rust-analyzer",
            args: &[],
            unchecked: "Errors that only the compiler finds are among these if `cargo check` can run without a network; test_runner shows them all.",
        }],
        install: "rustup component add rust-analyzer",
        env: &[("CARGO_TARGET_DIR", "/tmp/target"), ("CARGO_NET_OFFLINE", "true")],
    },
    Language {
        title: "Python",
        endings: &[("py", "python"), ("pyi", "python")],
        markers: &[
            "pyproject.toml",
            "setup.py",
            "setup.cfg",
            "requirements.txt",
            "pyrightconfig.json",
        ],
        servers: &[
            Server { program: "pyright-langserver", args: &["--stdio"], unchecked: "" },
            Server { program: "basedpyright-langserver", args: &["--stdio"], unchecked: "" },
            Server {
                program: "pylsp",
                args: &[],
                unchecked: "pylsp has no checker of its own: if none of its plugins (pyflakes, pycodestyle, mypy) is installed, nothing was checked.",
            },
        ],
        install: "pip install pyright (or python-lsp-server)",
        env: &[("PYTHONDONTWRITEBYTECODE", "1")],
    },
    Language {
        title: "Go",
        endings: &[("go", "go")],
        markers: &["go.work", "go.mod"],
        servers: &[Server { program: "gopls", args: &[], unchecked: "" }],
        install: "go install golang.org/x/tools/gopls@latest",
        env: &[("GOCACHE", "/tmp/go-build"), ("GOPROXY", "off"), ("GOFLAGS", "-mod=mod")],
    },
    Language {
        title: "TypeScript and JavaScript",
        endings: &[
            ("ts", "typescript"),
            ("mts", "typescript"),
            ("cts", "typescript"),
            ("tsx", "typescriptreact"),
            ("js", "javascript"),
            ("mjs", "javascript"),
            ("cjs", "javascript"),
            ("jsx", "javascriptreact"),
        ],
        markers: &["tsconfig.json", "jsconfig.json", "package.json"],
        servers: &[Server {
            program: "typescript-language-server",
            args: &["--stdio"],
            unchecked: "In JavaScript only the syntax is checked, unless the project sets checkJs.",
        }],
        install: "npm install -g typescript typescript-language-server",
        env: &[],
    },
];

/// Returns the language of a file, and its LSP language id.
///
/// # Errors
/// `validation_error` that lists the supported languages.
pub(super) fn language(path: &str) -> Result<(&'static Language, &'static str), ToolError> {
    let ending = Path::new(path).extension().and_then(OsStr::to_str).unwrap_or_default();
    let known = LANGUAGES.iter().find_map(|language| {
        let mut endings = language.endings.iter();
        endings.find(|(known, _)| ending.eq_ignore_ascii_case(known)).map(|(_, id)| (language, *id))
    });
    known.ok_or_else(|| {
        let titles: Vec<&str> = LANGUAGES.iter().map(|language| language.title).collect();
        ToolError::validation(format!(
            "No language server knows {path}. There are servers for {}; for other files use code_search and read_file.",
            titles.join(", ")
        ))
    })
}

impl Language {
    /// Returns the first installed server.
    ///
    /// # Errors
    /// `not_configured` with instructions for installing one.
    pub(super) fn server(&self, confines: &ProgramPolicy) -> Result<&'static Server, ToolError> {
        let folders = confines.path.iter().map(|folder| folder.as_os_str().to_owned());
        let path: Vec<_> = folders.chain([DEFAULT_PATH.into()]).collect();
        let path = path.join(OsStr::new(":"));
        let is_there =
            |program: &str| find_program(OsStr::new(program), Path::new("/"), &path).is_ok();
        let found = self.servers.iter().find(|server| is_there(server.program));
        found.ok_or_else(|| {
            let names: Vec<&str> = self.servers.iter().map(|server| server.program).collect();
            ToolError::new(
                ErrorType::NotConfigured,
                format!(
                    "No language server for {} is there ({}). Tell the user to install one: {}. If it is in a folder of its own, that folder belongs into `sandbox.path` of the configuration. Until then use code_search and read_file.",
                    self.title,
                    names.join(", "),
                    self.install
                ),
            )
        })
    }

    /// Returns the project root of a file: the outermost folder above it inside `top` that contains
    /// a marker file, otherwise `top`.
    pub(super) fn project(&self, top: &Path, file: &Path) -> PathBuf {
        let inside = file.ancestors().skip(1).take_while(|folder| folder.starts_with(top));
        let marked =
            inside.filter(|folder| self.markers.iter().any(|marker| folder.join(marker).is_file()));
        marked.last().unwrap_or(top).to_owned()
    }

    /// Returns the initialization options of its servers.
    pub(super) fn options(&self) -> Value {
        match self.title {
            "Rust" => json!({
                "cachePriming": {"enable": false},
                "files": {"watcher": "server"},
                "checkOnSave": true,
            }),
            // By default, a second server answers from single files while the first one loads the
            // project, and a rename adds aliases that keep the old name.
            "TypeScript and JavaScript" => json!({
                "tsserver": {"useSyntaxServer": "never"},
                "preferences": {"providePrefixAndSuffixTextForRename": false},
            }),
            _ => Value::Null,
        }
    }

    /// Returns the response to a `workspace/configuration` request for this section.
    pub(super) fn configuration(&self, section: &str) -> Value {
        match (self.title, section) {
            ("Rust", "rust-analyzer") => self.options(),
            ("Python", "python.analysis") => json!({"diagnosticMode": "openFilesOnly"}),
            _ => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_languages() {
        let check = |path: &str, expected: &str| {
            assert_eq!(language(path).unwrap().1, expected, "{path}");
        };
        check("src/lib.rs", "rust");
        check("A.PY", "python");
        check("web/app.tsx", "typescriptreact");
        let error = language("notes.md").unwrap_err().message;
        assert!(
            error.starts_with(
                "No language server knows notes.md. There are servers for Rust, Python"
            ),
            "{error}"
        );
    }

    #[test]
    fn a_missing_server_names_the_fix() {
        let confines = ProgramPolicy::new(Vec::<PathBuf>::new());
        let none = Language {
            title: "None",
            endings: &[],
            markers: &[],
            servers: &[Server { program: "no-such-language-server", args: &[], unchecked: "" }],
            install: "get one",
            env: &[],
        };
        let error = none.server(&confines).unwrap_err();
        assert_eq!(error.error_type, ErrorType::NotConfigured);
        assert!(error.message.contains("install one: get one."), "{}", error.message);
    }

    #[test]
    fn projects_begin_at_the_outermost_mark() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path();
        std::fs::create_dir_all(top.join("app/crates/core/src")).unwrap();
        for path in ["app/Cargo.toml", "app/crates/core/Cargo.toml"] {
            std::fs::write(top.join(path), "").unwrap();
        }
        let rust = language("a.rs").unwrap().0;
        assert_eq!(rust.project(top, &top.join("app/crates/core/src/lib.rs")), top.join("app"));
        assert_eq!(rust.project(top, &top.join("other/x.rs")), top);
    }
}
