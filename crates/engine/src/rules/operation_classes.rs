//! What the names of rules mean here: the classes that people know from other programs, aliases,
//! and which arguments are paths. Data only.

/// What the specifier of a class is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpecifierKind {
    /// A part of a command line.
    Command,
    /// A file or folder; the group says in which use of it.
    Path(PathAccess),
    /// The host of an address.
    Host,
    /// The name of an agent.
    Agent,
    /// One argument, by name.
    Argument,
}

/// Which uses of a path a rule is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathAccess {
    /// Every reading, searching and listing; also what is read by editing, moving and copying.
    Read,
    /// Every change.
    Edit,
    /// The paths of the operations that the rule names.
    Own,
}

/// A name that people write before the bracket, and the operations that it stands for.
#[derive(Debug)]
pub(super) struct OperationClass {
    pub(super) name: &'static str,
    /// What a rule without a specifier is about, and a view leaves out when such a rule denies.
    pub(super) operations: &'static [&'static str],
    pub(super) subject: SpecifierKind,
}

const READS: &[&str] = &[
    "read_file",
    "file_info",
    "list_dir",
    "find_files",
    "code_search",
    "pdf_read",
    "lsp_manager",
    "read.file",
    "document.add",
];
const EDITS: &[&str] = &[
    "edit_file",
    "diff_editor",
    "write_file",
    "make_dir",
    "delete_file",
    "move_path",
    "copy_path",
];
/// What the actions of `file_manager` mean.
const MANAGED: &[&str] = &["read_file", "list_dir", "write_file", "delete_file"];

/// The names that people know from Claude Code's permission rules. `Write` and `MultiEdit` mean the
/// same as `Edit`: every change of a file.
pub(super) const CLASSES: &[OperationClass] = &[
    OperationClass { name: "Bash", operations: &[SHELL], subject: SpecifierKind::Command },
    OperationClass {
        name: "Read",
        operations: READS,
        subject: SpecifierKind::Path(PathAccess::Read),
    },
    OperationClass {
        name: "Edit",
        operations: EDITS,
        subject: SpecifierKind::Path(PathAccess::Edit),
    },
    OperationClass {
        name: "Write",
        operations: EDITS,
        subject: SpecifierKind::Path(PathAccess::Edit),
    },
    OperationClass {
        name: "MultiEdit",
        operations: EDITS,
        subject: SpecifierKind::Path(PathAccess::Edit),
    },
    OperationClass {
        name: "Glob",
        operations: &["find_files"],
        subject: SpecifierKind::Path(PathAccess::Own),
    },
    OperationClass {
        name: "Grep",
        operations: &["code_search"],
        subject: SpecifierKind::Path(PathAccess::Own),
    },
    OperationClass {
        name: "LS",
        operations: &["list_dir"],
        subject: SpecifierKind::Path(PathAccess::Own),
    },
    OperationClass {
        name: "NotebookEdit",
        operations: &["notebook_edit"],
        subject: SpecifierKind::Path(PathAccess::Own),
    },
    OperationClass {
        name: "file_manager",
        operations: MANAGED,
        subject: SpecifierKind::Path(PathAccess::Own),
    },
    OperationClass {
        name: "WebFetch",
        operations: &["fetch_url", "http_request", "news", "read.url"],
        subject: SpecifierKind::Host,
    },
    OperationClass {
        name: "WebSearch",
        operations: &["web_search", "hosted_web_search", "docs_search"],
        subject: SpecifierKind::Argument,
    },
    OperationClass { name: "Task", operations: &["agent"], subject: SpecifierKind::Agent },
    OperationClass { name: "Agent", operations: &["agent"], subject: SpecifierKind::Agent },
];

/// The operation that runs command lines.
pub(super) const SHELL: &str = "execute_shell_command";

/// Other names of operations, of tools that may be loaded or not.
pub(super) const ALIASES: &[(&str, &str)] = &[
    ("shell", SHELL),
    ("bash_manager", SHELL),
    ("bash", SHELL),
    ("file_manager.read", "read_file"),
    ("file_manager.list", "list_dir"),
    ("file_manager.write", "write_file"),
    ("file_manager.append", "write_file"),
    ("file_manager.delete", "delete_file"),
    ("web_fetch", "fetch_url"),
    ("get_local_time", "get_current_time"),
    ("ask_clarification", "ask_user"),
    ("ask_human", "ask_user"),
    ("code_eval", "code_exec"),
    ("run_chain", "tool_chain"),
];

/// What a call does with a path that it is given.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathUse {
    /// Names of the argument: the tool's own first.
    pub(super) arguments: &'static [&'static str],
    /// What it is when the call does not say.
    pub(super) default: Option<&'static str>,
    /// What is there is read, listed or searched.
    pub(super) reads: bool,
    /// What is there is changed.
    pub(super) writes: bool,
    /// It is a folder, and the call is about what is in it.
    pub(super) within: bool,
    /// It may be a folder, and everything in it goes along.
    pub(super) tree: bool,
    /// Whether an allow rule for changes covers it: destroying is allowed by the tool's own name
    /// only.
    pub(super) destroys: bool,
}

