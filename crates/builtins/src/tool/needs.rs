//! Short needs by which the tool search finds the built-in tools.

/// Returns texts that people type when they need this tool: words that its description lacks, such
/// as the names of commands. Their effect is measured on 200 other needs (`short_needs.txt` in
/// `crates/app`).
pub(super) fn of(tool: &str) -> Vec<String> {
    let needs: &[&str] = match tool {
        "get_current_time" => &["now", "today", "weekday", "the day of the week", "clock"],
        "read_file" => &["cat", "view a file", "what does the readme say", "open settings.toml"],
        "write_file" => &["create a document", "export rows as csv", "write a script", "save text"],
        "edit_file" => &["fix a spelling mistake", "correct a value in a line", "sed"],
        "diff_editor" => &["patch", "edit many files", "correct lines", "fix a typo"],
        "list_dir" => &["ls", "dir", "contents of the directory", "folder listing", "tree"],
        "file_info" => {
            &["stat", "how old", "age and size of a file", "does it exist", "checksum", "how big"]
        }
        "make_dir" => &["mkdir", "create a folder", "new directory", "subdirectory"],
        "copy_path" => &["cp", "duplicate", "backup of a file or folder", "clone a folder"],
        "move_path" => &["mv", "put a file into another folder", "another name", "archive it"],
        "delete_file" => &["rm", "remove", "erase", "throw away", "clean up files", "unlink"],
        "find_files" => &["find a file by its name", "locate a file", "glob", "where is the image"],
        "code_search" => &[
            "grep",
            "grep for a word",
            "ripgrep",
            "which files mention a word",
            "occurrences of a text",
            "usages",
        ],
        "git_manager" => &[
            "git",
            "commit",
            "branch",
            "push and pull",
            "merge",
            "stash",
            "git log and blame",
            "what changed since the last commit",
        ],
        "test_runner" => &["pytest", "cargo test", "npm test", "unit tests", "failing tests"],
        "pdf_read" => &[
            "pdf",
            "docx",
            "Word document",
            "Excel spreadsheet",
            "xlsx table",
            "pages of a report",
        ],
        "lsp_manager" => &[
            "go to the definition",
            "references of a symbol",
            "type errors",
            "lint",
            "diagnostics of the code",
            "type of a variable",
            "rename a symbol",
        ],
        "http_request" => &["REST API", "endpoint", "webhook", "POST JSON", "curl", "query an API"],
        "fetch_url" => {
            &["website", "article", "open a web link", "online documentation", "download a page"]
        }
        "web_search" => {
            &["google", "look something up online", "search engine", "current information"]
        }
        "docs_search" => {
            &["API reference", "standard library", "how to use a function", "manual of a language"]
        }
        "get_weather" => &["forecast", "rain", "temperature outside", "will it snow", "wind"],
        "news" => &["headlines", "RSS feed", "what happened today", "Atom feed"],
        "get_location_from_ip" => &["where am I", "my city", "geolocation", "IP address"],
        "read" => {
            &["read me an article", "text of a web page", "summarize a link", "read a report"]
        }
        "execute_shell_command" => &[
            "bash",
            "terminal",
            "shell script",
            "install packages",
            "build and compile",
            "unzip",
            "execute a program",
            "command line",
        ],
        "manage_process" => {
            &["kill", "background job", "running programs", "stop the dev server", "ps"]
        }
        "ssh_configure_host" => &["ssh", "remote server", "connect to a machine"],
        "read_artifact" => &["result was cut", "rest of the output", "stored result"],
        _ => &[],
    };
    needs.iter().map(|&need| need.to_owned()).collect()
}
