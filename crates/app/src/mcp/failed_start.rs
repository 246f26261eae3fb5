//! Explains why a server did not start in the sandbox: the setting that blocked it, derived from
//! the output of the program, and the command that permits exactly this.

use std::path::{Path, PathBuf};

use toolcrib_mcp::client::{Stdio, WorkspaceAccess};

/// The setting that blocked the program.
#[derive(Debug, PartialEq, Eq)]
enum Obstacle {
    Read(PathBuf),
    Write(PathBuf),
    Host(String),
    Memory,
    /// The workspace is not writable for the program.
    Workspace,
    /// `uv` did not find a Python for the package.
    Python,
}

/// Returns the explanation for a person; `None` if the sandbox does not seem to be the reason.
pub(super) fn explain(server: &str, stdio: &Stdio, wrote: &str) -> Option<String> {
    let obstacle = wrote.lines().find_map(|line| obstacle(line, stdio))?;
    Some(match obstacle {
        Obstacle::Read(path) => {
            let path = path.display();
            format!(
                "The sandbox does not show it {path}: `toolcrib mcp set {server} --read {path}` does"
            )
        }
        Obstacle::Write(path) => {
            let path = path.display();
            format!(
                "The sandbox does not let it change {path}: `toolcrib mcp set {server} --write {path}` does"
            )
        }
        Obstacle::Host(host) => format!(
            "The sandbox gives it no network to {host}: `toolcrib mcp set {server} --allow-host {host}` does"
        ),
        Obstacle::Workspace => format!(
            "The sandbox does not let it change the workspace: `toolcrib mcp set {server} --workspace write` does"
        ),
        Obstacle::Python => format!(
            "uv finds no Python that fits, and downloads none: install one with `uv python install`, then `toolcrib mcp restart {server} --fetch`"
        ),
        Obstacle::Memory => {
            let now = stdio.memory_mb.unwrap_or(4096);
            let more = now.saturating_mul(2);
            format!(
                "It needs more memory than the {now} MB of the sandbox: `toolcrib mcp set {server} --memory {more}` gives it"
            )
        }
    })
}

fn obstacle(line: &str, stdio: &Stdio) -> Option<Obstacle> {
    let has = |words: &[&str]| words.iter().any(|word| line.contains(word));
    if has(&["heap out of memory", "Cannot allocate memory", "MemoryError", "ENOMEM"]) {
        return Some(Obstacle::Memory);
    }
    if has(&[
        "ENOTFOUND",
        "EAI_AGAIN",
        "getaddrinfo",
        "Could not resolve host",
        "Name or service not known",
        "name resolution",
        "ECONNREFUSED",
        "ENETUNREACH",
        "dns error",
        "Failed to fetch",
        "Tunnel connection failed",
        "host.not_listed",
    ]) && let Some(host) = host(line)
    {
        return Some(Obstacle::Host(host));
    }
    if has(&["No interpreter found", "no interpreter found", "does not satisfy Python"]) {
        return Some(Obstacle::Python);
    }
    let writes_workspace = stdio.workspace == WorkspaceAccess::Write;
    // The error messages of SQLite do not name the file.
    if has(&["unable to open database file", "attempt to write a readonly database"])
        && !writes_workspace
    {
        return Some(Obstacle::Workspace);
    }
    let missing = has(&[
        "ENOENT",
        "No such file",
        "Cannot find module",
        "MODULE_NOT_FOUND",
        "does not exist",
        "can't open file",
        "not found",
    ]);
    let denied = has(&["EACCES", "EPERM", "Permission denied", "PermissionError"]);
    let read_only = has(&["EROFS", "Read-only file system"]);
    if !missing && !denied && !read_only {
        return None;
    }
    let path = paths(line).into_iter().find(|path| is_outside(path, stdio, read_only || denied))?;
    let writes = read_only
        || has(&["mkdir", "unlink", "rename", "open for writing", "O_WRONLY", "write"])
        || denied && stdio.read.iter().any(|own| path.starts_with(own));
    Some(if writes { Obstacle::Write(existing(&path)?) } else { Obstacle::Read(path) })
}

