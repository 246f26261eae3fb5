//! Database files in the command line of a server: the server stores its data there, so its entry
//! gets write access to the location of the file. Otherwise, it does not start.

use std::path::{Path, PathBuf};

use toolcrib_app::mcp::client::{Remote, ServerConfig, Stdio, WorkspaceAccess};

use super::program_paths::PersonPaths;

/// Options whose value is a database file.
const OPTIONS: [&str; 6] =
    ["--db-path", "--db", "--db-file", "--database", "--database-path", "--sqlite"];
/// Extensions of database files.
const EXTENSIONS: [&str; 5] = ["db", "db3", "sqlite", "sqlite3", "duckdb"];

/// Grants the program of a server write access to the databases in its arguments: in the workspace,
/// whose changes can be undone, or in the folder of the file. Access that the entry already grants
/// is sufficient.
pub(super) fn give_access(config: &mut ServerConfig, person: &PersonPaths) {
    let Remote::Stdio(stdio) = &mut config.remote else { return };
    for file in files(&stdio.args, &person.folder) {
        give(stdio, &file, person);
    }
}

fn give(stdio: &mut Stdio, file: &Path, person: &PersonPaths) {
    let Some(folder) = file.parent().and_then(|folder| folder.canonicalize().ok()) else { return };
    if stdio.write.iter().any(|own| folder.starts_with(own)) {
        return;
    }
    let workspace = person.folder.canonicalize().ok();
    if workspace.is_some_and(|workspace| folder.starts_with(workspace)) {
        stdio.workspace = WorkspaceAccess::Write;
    } else if !person.is_wide(&folder) {
        stdio.write.push(folder);
    }
}

/// Returns the absolute paths of the database files in a command line.
fn files(args: &[String], folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut is_value = false;
    for arg in args {
        let (option, value) = match arg.split_once('=') {
            Some((option, value)) if option.starts_with('-') => (option, value),
            _ => ("", arg.as_str()),
        };
        let is_option = |text: &str| OPTIONS.contains(&text);
        let named = is_value || is_option(option);
        let extension = Path::new(value).extension().and_then(|end| end.to_str());
        let looks =
            extension.is_some_and(|end| EXTENSIONS.contains(&end)) && !value.starts_with('-');
        // An address such as `postgres://host/name` is not a file.
        if (looks || named) && !value.contains("://") && !value.is_empty() {
            found.push(folder.join(value));
        }
        is_value = is_option(arg);
    }
    found
}

#[cfg(test)]
mod tests {
    use toolcrib_app::mcp::client::ServerName;

    use super::*;

    #[test]
    fn a_server_may_write_where_its_database_is() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let workspace = home.join("work");
        std::fs::create_dir_all(workspace.join("sub")).unwrap();
        std::fs::create_dir_all(home.join("data")).unwrap();
        let person =
            PersonPaths { home: Some(home.clone()), folder: workspace, ..PersonPaths::default() };
        let check = |line: &str, expected: (WorkspaceAccess, &[PathBuf])| {
            let args = line.split(' ').map(str::to_owned).collect();
            let stdio = Stdio { args, ..Stdio::default() };
            let name = ServerName::new("fx").unwrap();
            let mut config = ServerConfig::new(name, Remote::Stdio(stdio));
            give_access(&mut config, &person);
            let Remote::Stdio(stdio) = &config.remote else { panic!() };
            assert_eq!((stdio.workspace, stdio.write.as_slice()), expected, "{line}");
        };
        let read = (WorkspaceAccess::Read, [].as_slice());
        let write = (WorkspaceAccess::Write, [].as_slice());
        check("mcp-server-sqlite --db-path ./test.db", write);
        check("mcp-server-sqlite --db-path=sub/any", write);
        check("server notes.sqlite3", write);
        let data = home.join("data");
        let path = format!("server --database {}/notes", data.display());
        check(&path, (WorkspaceAccess::Read, std::slice::from_ref(&data)));
        // Do not grant access to the whole home folder, or to a missing path.
        check(&format!("server {}/notes.db", home.display()), read);
        check("server --db-path no/such/folder/test.db", read);
        check("server --database postgres://localhost/notes", read);
        check("server --verbose . notes.txt --db", read);
    }
}
