//! Connections to the servers of an account, always with TLS before anything else.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use toolcrib_net::{HttpClient, Limits, SecureStream};

use crate::account::{Security, Server};
use crate::error::{MailError, server_words};

/// Longest time to connect, until TLS is there.
const CONNECT: Duration = Duration::from_secs(15);
/// Longest line of a server before TLS (RFC 5321, 4.5.3.1.5: 512).
const MAX_LINE: usize = 2_048;
/// Lines of one answer before TLS.
const MAX_LINES: usize = 100;

/// What is said before `STARTTLS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Imap,
    Smtp,
}

/// A connection with TLS. After `STARTTLS` the server does not greet again.
pub(crate) async fn connect(
    client: &HttpClient,
    server: &Server,
    protocol: Protocol,
) -> Result<SecureStream, MailError> {
    let work = async {
        let name = server.to_string();
        let limits = Limits { connect: CONNECT, ..Limits::default() };
        let opened = client.open_stream(&server.host, server.port, &limits).await;
        let mut plain = opened.map_err(|error| MailError::connecting(&name, &error))?;
        if server.security() == Security::Starttls {
            start_tls(&mut plain.stream, &name, protocol).await?;
        }
        plain.secure().await.map_err(|error| MailError::connecting(&name, &error))
    };
    tokio::time::timeout(CONNECT, work).await.unwrap_or_else(|_| {
        Err(MailError::Unreachable {
            server: server.to_string(),
            reason: format!("no TLS within {} s", CONNECT.as_secs()),
        })
    })
}

async fn start_tls(
    stream: &mut TcpStream,
    name: &str,
    protocol: Protocol,
) -> Result<(), MailError> {
    let commands: &[&str] = match protocol {
        Protocol::Imap => &["", "a1 STARTTLS\r\n"],
        Protocol::Smtp => &["", "EHLO [127.0.0.1]\r\n", "STARTTLS\r\n"],
    };
    for command in commands {
        let lost = |error: std::io::Error| MailError::Unreachable {
            server: name.to_owned(),
            reason: error.to_string(),
        };
        stream.write_all(command.as_bytes()).await.map_err(lost)?;
        let last = answer(stream, protocol, command.is_empty(), name).await?;
        let is_yes = match protocol {
            Protocol::Imap => last.contains(" OK"),
            Protocol::Smtp => last.starts_with('2'),
        };
        if !is_yes {
            let reason = format!("no TLS: {}", server_words(&last));
            return Err(MailError::Refused { server: name.to_owned(), reason });
        }
    }
    Ok(())
}

/// The last line of an answer.
async fn answer(
    stream: &mut TcpStream,
    protocol: Protocol,
    is_greeting: bool,
    name: &str,
) -> Result<String, MailError> {
    for _ in 0..MAX_LINES {
        let line = line(stream, name).await?;
        let is_last = match protocol {
            Protocol::Imap => is_greeting || line.starts_with("a1 "),
            Protocol::Smtp => line.as_bytes().get(3) != Some(&b'-'),
        };
        if is_last {
            return Ok(line);
        }
    }
    Err(MailError::Answer { server: name.to_owned(), reason: "too many lines".to_owned() })
}

/// One line, byte by byte: a byte that is read ahead would be taken for one that came under TLS.
async fn line(stream: &mut TcpStream, name: &str) -> Result<String, MailError> {
    let mut line = Vec::new();
    while line.len() < MAX_LINE {
        match stream.read_u8().await {
            Ok(b'\n') => return Ok(String::from_utf8_lossy(&line).trim_end().to_owned()),
            Ok(byte) => line.push(byte),
            Err(error) => {
                let reason = format!("it ended before TLS: {error}");
                return Err(MailError::Unreachable { server: name.to_owned(), reason });
            }
        }
    }
    Err(MailError::Answer { server: name.to_owned(), reason: "a line without end".to_owned() })
}
