//! The rules for source files, and the exceptions with their reasons.

/// Lines from which a file deserves a second look.
pub(super) const LOOK_AGAIN: usize = 400;
/// Lines that no file passes without a reason.
pub(super) const MOST: usize = 800;

/// Files that may be longer, with the reason.
pub(super) const LONGER: &[(&str, &str)] = &[];

/// Where words count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// Anywhere.
    Anywhere,
    /// As a word: no letter, digit or underscore before or behind.
    Word,
    /// At the start of a line, as rustfmt sets attributes.
    Start,
    /// As the beginning of a path, not in the middle of a longer one.
    Path,
}

/// Something that must not be in a file.
pub(super) struct Banned {
    /// The words. Written in two parts, so that this table does not find itself.
    pub(super) words: &'static str,
    /// Where it counts.
    pub(super) at: At,
    /// Whether only Rust sources are looked at.
    pub(super) rust: bool,
    /// What to do instead.
    pub(super) instead: &'static str,
}

const fn in_rust(words: &'static str, at: At, instead: &'static str) -> Banned {
    Banned { words, at, rust: true, instead }
}

const fn in_text(words: &'static str, at: At, instead: &'static str) -> Banned {
    Banned { words, at, rust: false, instead }
}

const EXPECT: &str = "write #[expect(.., reason = \"..\")]: it says when it is no longer needed";
const FINISH: &str = "finish it, or leave it out";
const UNTESTED: &str = "a test that does not run tests nothing: mend or remove it";
const MACHINE: &str = "a path of somebody's machine: use a placeholder";
const HOST: &str = "name the package, not the host of a registry";

/// Everything that is looked for.
pub(super) const BANNED: &[Banned] = &[
    in_rust(concat!("#[", "allow("), At::Start, EXPECT),
    in_rust(concat!("#![", "allow("), At::Start, EXPECT),
    in_rust(concat!("#[ig", "nore"), At::Start, UNTESTED),
    in_rust(concat!("to", "do!"), At::Word, FINISH),
    in_rust(concat!("d", "bg!"), At::Word, FINISH),
    in_rust(concat!("FIX", "ME"), At::Word, FINISH),
    in_rust(concat!("X", "XX"), At::Word, FINISH),
    in_text(concat!("/ro", "ot/"), At::Path, MACHINE),
    in_text(concat!("/ho", "me/"), At::Path, MACHINE),
    in_text(concat!("/wo", "rk/"), At::Path, MACHINE),
    in_text(concat!("crates", ".io"), At::Anywhere, HOST),
    in_text(concat!("pypi", ".org"), At::Anywhere, HOST),
    in_text(concat!("python", "hosted.org"), At::Anywhere, HOST),
    in_text(concat!("registry.", "npmjs.org"), At::Anywhere, HOST),
    in_text(concat!("rubygems", ".org"), At::Anywhere, HOST),
    in_text(concat!("proxy.", "golang.org"), At::Anywhere, HOST),
];

/// Files that may say something banned, with the reason.
pub(super) const MAY_SAY: &[(&str, &str, &str)] = &[
    (
        "crates/app/src/mcp/launcher.rs",
        concat!("pypi", ".org"),
        "the host that a launcher of MCP servers reaches by default, for the sandbox",
    ),
    (
        "crates/app/src/mcp/launcher.rs",
        concat!("python", "hosted.org"),
        "the host that a launcher of MCP servers reaches by default, for the sandbox",
    ),
    (
        "crates/cli/src/command/mcp/launchers.rs",
        concat!("pypi", ".org"),
        "the host that a launcher of MCP servers reaches by default, for the sandbox",
    ),
    (
        "crates/cli/src/command/mcp/launchers.rs",
        concat!("registry.", "npmjs.org"),
        "the host that a launcher of MCP servers reaches by default, for the sandbox",
    ),
    ("Cargo.lock", concat!("crates", ".io"), "cargo writes it so"),
    ("fuzz/Cargo.lock", concat!("crates", ".io"), "cargo writes it so"),
    (
        "crates/engine/src/rules/floor/targets.rs",
        concat!("/ho", "me/"),
        "the folder of home folders, which the floor protects",
    ),
    (
        "crates/argument-decoder/src/tests/conversions.rs",
        concat!("/ro", "ot/"),
        "a JSON pointer whose first key is `root`",
    ),
];
