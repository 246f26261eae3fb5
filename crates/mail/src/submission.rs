//! Handing a message to a submission server (RFC 6409).
//!
//! Until the end of the data is sent, an error means that nothing left. After it, only the server's
//! answer says what became of the message; without one it is unknown.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use lettre::Address;
use lettre::transport::smtp::authentication::{Credentials, Mechanism};
use lettre::transport::smtp::client::{AsyncSmtpConnection, AsyncTokioStream};
use lettre::transport::smtp::commands::{Data, Mail, Rcpt};
use lettre::transport::smtp::extension::ClientId;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use toolcrib_assistant::draft::Delivery;
use toolcrib_net::SecureStream;

use crate::account::{Login, LoginSecret, Security};
use crate::connection::{Protocol, connect};
use crate::error::{MailError, server_words};

/// Longest time until the message can be sent.
const PREPARE: Duration = Duration::from_secs(30);
/// Longest time until the server has taken the message: it may check it first (RFC 5321, 4.5.3.2.6
/// wants ten minutes, which no person waits).
const DELIVER: Duration = Duration::from_secs(120);

/// Logs in, and out again.
pub(crate) async fn test(login: &Login) -> Result<(), MailError> {
    let work = async {
        let mut connection = open(login).await?;
        let _ = connection.quit().await;
        Ok(())
    };
    tokio::time::timeout(PREPARE, work).await.unwrap_or_else(|_| Err(late(login)))
}

/// Hands a message over, once.
pub(crate) async fn send(login: &Login, to: &[String], message: &[u8]) -> Delivery {
    let prepared = tokio::time::timeout(PREPARE, prepare(login, to)).await;
    let mut connection = match prepared.unwrap_or_else(|_| Err(late(login))) {
        Ok(connection) => connection,
        Err(error) => return Delivery::Failed(error.to_string()),
    };
    let server = &login.account.smtp;
    let taken = tokio::time::timeout(DELIVER, connection.message(message)).await;
    let delivery = match taken {
        Ok(Ok(_)) => Delivery::Sent(None),
        // The server has answered, and does not take it.
        Ok(Err(error)) if error.is_permanent() || error.is_transient() => {
            Delivery::Failed(format!("{server} refuses the mail: {}", server_words(&words(&error))))
        }
        Ok(Err(error)) => Delivery::Unknown(format!(
            "{server} did not say whether it took the mail: {}.",
            server_words(&words(&error))
        )),
        Err(_) => Delivery::Unknown(format!(
            "{server} did not say within {} s whether it took the mail.",
            DELIVER.as_secs()
        )),
    };
    let _ = tokio::time::timeout(Duration::from_secs(2), connection.quit()).await;
    delivery
}

/// Everything before the message: a recipient that is refused ends it, so that no mail reaches only
/// some of them.
async fn prepare(login: &Login, to: &[String]) -> Result<AsyncSmtpConnection, MailError> {
    let address = |text: &str| -> Result<Address, MailError> {
        text.parse().map_err(|_| MailError::Argument(format!("\"{text}\" is not a mail address.")))
    };
    let from = address(&login.account.address)?;
    let mut connection = open(login).await?;
    let refused = |error: lettre::transport::smtp::Error| refused(login, &error);
    connection.command(Mail::new(Some(from), Vec::new())).await.map_err(refused)?;
    for to in to {
        let command = Rcpt::new(address(to)?, Vec::new());
        connection.command(command).await.map_err(refused)?;
    }
    connection.command(Data).await.map_err(refused)?;
    Ok(connection)
}

async fn open(login: &Login) -> Result<AsyncSmtpConnection, MailError> {
    let server = &login.account.smtp;
    let stream = connect(&login.client, server, Protocol::Smtp).await?;
    // After STARTTLS the server does not greet again (RFC 3207, 4.2), but the client expects it.
    let greeting: &[u8] =
        if server.security() == Security::Starttls { b"220 after STARTTLS\r\n" } else { b"" };
    let stream = Box::new(Greeted { greeting, stream });
    let hello = ClientId::default();
    let connection = AsyncSmtpConnection::connect_with_transport(stream, &hello);
    let mut connection = connection.await.map_err(|error| refused(login, &error))?;
    let user = login.account.user().to_owned();
    let (mechanisms, secret): (&[Mechanism], _) = match &login.secret {
        LoginSecret::Password(password) => (&[Mechanism::Plain, Mechanism::Login], password),
        LoginSecret::Token(token) => (&[Mechanism::Xoauth2], token),
    };
    let credentials = Credentials::new(user, secret.clone());
    connection.auth(mechanisms, &credentials).await.map_err(|error| MailError::Login {
        server: server.to_string(),
        reason: server_words(&words(&error)),
    })?;
    Ok(connection)
}

fn refused(login: &Login, error: &lettre::transport::smtp::Error) -> MailError {
    let (server, reason) = (login.account.smtp.to_string(), server_words(&words(error)));
    if error.is_permanent() || error.is_transient() {
        MailError::Refused { server, reason }
    } else {
        MailError::Unreachable { server, reason }
    }
}

fn words(error: &lettre::transport::smtp::Error) -> String {
    error.to_string()
}

fn late(login: &Login) -> MailError {
    MailError::Unreachable {
        server: login.account.smtp.to_string(),
        reason: format!("no answer within {} s", PREPARE.as_secs()),
    }
}

/// A connection whose first line is already known.
struct Greeted {
    greeting: &'static [u8],
    stream: SecureStream,
}

impl fmt::Debug for Greeted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Greeted").finish_non_exhaustive()
    }
}

impl AsyncTokioStream for Greeted {
    fn peer_addr(&self) -> io::Result<SocketAddr> {
        self.stream.get_ref().0.peer_addr()
    }
}

impl AsyncRead for Greeted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.greeting.is_empty() {
            return Pin::new(&mut self.stream).poll_read(cx, buf);
        }
        let (now, later) = self.greeting.split_at(self.greeting.len().min(buf.remaining()));
        buf.put_slice(now);
        self.greeting = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Greeted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
