//! Which crate may depend on which: the star around `core` of ARCHITECTURE.md, as data.

/// Folder of a crate, and the crates of ours that it may use. A crate without a row fails, so a new one needs a decision.
pub(super) const ALLOWED: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("shell", &[]),
    ("net", &[]),
    ("engine", &["core", "shell"]),
    ("store", &["core"]),
    ("sandbox", &["net"]),
    ("builtins", &["core", "shell", "net", "sandbox"]),
    ("providers", &["core", "net"]),
    ("agent", &["core", "providers"]),
    ("chain", &["core", "sandbox"]),
    ("discover", &["core"]),
    ("mcp", &["core", "net", "sandbox"]),
    ("server", &["app"]),
    ("testkit", &["core"]),
    (
        "app",
        &[
            "core",
            "shell",
            "net",
            "engine",
            "store",
            "sandbox",
            "builtins",
            "providers",
            "agent",
            "chain",
            "discover",
            "mcp",
        ],
    ),
    ("cli", &["app", "server"]),
    ("xtask", &["app"]),
    ("crash", &["app", "core", "engine", "server", "store", "testkit"]),
];

/// The crate that everybody may use in tests, and nobody otherwise.
pub(super) const FOR_TESTS: &str = "testkit";

/// What one crate may use of another in its tests alone, and why.
pub(super) const IN_TESTS: &[(&str, &str, &str)] = &[
    ("agent", "engine", "the loop is tested against the real door, not against a copy of it"),
    ("mcp", "engine", "as the loop; the conformance fixtures are built on the door too"),
];

/// The crate that measures all others, so it may use all of them.
pub(super) const MEASURES: &str = "bench";

/// Libraries that belong to one place, with the crates that may use them outside of tests.
pub(super) const OWNED: &[(&str, &[&str], &str)] = &[
    ("clap", &["cli"], "only the binary knows a command line"),
    ("anyhow", &["cli", "xtask"], "libraries have typed errors"),
    (
        "hyper",
        &["net", "server", "cli"],
        "there is one way to the network, and it checks addresses; the daemon only listens, and the command line asks nobody else",
    ),
    ("reqwest", &[], "it connects to addresses nobody checked"),
    ("rmcp", &["mcp"], "its types stay inside one crate"),
    (
        "rusqlite",
        &["store", "crash"],
        "one crate writes to the database, and one looks at it from outside",
    ),
    ("monty", &["chain"], "its types stay inside one crate, and its code in one process"),
    ("monty-types", &["chain"], "as monty"),
    ("jsonschema", &["engine"], "arguments are validated in one stage"),
];
