//! The address to which a browser returns after a login: a port of this machine, for as long as the
//! login is open (RFC 8252 7.3).

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, oneshot};
use toolcrib_app::mcp::client::AuthError;

const CALLBACK_PATH: &str = "/callback";
/// Maximum number of bytes of a request head.
const HEAD_BYTES: usize = 16 * 1024;
/// Timeout for a browser to send a request. Some browsers open connections that they do not use.
const HEAD_TIMEOUT: Duration = Duration::from_secs(20);

/// Timeout for a browser to read the answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// The listener on the port.
pub(super) struct CallbackListener {
    address: String,
    requests: mpsc::Receiver<CallbackRequest>,
    /// Dropping the listener ends the task.
    accept_task: tokio::task::JoinHandle<()>,
}

/// The browser's request after the login.
pub(super) struct CallbackRequest {
    address: String,
    /// The browser that waits for an answer; `None` for a pasted address.
    browser: Option<BrowserReply>,
}

struct BrowserReply {
    /// Sends the page to display.
    page: oneshot::Sender<(u16, &'static str)>,
    /// Resolves when the page was delivered.
    delivered: oneshot::Receiver<()>,
}

impl CallbackRequest {
    /// Creates a request from an address that a person pasted.
    pub(super) fn from_pasted(address: String) -> Self {
        Self { address, browser: None }
    }

    /// Returns the address to which the browser was redirected, with its query.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Tells the browser the result. No part of the address is repeated.
    pub(super) async fn answer(self, ended: &Result<(), AuthError>) {
        let page = match ended {
            Ok(()) => (200, "Done. You can close this window and go back to Toolcrib."),
            Err(AuthError::ForeignRedirect) => (400, "This does not belong to the open login."),
            Err(_) => (400, "That did not work. Toolcrib says why where you started it."),
        };
        if let Some(browser) = self.browser {
            let _ = browser.page.send(page);
            // A client that does not read must not delay others.
            let _ = tokio::time::timeout(ANSWER_TIMEOUT, browser.delivered).await;
        }
    }
}

impl CallbackListener {
    /// Listens on this port of the machine if it is free; otherwise, unless it must be this one, on
    /// any.
    pub(super) async fn listen(port: Option<u16>, only: bool) -> io::Result<Self> {
        let wanted = TcpListener::bind(("127.0.0.1", port.unwrap_or(0))).await;
        let listener = match wanted {
            Err(_) if port.is_some() && !only => TcpListener::bind(("127.0.0.1", 0)).await?,
            wanted => wanted?,
        };
        let own = format!("http://{}", listener.local_addr()?);
        let (send, coming) = mpsc::channel(4);
        let address = format!("{own}{CALLBACK_PATH}");
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (own, send) = (own.clone(), send.clone());
                tokio::spawn(async move { serve(stream, &own, &send).await });
            }
        });
        Ok(Self { address, requests: coming, accept_task: accepting })
    }

    /// Returns the port of an earlier redirect address.
    pub(super) fn port_of(address: &str) -> Option<u16> {
        address.strip_prefix("http://127.0.0.1:")?.strip_suffix(CALLBACK_PATH)?.parse().ok()
    }

    /// Returns the address to which browsers are redirected.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Waits for the next request of a browser.
    pub(super) async fn next(&mut self) -> CallbackRequest {
        match self.requests.recv().await {
            Some(redirected) => redirected,
            // The callback server has ended; a pasted URL is still possible.
            None => std::future::pending().await,
        }
    }
}

impl Drop for CallbackListener {
    fn drop(&mut self) {
        self.accept_task.abort();
    }
}

async fn serve(mut stream: TcpStream, own: &str, send: &mpsc::Sender<CallbackRequest>) {
    let head = tokio::time::timeout(HEAD_TIMEOUT, read_head(&mut stream)).await;
    let Ok(Some(head)) = head else { return };
    // Keep the sender until the end: dropping it reports that the answer was written.
    let (_written, shown) = oneshot::channel();
    let (status, words) = match request_target(&head) {
        Some(target) => {
            let (page, answer) = oneshot::channel();
            let browser = Some(BrowserReply { page, delivered: shown });
            let redirected = CallbackRequest { address: format!("{own}{target}"), browser };
            if send.send(redirected).await.is_err() {
                return;
            }
            answer.await.unwrap_or((400, "The login has ended."))
        }
        None => (404, "There is nothing here."),
    };
    let reason = if status == 200 { "OK" } else { "Bad Request" };
    let length = words.len();
    let answer = format!(
        "HTTP/1.1 {status} {reason}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {length}\r\ncache-control: no-store\r\nreferrer-policy: no-referrer\r\nconnection: close\r\n\r\n{words}"
    );
    let _ = stream.write_all(answer.as_bytes()).await;
    let _ = stream.shutdown().await;
}

/// Reads the head of a request, up to its empty line.
async fn read_head(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    let mut piece = [0; 2048];
    while !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let read = stream.read(&mut piece).await.ok()?;
        if read == 0 || bytes.len() + read > HEAD_BYTES {
            return None;
        }
        bytes.extend_from_slice(piece.get(..read)?);
    }
    String::from_utf8(bytes).ok()
}

/// Returns the target of a browser's request, if it is the redirect address.
fn request_target(head: &str) -> Option<&str> {
    let mut words = head.lines().next()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let rest = target.strip_prefix(CALLBACK_PATH)?;
    (method == "GET" && (rest.is_empty() || rest.starts_with('?'))).then_some(target)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_browsers_are_sent_to_counts() {
        for (head, found) in [
            ("GET /callback?code=a HTTP/1.1\r\n\r\n", Some("/callback?code=a")),
            ("GET /callback HTTP/1.1\r\n\r\n", Some("/callback")),
            ("POST /callback HTTP/1.1\r\n\r\n", None),
            ("GET /favicon.ico HTTP/1.1\r\n\r\n", None),
            ("GET /callbacks HTTP/1.1\r\n\r\n", None),
            ("", None),
        ] {
            assert_eq!(request_target(head), found, "{head}");
        }
    }

    #[test]
    fn the_port_of_before_is_tried_first() {
        assert_eq!(CallbackListener::port_of("http://127.0.0.1:1234/callback"), Some(1234));
        assert_eq!(CallbackListener::port_of("http://example.org:1234/callback"), None);
    }
}
