//! Meaning of the names in rules: classes known from other programs, aliases, and the arguments
//! that are paths. Data only.

/// Kind of the specifier of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SpecifierKind {
    /// A part of a command line.
    Command,
    /// A file or folder; the group determines which uses of it are covered.
    Path(PathAccess),
    /// The host of an address.
    Host,
    /// The name of an agent.
    Agent,
    /// One argument, by name.
    Argument,
}

/// The uses of a path that a rule covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PathAccess {
    /// Every read, search and listing; also the reads of editing, moving and copying.
    Read,
    /// Every change.
    Edit,
    /// The paths of the operations that the rule names.
    Own,
}

/// A name before the parenthesis of a rule, and the operations that it covers.
#[derive(Debug)]
pub(super) struct OperationClass {
    pub(super) name: &'static str,
    /// Operations of a rule without a specifier; a view omits them if such a rule denies.
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
/// Operations of the actions of `file_manager`.
const MANAGED: &[&str] = &["read_file", "list_dir", "write_file", "delete_file"];

/// The names from Claude Code's permission rules. `Write` and `MultiEdit` mean the same as `Edit`:
/// every change of a file.
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

/// Other names of operations, whether or not their tools are loaded.
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

/// How a call uses a path argument.
#[derive(Debug, Clone, Copy)]
pub(super) struct PathUse {
    /// Names of the argument: the tool's own first.
    pub(super) arguments: &'static [&'static str],
    /// Default of the argument.
    pub(super) default: Option<&'static str>,
    /// Whether the path is read, listed or searched.
    pub(super) reads: bool,
    /// Whether the path is changed.
    pub(super) writes: bool,
    /// Whether the path is a folder whose entries the call uses.
    pub(super) within: bool,
    /// Whether the path may be a folder that the call uses with everything in it.
    pub(super) tree: bool,
    /// Whether the call destroys the path: only a rule with the tool's own name can allow that, not
    /// one for changes.
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
/// Names of the argument with the destination path.
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
/// A language server reads the project around the requested file.
const PROJECT: PathUse = PathUse { arguments: &["project_root"], ..LIST };
const WRITE: PathUse = PathUse { writes: true, ..DEFAULT_USE };
const CHANGE: PathUse = PathUse { reads: true, ..WRITE };
const DELETE: PathUse = PathUse { tree: true, destroys: true, ..WRITE };
const MOVED: PathUse = PathUse { arguments: FROM, tree: true, ..CHANGE };
const COPIED: PathUse = PathUse { arguments: FROM, tree: true, ..READ };
const ARRIVES: PathUse = PathUse { arguments: TO, ..WRITE };

/// The operations with path arguments.
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

/// Arguments that contain an address.
pub(super) const URLS: &[&str] = &["url", "uri", "link", "feed", "source"];
/// Arguments that contain the name of an agent.
pub(super) const AGENTS: &[&str] = &["agent", "subagent_type", "name"];
/// Arguments that contain a command line.
pub(super) const COMMANDS: &[&str] = &["command", "cmd"];

/// Returns the operation for a name: the name itself, unless it is an alias.
#[must_use]
pub fn canonical(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, operation)| operation)
}

/// Returns the operations of a class such as `Bash` or `Edit`; `None` if the name is not a class.
#[must_use]
pub fn operations_of(class: &str) -> Option<&'static [&'static str]> {
    CLASSES.iter().find(|known| known.name == class).map(|known| known.operations)
}

/// Returns the names of all classes.
pub fn class_names() -> impl Iterator<Item = &'static str> {
    CLASSES.iter().map(|class| class.name)
}

/// Returns how the calls of an operation use paths.
pub(super) fn uses(operation: &str) -> &'static [PathUse] {
    PATHS.iter().find(|(name, _)| *name == operation).map_or(&[], |(_, uses)| *uses)
}

/// Returns the kind of specifier for an operation.
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
