//! A tool that runs until the test releases it, so that no test depends on the clock.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use super::TestEnv;

/// The tool `slow` in the folder `mine`: each run adds a line to `ran.txt`.
pub(crate) struct SlowTool {
    folder: PathBuf,
}

impl SlowTool {
    /// Creates the tool, which changes something and needs no approval.
    pub(crate) fn new(env: &TestEnv) -> Self {
        let folder = env.outside().to_path_buf();
        for pipe in ["running", "gate"] {
            assert!(Command::new("mkfifo").arg(folder.join(pipe)).status().unwrap().success());
        }
        env.write(
            "mine/slow/tool.toml",
            "description = \"Takes its time.\"\nrisk = \"safe\"\neffect = \"side_effect\"\n",
        );
        let at = folder.display();
        let program = format!(
            "#!/bin/sh\necho ran >> '{at}/ran.txt'\necho started > '{at}/running'\nread line < '{at}/gate'\necho finished\n"
        );
        env.write("mine/slow/run.sh", program);
        let path = env.root().join("mine/slow/run.sh");
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
        Self { folder }
    }

    /// Waits until the tool runs.
    pub(crate) fn started(&self) {
        let mut line = String::new();
        let pipe = File::open(self.folder.join("running")).unwrap();
        BufReader::new(pipe).read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
    }

    /// Releases the tool. Keep the pipe until it has continued; opened for both reading and
    /// writing, it never blocks, whether the tool listens or not.
    pub(crate) fn go_on(&self) -> File {
        let mut pipe =
            OpenOptions::new().read(true).write(true).open(self.folder.join("gate")).unwrap();
        pipe.write_all(b"go on\n").unwrap();
        pipe
    }

    /// Returns how often it ran.
    pub(crate) fn runs(&self) -> usize {
        std::fs::read_to_string(self.folder.join("ran.txt")).map_or(0, |text| text.lines().count())
    }
}
