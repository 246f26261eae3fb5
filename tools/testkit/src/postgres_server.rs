//! A Postgres server for tests: a cluster of its own in a temporary folder, from the binaries that
//! the distribution brings, reached by a socket in that folder only. It ends, and its folder goes,
//! with its handle, and with this process too, however that dies.

use std::ffi::OsString;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// The usual port; without TCP it is only part of the socket's name.
const PORT: u16 = 5432;
/// Where Debian and Ubuntu put each version.
const DEBIAN: &str = "/usr/lib/postgresql";

/// Makes the cluster, runs the server, says `ready`, and stops, starts or restarts it for each line
/// that it reads. When its input ends, with the handle or with the process that held it, the server
/// goes, and the folder too. Arguments: folder of the binaries, folder of the cluster, then options
/// of the server.
const WATCHDOG: &str = r#"
bin=$1; dir=$2; shift 2
begin() {
    "$bin/postgres" -D "$dir/data" -k "$dir" "$@" >>"$dir/log" 2>&1 </dev/null &
    server=$!
    until "$bin/pg_isready" -q -h "$dir"; do
        kill -0 $server 2>/dev/null || { cat "$dir/log" >&2; exit 1; }
        sleep 0.02
    done
    echo ready
}
end() { kill -QUIT $server 2>/dev/null; wait $server; }
"$bin/initdb" --no-sync --no-instructions -E UTF8 --locale=C -U postgres \
    --auth-local=trust --auth-host=scram-sha-256 -D "$dir/data" >"$dir/log" 2>&1 \
    || { cat "$dir/log" >&2; exit 1; }
trap 'end; rm -rf "$dir"' EXIT
trap 'exit 1' TERM INT HUP
begin "$@"
while read -r asked; do
    case $asked in
        stop) end; echo ready ;;
        start) begin "$@" ;;
        *) end; begin "$@" ;;
    esac
done
"#;

/// A running server.
pub struct PostgresServer {
    bin: PathBuf,
    folder: PathBuf,
    port: u16,
    keeper: Child,
    /// Closing it ends the server.
    input: Option<ChildStdin>,
    output: Option<BufReader<ChildStdout>>,
}

impl PostgresServer {
    /// Starts one that listens on a socket in its own folder. About two seconds. As root it runs as
    /// the user `postgres`, as the server refuses to run as root.
    ///
    /// # Panics
    /// When there is no server on this machine, or it does not start: the words say what is
    /// missing.
    #[must_use]
    pub fn start() -> Self {
        Self::start_with(&[])
    }

    /// As [`start`](Self::start), and listens on a free port of 127.0.0.1 too
    /// ([`port`](Self::port)), where it asks for a password. Options are those of
    /// [`start_with`](Self::start_with).
    ///
    /// # Panics
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_on_tcp(options: &[&str]) -> Self {
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let port = port.unwrap_or_else(|error| panic!("no free port: {error}")).port();
        Self::launch(port, &[&["-c", "listen_addresses=127.0.0.1"], options].concat())
    }

    /// [`start`](Self::start) with options, such as `["-c", "max_connections=20"]`. `["-c",
    /// "fsync=off"]` is faster, and loses data with the power.
    ///
    /// # Panics
    /// As [`start`](Self::start).
    #[must_use]
    pub fn start_with(options: &[&str]) -> Self {
        Self::launch(PORT, &[&["-c", "listen_addresses="], options].concat())
    }

    fn launch(port: u16, options: &[&str]) -> Self {
        let Some(bin) = binaries() else {
            panic!(
                "no Postgres server on this machine; Debian and Ubuntu: apt-get install postgresql"
            )
        };
        let folder = private_folder();
        let mut keeper = as_server_user("sh");
        keeper.args(["-c", WATCHDOG, "keeper"]).arg(&bin).arg(&folder).args(options);
        keeper.env("PGPORT", port.to_string()).current_dir(&folder);
        let spawned = keeper.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut keeper = spawned.unwrap_or_else(|e| panic!("cannot start the server: {e}"));
        let (input, output) = (keeper.stdin.take(), keeper.stdout.take().map(BufReader::new));
        let mut server = Self { bin, folder, port, keeper, input, output };
        server.wait_until_ready();
        server
    }

