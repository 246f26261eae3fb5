//! Digest of the files of a server's program, as far as its entry names them: the program, and
//! arguments that are files. Packages that a launcher fetches are identified by the version that
//! the server reports.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};
use toolcrib_mcp::client::Stdio;
use toolcrib_sandbox::process::DEFAULT_PATH;

/// Larger files are data, not programs.
const MOST_BYTES: u64 = 256 << 20;

/// Returns the SHA-256 of the contents of these files, in the order of the command line.
pub(super) fn digest(program: &Stdio, path: &[PathBuf]) -> Option<String> {
    let mut all = Context::new(&SHA256);
    let mut any = false;
    let files = find(&program.command, path).into_iter();
    for file in files.chain(program.args.iter().map(PathBuf::from)) {
        if file.is_absolute() && add(&file, &mut all).is_ok_and(|added| added) {
            any = true;
        }
    }
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    any.then(|| hex(all.finish().as_ref()))
}

fn find(command: &str, path: &[PathBuf]) -> Option<PathBuf> {
    if command.contains('/') {
        return Some(PathBuf::from(command));
    }
    let system = DEFAULT_PATH.split(':').map(PathBuf::from);
    path.iter()
        .cloned()
        .chain(system)
        .map(|folder| folder.join(command))
        .find(|file| file.is_file())
}

fn add(path: &Path, all: &mut Context) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let known = file.metadata()?;
    if !known.is_file() || known.len() > MOST_BYTES {
        return Ok(false);
    }
    all.update(&known.len().to_le_bytes());
    let mut piece = vec![0; 64 << 10];
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(true),
            n => all.update(piece.get(..n).unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_its_files() {
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("server.py");
        std::fs::write(&script, "one").unwrap();
        let program = Stdio {
            command: "sh".to_owned(),
            args: vec![script.display().to_string(), "--flag".to_owned()],
            ..Stdio::default()
        };
        let first = digest(&program, &[]).unwrap();
        assert_eq!(digest(&program, &[]).unwrap(), first);
        std::fs::write(&script, "two").unwrap();
        assert_ne!(digest(&program, &[]).unwrap(), first);
        let none = Stdio { command: "no-such-program".to_owned(), ..Stdio::default() };
        assert_eq!(digest(&none, &[]), None);
    }
}
