//! The output of a program that failed to start.

/// Maximum characters of a line that are shown.
const LINE_CHARS: usize = 300;

/// Words of lines that state an error, in lower case.
const ERROR_WORDS: [&str; 16] = [
    "error",
    "exception",
    "fatal",
    "panic",
    "denied",
    "not found",
    "no such file",
    "cannot",
    "can't",
    "could not",
    "unable",
    "failed",
    "refused",
    "missing",
    "required",
    "usage:",
];

/// Returns the first line that states an error; otherwise the first line with text.
#[must_use]
pub fn first_error(wrote: &str) -> Option<String> {
    let lines = || wrote.lines().map(str::trim).filter(|line| is_told(line));
    let says_error = |line: &&str| {
        let lower = line.to_lowercase();
        ERROR_WORDS.iter().any(|word| lower.contains(word)) && !is_frame(line)
    };
    let line = lines().find(says_error).or_else(|| lines().next())?;
    Some(toolcrib_core::display_text::escape_to_line(line).chars().take(LINE_CHARS).collect())
}

fn is_told(line: &str) -> bool {
    !line.is_empty() && !line.starts_with("[toolcrib]")
}

/// Returns whether the line belongs to a stack trace: it names a position in code, not the error.
fn is_frame(line: &str) -> bool {
    line.starts_with("at ")
        || line.starts_with("File \"")
        || line.starts_with("node:internal")
        || line.starts_with("throw ")
        || line.starts_with("Traceback")
        || line.starts_with('^')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_error_is_told_and_not_its_consequences() {
        let check = |wrote: &str, expected: Option<&str>| {
            assert_eq!(first_error(wrote).as_deref(), expected);
        };
        check(
            "node:internal/modules/cjs/loader:1228\n  throw err;\n  ^\n\nError: Cannot find module '/x.js'\n    at Module._load (node:internal/x:1)\n\nNode.js v20\n",
            Some("Error: Cannot find module '/x.js'"),
        );
        check(
            "Traceback (most recent call last):\n  File \"a.py\", line 1\nModuleNotFoundError: No module named 'mcp'\n",
            Some("ModuleNotFoundError: No module named 'mcp'"),
        );
        check(
            "[toolcrib] x\nstarting\nnpm error code E404\nnpm error 404 Not Found\n",
            Some("npm error code E404"),
        );
        check("hello\n", Some("hello"));
        check("", None);
    }
}
