//! The content of a received mail: files as artifacts, mails that are too large, unsubscribing from
//! a list.

use std::sync::{Arc, Mutex};

use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use toolcrib_core::{ArtifactRef, Risk, Trust};
use toolcrib_testkit::mail_servers::Dovecot;

use crate::dovecot::{structured, tools_of};
use crate::fixture::call;
use crate::hostile::acceptor;

#[tokio::test]
async fn files_of_a_mail_are_artifacts_and_untrusted() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = tools_of(&dovecot).await;
    dovecot.deliver("1.a", "From: bob@example.net\nSubject: Files\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nHere they are.\n--b\nContent-Type: application/pdf; name=\"../../report.pdf\"\nContent-Disposition: attachment; filename=\"../../report.pdf\"\nContent-Transfer-Encoding: base64\n\nJVBERi0xLjQ=\n--b\nContent-Type: text/html; charset=utf-8\nContent-Disposition: attachment; filename=page.html\n\n<script>x</script>\n--b--\n");
    let mail = structured(&tools, "read_email", json!({"uid": 1, "mark_read": false})).await;
    assert!(mail["text"].as_str().unwrap().contains("Here they are."), "{mail}");
    let files = mail["attachments"].as_array().unwrap();
    assert_eq!((files.len(), &files[0]["bytes"]), (2, &json!(8)), "{mail}");
    let artifact = ArtifactRef(files[0]["artifact"].as_str().unwrap().to_owned());
    let meta = tools.artifacts.meta(&artifact, "").unwrap().unwrap();
    assert_eq!((meta.trust, meta.media_type.as_str()), (Trust::External, "application/pdf"));
    let content = tools.artifacts.read(&artifact, "", 0, 100).unwrap().unwrap();
    assert_eq!(content, b"%PDF-1.4");
    // It can go on as a file of a draft, under its name without the folders.
    let draft =
        json!({"to": "c@example.net", "subject": "s", "body": "b", "attachments": [artifact.0]});
    let made = structured(&tools, "compose_email", draft).await;
    let draft = tools.drafts.get("", made["draft_id"].as_str().unwrap()).await.unwrap();
    assert_eq!(draft.attachments[0].name, "report.pdf");
}

#[tokio::test]
async fn of_a_mail_of_fifty_megabytes_only_the_beginning_is_read() {
    let Some(dovecot) = Dovecot::start() else { return };
    let tools = tools_of(&dovecot).await;
    let line = format!("{}\n", "QUFB".repeat(19));
    let mut mail = "From: bob@example.net\nSubject: Big\nContent-Type: multipart/mixed; boundary=b\n\n--b\nContent-Type: text/plain\n\nSee the film.\n--b\nContent-Type: video/mp4; name=film.mp4\nContent-Disposition: attachment\nContent-Transfer-Encoding: base64\n\n".to_owned();
    mail += &line.repeat((50 << 20) / line.len());
    mail += "--b--\n";
    dovecot.deliver("1.a", &mail);
    let read = structured(&tools, "read_email", json!({"uid": 1})).await;
    assert!(read["text"].as_str().unwrap().contains("See the film."), "{}", read["text"]);
    let warning = read["warning"].as_str().unwrap();
    assert!(
        warning.contains(&format!("{} bytes", mail.len() + mail.matches('\n').count())),
        "{warning}"
    );
    assert!(read["attachments"][0]["artifact"].is_null(), "{}", read["attachments"]);
    assert!(read["attachments"][0]["bytes"].as_u64().unwrap() <= 1 << 20);
}

/// An HTTPS server that keeps what is posted and answers with this status.
async fn list_server(dovecot: &Dovecot, status: &'static str) -> (u16, Arc<Mutex<Vec<String>>>) {
    let tls = acceptor(&dovecot.cert, &dovecot.folder().join("key.pem"));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let posted: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&posted);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut stream = BufReader::new(tls.accept(stream).await.unwrap());
            let (mut head, mut length) = (String::new(), 0);
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).await.unwrap();
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
                head += &line;
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.unwrap();
            kept.lock().unwrap().push(head + &String::from_utf8(body).unwrap());
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            stream.write_all(answer.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
        }
    });
    (port, posted)
}

#[tokio::test]
async fn one_click_leaves_a_list_whose_signature_the_server_has_checked() {
    let Some(dovecot) = Dovecot::start() else { return };
    let mut tools = tools_of(&dovecot).await;
    let (port, posted) = list_server(&dovecot, "202 Accepted").await;
    tools.client = tools.client.with_opened(format!("127.0.0.1:{port}").parse().unwrap());
    let url = format!("https://127.0.0.1:{port}/out?u=1");
    let list = format!(
        "From: news@shop.example\nSubject: News\nList-Unsubscribe: <{url}>\nList-Unsubscribe-Post: List-Unsubscribe=One-Click\n"
    );
    let signed = "Authentication-Results: mx; dkim=pass header.d=shop.example\nDKIM-Signature: d=shop.example; h=from:list-unsubscribe:list-unsubscribe-post; b=x\n";
    dovecot.deliver("1.a", &format!("{signed}{list}\nBuy\n"));
    dovecot.deliver("2.b", &format!("{list}\nBuy\n"));
    let read = structured(&tools, "read_email", json!({"uid": 1})).await;
    assert_eq!(read["unsubscribe"], json!(url), "{read}");
    let unsigned = structured(&tools, "read_email", json!({"uid": 2})).await;
    assert!(unsigned["unsubscribe"].is_null(), "{unsigned}");
    // It asks: the call is outbound, of high risk, and says the address.
    let handlers = tools.handlers();
    let tool = handlers.iter().find(|h| h.spec().name.as_str() == "unsubscribe_email").unwrap();
    let assessment = tool.assess(&json!({"uid": 1, "url": url})).unwrap();
    assert!(assessment.reach.outbound && assessment.risk == Risk::High, "{assessment:?}");
    assert!(assessment.summary.unwrap_or_default().contains(&url));
    for (args, part) in [
        (json!({"uid": 2, "url": url}), "no DKIM signature"),
        (json!({"uid": 1, "url": "https://127.0.0.1/other"}), "not the one that was passed"),
        (json!({"uid": 9, "url": url}), "no mail with the uid 9"),
    ] {
        let refused = call(&tools, "unsubscribe_email", args).await.unwrap_err();
        assert!(refused.message.contains(part), "{}", refused.message);
    }
    assert!(posted.lock().unwrap().is_empty());
    let left = structured(&tools, "unsubscribe_email", json!({"uid": 1, "url": url})).await;
    assert_eq!(left["unsubscribed"], true, "{left}");
    let posted = posted.lock().unwrap().clone();
    let [request] = &posted[..] else { panic!("{posted:?}") };
    assert!(request.starts_with("POST /out?u=1 HTTP/1.1"), "{request}");
    assert!(request.ends_with("\r\n\r\nList-Unsubscribe=One-Click"), "{request}");
    // Without the word of the person, an address of this machine is not reached.
    let closed = tools_of(&dovecot).await;
    let refused = call(&closed, "unsubscribe_email", json!({"uid": 1, "url": url})).await;
    assert!(refused.unwrap_err().message.contains("was not reached"));
}