/// Returns whether a path exists outside of the paths that the entry grants: a missing path is not
/// a problem of the sandbox.
fn is_outside(path: &Path, stdio: &Stdio, may_be_missing: bool) -> bool {
    let given = stdio.write.iter().any(|own| path.starts_with(own))
        || !may_be_missing && stdio.read.iter().any(|own| path.starts_with(own));
    let there = if may_be_missing { existing(path).is_some() } else { path.exists() };
    there && !given
}

/// Returns the nearest existing folder, except for the root.
fn existing(path: &Path) -> Option<PathBuf> {
    let found = path.ancestors().find(|path| path.exists())?;
    (found.parent().is_some()).then(|| found.to_owned())
}

/// Returns the absolute paths in a line.
fn paths(line: &str) -> Vec<PathBuf> {
    let ends =
        |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | '`' | ',' | ')' | '(' | '>' | '<');
    let words = line.split(ends).map(|word| word.trim_end_matches([':', '.', ';']));
    let paths = words.filter(|word| word.starts_with('/') && word.len() > 1);
    paths.map(PathBuf::from).collect()
}

/// Returns the host in a line.
fn host(line: &str) -> Option<String> {
    if let Some((_, rest)) = line.split_once("://") {
        let end =
            rest.find(|c: char| matches!(c, '/' | '"' | '\'' | ')' | '`') || c.is_whitespace());
        return plain_host(rest.get(..end.unwrap_or(rest.len()))?);
    }
    let ends = |c: char| c.is_whitespace() || matches!(c, '\'' | '"' | ',' | '(' | ')' | '=');
    line.split(ends).find_map(|word| plain_host(word.trim_end_matches(['.', ':', ';'])))
}

fn plain_host(word: &str) -> Option<String> {
    let (name, port) = word.split_once(':').map_or((word, None), |(name, port)| (name, Some(port)));
    let is_name = name.contains('.')
        && !name.starts_with('.')
        && name
            .rsplit('.')
            .next()
            .is_some_and(|top| top.len() >= 2 && top.chars().all(|c| c.is_ascii_alphabetic()))
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
        && !["js", "mjs", "cjs", "ts", "py", "json"].contains(&name.rsplit('.').next()?);
    let port = port.filter(|port| port.parse::<u16>().is_ok_and(|port| port != 443 && port != 80));
    is_name.then(|| port.map_or_else(|| name.to_owned(), |port| format!("{name}:{port}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_that_was_in_the_way_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("data.db");
        std::fs::write(&file, "").unwrap();
        let (file, folder) = (file.display().to_string(), folder.path().display().to_string());
        let check = |wrote: &str, expected: Option<&str>| {
            let said = explain("fx", &Stdio::default(), wrote);
            match expected {
                Some(part) => assert!(
                    said.as_ref().is_some_and(|said| said.contains(part)),
                    "{wrote}: {said:?}"
                ),
                None => assert_eq!(said, None, "{wrote}"),
            }
        };
        check(
            &format!("Error: ENOENT: no such file or directory, open '{file}'"),
            Some(&format!("mcp set fx --read {file}`")),
        );
        check(
            &format!("PermissionError: [Errno 13] Permission denied: '{file}'"),
            Some(&format!("--read {file}`")),
        );
        check(
            &format!("OSError: [Errno 30] Read-only file system: '{folder}/new'"),
            Some(&format!("--write {folder}`")),
        );
        check("getaddrinfo ENOTFOUND api.example.com", Some("--allow-host api.example.com`"));
        check(
            "error: Failed to fetch: `https://pypi.example:8443/simple/x/`",
            Some("--allow-host pypi.example:8443`"),
        );
        check(
            "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
            Some("--memory 8192`"),
        );
        check("Error: ENOENT: no such file or directory, open '/not/there/at/all'", None);
        check("ModuleNotFoundError: No module named 'mcp'", None);
        check(
            "sqlite3.OperationalError: unable to open database file",
            Some("mcp set fx --workspace write`"),
        );
        check(
            "  × No interpreter found for Python >=3.13 in virtual environments or search path",
            Some("`uv python install`"),
        );
        check("Usage: server DIR", None);
    }
}
