//! Servers that lie, hang and break off.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use toolcrib_assistant::Writer;
use toolcrib_assistant::draft::{DraftStatus, SendRequest};
use toolcrib_core::Author;
use toolcrib_testkit::mail_servers::certificate;

use crate::fixture::call;
use crate::killed::{account_file, new_draft, tools_in};

/// What a submission server does after the end of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SmtpEnd {
    Take,
    Refuse,
    BreakOff,
    Hang,
}

pub(crate) fn acceptor(cert: &Path, key: &Path) -> TlsAcceptor {
    let cert = CertificateDer::from_pem_file(cert).unwrap();
    let key = PrivateKeyDer::from_pem_file(key).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert], key)
        .unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// A submission server with this end; `taken` counts the mails that arrived whole.
pub(crate) async fn smtp_server(
    cert: &Path,
    key: &Path,
    end: SmtpEnd,
    taken: Arc<AtomicUsize>,
) -> u16 {
    let (tls, listener) = (acceptor(cert, key), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, taken) = (tls.clone(), Arc::clone(&taken));
            tokio::spawn(async move {
                let mut stream = BufReader::new(tls.accept(stream).await.ok()?);
                stream.write_all(b"220 test\r\n").await.ok()?;
                let (mut line, mut in_data) = (String::new(), false);
                loop {
                    line.clear();
                    if stream.read_line(&mut line).await.ok()? == 0 {
                        return None;
                    }
                    let answer: &[u8] = match (in_data, line.trim_end()) {
                        (true, ".") => {
                            taken.fetch_add(1, Ordering::SeqCst);
                            in_data = false;
                            match end {
                                SmtpEnd::Take => b"250 taken\r\n",
                                SmtpEnd::Refuse => b"554 5.7.1 looks like spam\r\n",
                                SmtpEnd::BreakOff => return Some(()),
                                SmtpEnd::Hang => std::future::pending().await,
                            }
                        }
                        (true, _) => continue,
                        (false, "DATA") => {
                            in_data = true;
                            b"354 go on\r\n"
                        }
                        (false, text) if text.starts_with("EHLO") => {
                            b"250-test\r\n250 AUTH PLAIN\r\n"
                        }
                        (false, text) if text.starts_with("AUTH") => b"235 welcome\r\n",
                        (false, _) => b"250 ok\r\n",
                    };
                    stream.write_all(answer).await.ok()?;
                    stream.flush().await.ok()?;
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn the_end_of_a_delivery_is_what_the_server_said() {
    for (end, status, part) in [
        (SmtpEnd::Take, DraftStatus::Sent, "no copy in the Sent folder"),
        (SmtpEnd::Refuse, DraftStatus::Failed, "looks like spam"),
        (SmtpEnd::BreakOff, DraftStatus::Unknown, "did not say whether it took the mail"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (cert, key) = certificate(folder.path());
        let taken = Arc::new(AtomicUsize::new(0));
        let port = smtp_server(&cert, &key, end, Arc::clone(&taken)).await;
        account_file(folder.path(), port);
        let tools = tools_in(folder.path());
        let writer =
            Writer { owner: String::new(), author: Author::person("ann"), untrusted: None };
        let draft = tools.drafts.create(&writer, new_draft()).await.unwrap();
        let send = |version| SendRequest {
            id: draft.id.clone(),
            version: Some(version),
            again: false,
            by: "ann".to_owned(),
        };
        // Two people press at once: one delivery.
        let (one, two) = tokio::join!(
            tools.drafts.send(&writer, send(draft.version)),
            tools.drafts.send(&writer, send(draft.version)),
        );
        let ended = match (one, two) {
            (Ok(ended), Err(_)) | (Err(_), Ok(ended)) => ended,
            both => panic!("{both:?}"),
        };
        assert_eq!(ended.status, status, "{:?}", ended.note);
        assert!(ended.note.as_deref().unwrap_or_default().contains(part), "{:?}", ended.note);
        assert_eq!(taken.load(Ordering::SeqCst), 1, "{end:?}");
    }
}

/// An IMAP server that accepts every login and answers every other command with these bytes.
async fn imap_server(cert: &Path, key: &Path, answer: &'static [u8]) -> u16 {
    let (tls, listener) = (acceptor(cert, key), TcpListener::bind("127.0.0.1:0").await.unwrap());
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let tls = tls.clone();
            tokio::spawn(async move {
                let mut stream = BufReader::new(tls.accept(stream).await.ok()?);
                stream.write_all(b"* OK hello\r\n").await.ok()?;
                let mut line = String::new();
                loop {
                    line.clear();
                    if stream.read_line(&mut line).await.ok()? == 0 {
                        return Some(());
                    }
                    let tag = line.split(' ').next().unwrap_or_default().to_owned();
                    if !line.contains("LOGIN") && !line.contains("EXAMINE") {
                        stream.write_all(answer).await.ok()?;
                    }
                    stream.write_all(format!("{tag} OK done\r\n").as_bytes()).await.ok()?;
                    stream.flush().await.ok()?;
                }
            });
        }
    });
    port
}

#[tokio::test]
async fn a_mail_server_with_endless_folders_does_not_undo_the_sending() {
    let folders = b"* LIST () \"/\" \"f\"\r\n".repeat(100_000);
    let endless: &'static [u8] = Box::leak(folders.into_boxed_slice());
    let folder = tempfile::tempdir().unwrap();
    let (cert, key) = certificate(folder.path());
    let taken = Arc::new(AtomicUsize::new(0));
    let smtp = smtp_server(&cert, &key, SmtpEnd::Take, Arc::clone(&taken)).await;
    let imap = imap_server(&cert, &key, endless).await;
    account_file(folder.path(), smtp);
    reach_imap(folder.path(), imap);
    let tools = tools_in(folder.path());
    let writer = Writer { owner: String::new(), author: Author::person("ann"), untrusted: None };
    let draft = tools.drafts.create(&writer, new_draft()).await.unwrap();
    let request = SendRequest { id: draft.id, version: None, again: false, by: "ann".to_owned() };
    let sent = tools.drafts.send(&writer, request).await.unwrap();
    assert_eq!((sent.status, taken.load(Ordering::SeqCst)), (DraftStatus::Sent, 1));
    assert!(sent.note.unwrap().contains("more than 2000 folders"));
}

/// Puts the port of the IMAP server into the file of accounts.
fn reach_imap(folder: &Path, port: u16) {
    let file = folder.join("mail.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let text = text.replace("port = 1 }\nsmtp", &format!("port = {port} }}\nsmtp"));
    std::fs::write(&file, text).unwrap();
}

#[tokio::test]
async fn servers_that_lie_are_found_out() {
    let endless: &'static [u8] = Box::leak(b"* SEARCH 1\r\n".repeat(4_000_000).into_boxed_slice());
    for (answer, part) in [
        (&b"* 1 FETCH (BODY[] {4000000000}\r\n"[..], "longer than what is read"),
        (&b"* 1 FETCH (BODY[] {400000000}\r\nabc"[..], "longer than what is read"),
        (&b"* BYE go away\r\n"[..], ""),
        (endless, "longer than what is read"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (cert, key) = certificate(folder.path());
        let port = imap_server(&cert, &key, answer).await;
        account_file(folder.path(), 1);
        reach_imap(folder.path(), port);
        let tools = tools_in(folder.path());
        let started = std::time::Instant::now();
        let output = call(&tools, "check_email", json!({})).await.unwrap();
        let row = &output.structured.unwrap()["accounts"][0];
        if !part.is_empty() {
            let error = row["error"].as_str().unwrap_or_default();
            assert!(error.contains(part) && error.len() < 600, "{row}");
        }
        assert!(started.elapsed() < std::time::Duration::from_secs(40));
    }
}
