//! Dovecot on loopback, with one mailbox and a submission server.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::{MailSink, certificate, free_port};

/// Password of every user.
pub const PASSWORD: &str = "secret-of-ann";
const DOVECOT: &str = "/usr/sbin/dovecot";
/// The user that owns mails: Dovecot opens none as root.
const NOBODY: Option<u32> = Some(65_534);

/// Dovecot, ended with the value.
#[derive(Debug)]
pub struct Dovecot {
    process: Option<Child>,
    folder: tempfile::TempDir,
    /// Its certificate.
    pub cert: PathBuf,
    /// Port of IMAP with TLS.
    pub imap: u16,
    /// Port of the submission server with `STARTTLS`.
    pub submission: u16,
    /// Port of the submission server with TLS.
    pub submissions: u16,
    /// Where submitted mail goes.
    pub sink: MailSink,
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Dovecot {
    /// Starts it. `None`, with a loud line, where it is not installed or may not be started.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::start_with("")
    }

    /// Starts it with more lines of configuration.
    ///
    /// # Panics
    /// If it does not start.
    #[expect(clippy::print_stderr, reason = "what is not tried is said aloud")]
    #[must_use]
    pub fn start_with(more: &str) -> Option<Self> {
        let is_root = fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0);
        let has_submission = Path::new("/usr/lib/dovecot/submission-login").exists();
        if !is_root || !has_submission || !Path::new(DOVECOT).exists() {
            eprintln!("SKIPPED: needs root, dovecot-imapd and dovecot-submissiond");
            return None;
        }
        Some(Self::set_up(more).unwrap_or_else(|error| panic!("Dovecot: {error}")))
    }

    fn set_up(more: &str) -> std::io::Result<Self> {
        // The paths of its sockets are short.
        let folder = tempfile::Builder::new().prefix("dc").tempdir_in("/tmp")?;
        let (cert, key) = certificate(folder.path());
        let mut dovecot = Self {
            process: None,
            cert,
            imap: free_port(),
            submission: free_port(),
            submissions: free_port(),
            sink: MailSink::start(),
            folder,
        };
        let maildir = dovecot.maildir();
        let inbox = ["new", "cur", "tmp"].map(|name| maildir.join(name));
        for name in &inbox {
            fs::create_dir_all(name)?;
        }
        let home = dovecot.folder().join("home");
        for owned in [&home, &home.join("ann"), &maildir].into_iter().chain(&inbox) {
            chown(owned, NOBODY, NOBODY)?;
        }
        fs::set_permissions(dovecot.folder(), fs::Permissions::from_mode(0o755))?;
        fs::write(dovecot.config(), dovecot.text(&key, more))?;
        dovecot.run()?;
        Ok(dovecot)
    }

    fn text(&self, key: &Path, more: &str) -> String {
        let (path, cert, key) = (self.folder().display(), self.cert.display(), key.display());
        let (imap, submission, submissions) = (self.imap, self.submission, self.submissions);
        let relay = self.sink.port;
        format!(
            "base_dir = {path}/run\nstate_dir = {path}/run\nlog_path = {path}/log\nprotocols = imap submission\nlisten = 127.0.0.1\nssl = required\nssl_cert = <{cert}\nssl_key = <{key}\nfirst_valid_uid = 1\nmail_location = maildir:~/Maildir\nhostname = mail.example.org\nauth_mechanisms = plain login\npassdb {{\n driver = static\n args = password={PASSWORD}\n}}\nuserdb {{\n driver = static\n args = uid=65534 gid=65534 home={path}/home/%n\n}}\nservice imap-login {{\n inet_listener imap {{\n  port = 0\n }}\n inet_listener imaps {{\n  port = {imap}\n  ssl = yes\n }}\n}}\nservice submission-login {{\n inet_listener submission {{\n  port = {submission}\n }}\n inet_listener submissions {{\n  port = {submissions}\n  ssl = yes\n }}\n}}\nsubmission_relay_host = 127.0.0.1\nsubmission_relay_port = {relay}\nnamespace inbox {{\n inbox = yes\n mailbox Gesendet {{\n  special_use = \\Sent\n  auto = create\n }}\n}}\n{more}\n"
        )
    }

    /// Starts it again after [`Self::stop`], on the same ports.
    ///
    /// # Errors
    /// If its program does not start.
    ///
    /// # Panics
    /// If it does not listen within 30 s.
    pub fn run(&mut self) -> std::io::Result<()> {
        let process = Command::new(DOVECOT)
            .args(["-F", "-c"])
            .arg(self.config())
            .stdout(Stdio::null())
            .stderr(Stdio::inherit())
            .spawn()?;
        self.process = Some(process);
        let started = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", self.imap)).is_err() {
            assert!(started.elapsed() < Duration::from_secs(30), "{}", self.log());
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Stops it; every connection ends.
    pub fn stop(&mut self) {
        if let Some(mut process) = self.process.take() {
            let _ = Command::new(DOVECOT).arg("-c").arg(self.config()).arg("stop").status();
            let _ = process.wait();
        }
    }

    fn config(&self) -> PathBuf {
        self.folder().join("dovecot.conf")
    }

    /// Its folder, for whatever else a test keeps.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The mailbox of ann@example.org.
    #[must_use]
    pub fn maildir(&self) -> PathBuf {
        self.folder().join("home/ann/Maildir")
    }

    /// What it says about itself.
    #[must_use]
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder().join("log")).unwrap_or_default()
    }

    /// Logins to IMAP so far.
    #[must_use]
    pub fn logins(&self) -> usize {
        self.log().lines().filter(|l| l.contains("imap-login: Info: Login:")).count()
    }

    /// Puts a mail into the inbox, as a delivery does.
    ///
    /// # Panics
    /// If it cannot be written.
    pub fn deliver(&self, name: &str, mail: &str) {
        let (before, file) = (self.maildir().join("tmp").join(name), self.maildir().join("new"));
        let delivered = fs::write(&before, mail.replace('\n', "\r\n"))
            .and_then(|()| chown(&before, NOBODY, NOBODY))
            .and_then(|()| fs::rename(&before, file.join(name)));
        assert!(delivered.is_ok(), "{delivered:?}");
    }
}
