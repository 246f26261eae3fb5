//! A mail server behind a submission server: keeps what it takes, and refuses `nobody@`.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

/// The server, and what it has taken.
#[derive(Debug)]
pub struct MailSink {
    /// Its port.
    pub port: u16,
    mails: Arc<Mutex<Vec<String>>>,
}

impl MailSink {
    /// Starts it; it ends with the process.
    ///
    /// # Panics
    /// If no port is free.
    #[must_use]
    pub fn start() -> Self {
        let Ok(listener) = TcpListener::bind("127.0.0.1:0") else { panic!("no port is free") };
        let port = listener.local_addr().map_or(0, |address| address.port());
        let mails: Arc<Mutex<Vec<String>>> = Arc::default();
        let kept = Arc::clone(&mails);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || take(&stream, &kept));
            }
        });
        Self { port, mails }
    }

    /// The mails that it took.
    #[must_use]
    pub fn mails(&self) -> Vec<String> {
        self.mails.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn take(stream: &TcpStream, kept: &Mutex<Vec<String>>) -> Option<()> {
    let (mut out, mut lines) = (stream, BufReader::new(stream).lines());
    out.write_all(b"220 sink\r\n").ok()?;
    loop {
        let line = lines.next()?.ok()?;
        let verb = line.split(' ').next().unwrap_or_default().to_ascii_uppercase();
        if line.contains("nobody@") && verb == "RCPT" {
            out.write_all(b"550 5.1.1 no such mailbox\r\n").ok()?;
            continue;
        }
        match verb.as_str() {
            "DATA" => {
                out.write_all(b"354 go on\r\n").ok()?;
                let mut mail = String::new();
                loop {
                    let line = lines.next()?.ok()?;
                    if line == "." {
                        break;
                    }
                    mail += &line;
                    mail += "\n";
                }
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(mail);
                out.write_all(b"250 2.0.0 taken\r\n").ok()?;
            }
            "QUIT" => {
                out.write_all(b"221 bye\r\n").ok()?;
                return None;
            }
            _ => out.write_all(b"250 ok\r\n").ok()?,
        }
    }
}
