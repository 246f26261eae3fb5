//! Which crate may depend on which: the star around `core` of ARCHITECTURE.md, as data.

/// Folder of a crate, and the crates of ours that it may use. A crate without a row fails, so a new
/// one needs a decision.
pub(super) const ALLOWED: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("shell-parser", &[]),
    ("net", &[]),
    ("argument-decoder", &[]),
    ("sanitizer", &[]),
    ("audit", &["core"]),
    ("engine", &["core", "shell-parser", "argument-decoder", "sanitizer"]),
    ("store", &["core"]),
    ("sandbox", &["net"]),
    ("builtins", &["core", "shell-parser", "net", "sandbox", "sanitizer"]),
    ("providers", &["core", "net"]),
    ("agent", &["core", "providers"]),
    ("code-mode", &["core", "sandbox"]),
    ("tool-search", &["core"]),
    ("assistant", &["argument-decoder", "core", "net", "tool-search"]),
    ("mail", &["assistant", "core", "net", "sanitizer"]),
    ("mcp", &["core", "net", "sandbox", "sanitizer"]),
    ("ops", &["app"]),
    ("page", &[]),
    ("server", &["app", "ops", "page"]),
    ("testkit", &["core"]),
    (
        "app",
        &[
            "core",
            "net",
            "engine",
            "argument-decoder",
            "sanitizer",
            "audit",
            "store",
            "sandbox",
            "builtins",
            "providers",
            "agent",
            "code-mode",
            "tool-search",
            "assistant",
            "mail",
            "mcp",
        ],
    ),
    (
        "bench",
        &[
            "app",
            "argument-decoder",
            "audit",
            "builtins",
            "core",
            "engine",
            "sanitizer",
            "server",
            "testkit",
        ],
    ),
    ("xtask", &[]),
    ("fault-injection", &["app", "audit", "core", "engine", "server", "store", "testkit"]),
    ("cli", &["app", "ops", "server"]),
];

/// The crate that every crate may use in its tests, and none outside of them.
pub(super) const FOR_TESTS: &str = "testkit";

/// What one crate may use of another in its tests alone, and why.
pub(super) const IN_TESTS: &[(&str, &str, &str)] = &[
    (
        "agent",
        "argument-decoder",
        "the arguments of the library's tools are decoded as the engine decodes them",
    ),
    ("agent", "engine", "the loop is tested against the real pipeline, not against a copy of it"),
    (
        "providers",
        "argument-decoder",
        "what a damaged stream runs is what the decoder reads in its arguments",
    ),
    ("assistant", "engine", "memories and tasks are tested on the in-memory stores"),
    ("code-mode", "engine", "calls of scripts are tested through the real pipeline"),
    ("mail", "engine", "drafts and files are tested on the in-memory stores"),
    ("mail", "store", "what a killed process leaves behind is in a real database"),
    ("mcp", "engine", "as the loop; the conformance fixtures are built on the pipeline too"),
    ("audit", "engine", "the verifier is tested against the in-memory stores"),
    ("engine", "audit", "the in-memory audit is tested with the verifier"),
];

/// Libraries that belong to one place, with the crates that may use them outside of tests.
pub(super) const OWNED: &[(&str, &[&str], &str)] = &[
    ("clap", &["cli"], "only the binary knows a command line"),
    ("anyhow", &["cli", "xtask"], "libraries have typed errors"),
    (
        "hyper",
        &["net", "server", "cli", "bench"],
        "there is one way to the network, and it checks addresses; the daemon only listens, the command line only connects to it, and bench measures all three",
    ),
    ("reqwest", &[], "it connects to addresses nobody checked"),
    ("rmcp", &["mcp"], "its types stay inside one crate"),
    (
        "rusqlite",
        &["store", "fault-injection"],
        "one crate writes to the database, and one looks at it from outside",
    ),
    ("monty", &["code-mode"], "its types stay inside one crate, and its code in one process"),
    ("monty-types", &["code-mode"], "as monty"),
    ("jsonschema", &["argument-decoder", "bench"], "arguments are validated in one stage"),
];