    fn wait_until_ready(&mut self) {
        let mut said = String::new();
        if let Some(output) = &mut self.output {
            // What went wrong is on the error output.
            let _ = output.read_line(&mut said);
        }
        assert_eq!(said.trim(), "ready", "the server did not start");
    }

    /// The address of a database of this server; it need not be there.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let folder = self.folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}:{}/{database}", self.port)
    }

    /// Makes an empty database and returns its address.
    ///
    /// # Panics
    /// When the server does not make it.
    #[must_use]
    pub fn database(&self, name: &str) -> String {
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        self.url(name)
    }

    /// Does this in a database, past every store, and returns the rows as text, columns parted by
    /// `|`.
    ///
    /// # Panics
    /// When the server refuses it.
    pub fn sql(&self, database: &str, sql: &str) -> String {
        let done = Command::new(self.bin.join("psql"))
            .args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-h"])
            .arg(&self.folder)
            .args(["-p", &self.port.to_string(), "-d", database, "-c", sql])
            .output()
            .unwrap_or_else(|error| panic!("cannot run psql: {error}"));
        assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8_lossy(&done.stdout).trim_end().to_owned()
    }

    /// Its port, for [`start_on_tcp`](Self::start_on_tcp).
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The folder of its socket and its cluster; the key and certificate of a server that speaks
    /// TLS go here, for instance.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Stops the server at once, as a crash does, and starts it again on what it left. Blocks until
    /// it answers.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn restart(&mut self) {
        self.ask(b"restart\n");
    }

    /// Stops the server at once, as a crash does. Blocks until it is gone.
    ///
    /// # Panics
    /// When it does not end.
    pub fn stop(&mut self) {
        self.ask(b"stop\n");
    }

    /// Starts the server that [`stop`](Self::stop) stopped. Blocks until it answers.
    ///
    /// # Panics
    /// When it does not come back.
    pub fn start_again(&mut self) {
        self.ask(b"start\n");
    }

    fn ask(&mut self, line: &[u8]) {
        if let Some(input) = &mut self.input {
            // A keeper that is gone says nothing more.
            let _ = input.write_all(line);
        }
        self.wait_until_ready();
    }
}

impl Drop for PostgresServer {
    fn drop(&mut self) {
        drop(self.input.take());
        // It stops the server and removes the folder.
        let _ = self.keeper.wait();
        // One that failed before it came to that has left it.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// Where the binaries are: the newest version of the distribution, or on the path.
fn binaries() -> Option<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir(DEBIAN)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .filter(|(_, bin)| bin.join("initdb").exists())
        .collect();
    versions.sort();
    let on_path = || {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path).find(|bin| bin.join("initdb").exists())
    };
    versions.pop().map(|(_, bin)| bin).or_else(on_path)
}

fn output(program: &str, args: &[&str]) -> String {
    let output = Command::new(program).args(args).output();
    output.map(|o| String::from_utf8_lossy(&o.stdout).trim().to_owned()).unwrap_or_default()
}

fn is_root() -> bool {
    output("id", &["-u"]) == "0"
}

/// A program that runs as a user who may run a server: Postgres refuses root.
fn as_server_user(program: impl Into<OsString>) -> Command {
    let program = program.into();
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--init-groups", "--"]).arg(program);
    command
}

/// An empty folder that only the server's user can look into. Its path is short: sockets have at
/// most 107 characters.
fn private_folder() -> PathBuf {
    use std::hash::{BuildHasher as _, RandomState};
    use std::os::unix::fs::DirBuilderExt as _;
    let name = format!("crib-pg-{:016x}", RandomState::new().hash_one(std::process::id()));
    let folder = std::env::temp_dir().join(name);
    std::fs::DirBuilder::new()
        .mode(0o700)
        .create(&folder)
        .unwrap_or_else(|error| panic!("cannot make {}: {error}", folder.display()));
    if is_root() {
        let id = |which| output("id", &[which, "postgres"]).parse::<u32>().ok();
        std::os::unix::fs::chown(&folder, id("-u"), id("-g"))
            .unwrap_or_else(|error| panic!("cannot give {} away: {error}", folder.display()));
    }
    folder
}