/// Names of the argument with a path.
pub(super) const PATH: &[&str] = &[
    "path",
    "paths",
    "file_path",
    "filepath",
    "filename",
    "file",
    "dir_path",
    "directory",
    "folder",
    "dir",
    "root",
];
/// Names of the argument with the path that a call moves or copies.
pub(super) const FROM: &[&str] = &["from", "source", "src", "from_path"];
/// Names of the argument with the path that it becomes.
pub(super) const TO: &[&str] = &["to", "destination", "dest", "to_path"];

const DEFAULT_USE: PathUse = PathUse {
    arguments: PATH,
    default: None,
    reads: false,
    writes: false,
    within: false,
    tree: false,
    destroys: false,
};
const READ: PathUse = PathUse { reads: true, ..DEFAULT_USE };
/// The tool `read` takes a path or an address in one argument.
const READ_SOURCE: PathUse = PathUse { arguments: &["source"], ..READ };
const LIST: PathUse = PathUse { default: Some("."), within: true, ..READ };
/// A language server reads the project around the file that it is asked about.
const PROJECT: PathUse = PathUse { arguments: &["project_root"], ..LIST };
const WRITE: PathUse = PathUse { writes: true, ..DEFAULT_USE };
const CHANGE: PathUse = PathUse { reads: true, ..WRITE };
const DELETE: PathUse = PathUse { tree: true, destroys: true, ..WRITE };
const MOVED: PathUse = PathUse { arguments: FROM, tree: true, ..CHANGE };
const COPIED: PathUse = PathUse { arguments: FROM, tree: true, ..READ };
const ARRIVES: PathUse = PathUse { arguments: TO, ..WRITE };

/// The operations that are given paths.
pub(super) const PATHS: &[(&str, &[PathUse])] = &[
    ("read_file", &[READ]),
    ("file_info", &[READ]),
    ("pdf_read", &[READ]),
    ("read.file", &[READ_SOURCE]),
    ("document.add", &[READ]),
    ("list_dir", &[LIST]),
    ("find_files", &[LIST]),
    ("code_search", &[LIST]),
    ("lsp_manager", &[READ, PROJECT]),
    ("write_file", &[WRITE]),
    ("make_dir", &[WRITE]),
    ("edit_file", &[CHANGE]),
    ("diff_editor", &[CHANGE]),
    ("notebook_edit", &[CHANGE]),
    // Editors that providers define: one tool reads and changes.
    ("str_replace_based_edit_tool", &[CHANGE]),
    ("str_replace_editor", &[CHANGE]),
    ("delete_file", &[DELETE]),
    ("move_path", &[MOVED, ARRIVES]),
    ("copy_path", &[COPIED, ARRIVES]),
];

/// Arguments that hold an address.
pub(super) const URLS: &[&str] = &["url", "uri", "link", "feed", "source"];
/// Arguments that hold the name of an agent.
pub(super) const AGENTS: &[&str] = &["agent", "subagent_type", "name"];
/// Arguments that hold a command line.
pub(super) const COMMANDS: &[&str] = &["command", "cmd"];

/// The operation that a name means: itself, unless it is an alias.
#[must_use]
pub fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, operation)| operation)
}

/// The operations that the name of a class stands for, such as `Bash` or `Edit`; `None` = it is no
/// class.
#[must_use]
pub fn operations_of(class: &str) -> Option<&'static [&'static str]> {
    CLASSES.iter().find(|known| known.name == class).map(|known| known.operations)
}

/// The names of all classes.
pub fn class_names() -> impl Iterator<Item = &'static str> {
    CLASSES.iter().map(|class| class.name)
}

/// What the calls of an operation do with paths.
pub(super) fn uses(operation: &str) -> &'static [PathUse] {
    PATHS.iter().find(|(name, _)| *name == operation).map_or(&[], |(_, uses)| *uses)
}

/// What a specifier behind the name of an operation is about.
pub(super) fn subject(operation: &str) -> SpecifierKind {
    if operation == SHELL {
        SpecifierKind::Command
    } else if !uses(operation).is_empty() {
        SpecifierKind::Path(PathAccess::Own)
    } else if matches!(operation, "fetch_url" | "http_request" | "news" | "read.url") {
        SpecifierKind::Host
    } else {
        SpecifierKind::Argument
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_alias_is_one_of_an_operation_and_no_class() {
        for (alias, operation) in ALIASES {
            assert_eq!(canonical(alias), *operation);
            assert_eq!(canonical(operation), *operation, "an alias of an alias");
            assert!(CLASSES.iter().all(|class| class.name != *alias));
        }
    }

    #[test]
    fn operations_of_a_class_have_its_subject() {
        for class in CLASSES {
            for operation in class.operations {
                match class.subject {
                    SpecifierKind::Path(_) => assert!(!uses(operation).is_empty(), "{operation}"),
                    SpecifierKind::Agent | SpecifierKind::Argument => {}
                    subject => assert_eq!(super::subject(operation), subject, "{operation}"),
                }
            }
        }
    }
}
