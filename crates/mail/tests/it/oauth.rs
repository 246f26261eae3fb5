//! Logins by OAuth: the device flow with an authorization server on loopback, and Dovecot, which
//! asks that server about every token.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::TcpListener;
use toolcrib_mail::account::{MailAccounts, OauthSettings};
use toolcrib_mail::{DeviceCode, MailTools};
use toolcrib_testkit::mail_servers::Dovecot;

use crate::dovecot::{account, structured};
use crate::fixture::{Passwords, client, tools};
use crate::hostile::acceptor;

/// An authorization server: what it answers next to a poll, and what it was asked.
#[derive(Clone, Default)]
struct AuthServer {
    port: u16,
    /// Answers to `/token`, the next one first; the last one stays.
    answers: Arc<Mutex<Vec<(u16, Value)>>>,
    asked: Arc<Mutex<Vec<String>>>,
    /// Tokens that are valid now.
    valid: Arc<Mutex<Vec<String>>>,
}

impl AuthServer {
    /// With the tokens that `valid` has.
    async fn start(folder: &std::path::Path, valid: &Self) -> Self {
        let tls = acceptor(&folder.join("cert.pem"), &folder.join("key.pem"));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, valid: Arc::clone(&valid.valid), ..Self::default() };
        let shared = server.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (tls, shared) = (tls.clone(), shared.clone());
                tokio::spawn(async move { shared.serve(tls.accept(stream).await.ok()?).await });
            }
        });
        server
    }

    /// Without TLS, for Dovecot, which asks whether a token is valid.
    async fn token_info(&self) -> u16 {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let shared = shared.clone();
                tokio::spawn(async move { shared.serve(stream).await });
            }
        });
        port
    }

    async fn serve(&self, stream: impl AsyncRead + AsyncWrite + Unpin) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let (mut first, mut length) = (String::new(), 0);
            if stream.read_line(&mut first).await.ok()? == 0 {
                return None;
            }
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).await.ok()?;
                if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().ok()?;
                }
                if line.trim().is_empty() {
                    break;
                }
            }
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.ok()?;
            let path = first.split(' ').nth(1)?.to_owned();
            let (status, answer) = self.answer(&path, &String::from_utf8(body).ok()?);
            let text = answer.to_string();
            let answer = format!(
                "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{text}",
                text.len()
            );
            stream.write_all(answer.as_bytes()).await.ok()?;
            stream.flush().await.ok()?;
        }
    }

    fn answer(&self, path: &str, body: &str) -> (u16, Value) {
        if let Some((_, token)) = path.split_once("access_token=") {
            let is_valid = self.valid.lock().unwrap().iter().any(|one| one == token);
            let status = if is_valid { 200 } else { 401 };
            return (status, json!({"email": "ann@example.org", "scope": "mail"}));
        }
        self.asked.lock().unwrap().push(format!("{path} {body}"));
        if path == "/device" {
            let address = format!("https://127.0.0.1:{}/activate", self.port);
            return (
                200,
                json!({"device_code": "dev-1", "user_code": "ABCD-EFGH", "verification_uri": address, "interval": 0, "expires_in": 60}),
            );
        }
        let mut answers = self.answers.lock().unwrap();
        let next = answers.first().cloned().unwrap_or((500, Value::Null));
        if answers.len() > 1 {
            answers.remove(0);
        }
        if let Some(token) = next.1["access_token"].as_str() {
            *self.valid.lock().unwrap() = vec![token.to_owned()];
        }
        next
    }

    fn settings(&self) -> OauthSettings {
        OauthSettings {
            device_url: format!("https://127.0.0.1:{}/device", self.port),
            token_url: format!("https://127.0.0.1:{}/token", self.port),
            client_id: "client-1".to_owned(),
            scope: "mail offline".to_owned(),
        }
    }
}

fn token(access: &str, refresh: &str, expires_in: u64) -> (u16, Value) {
    (
        200,
        json!({"access_token": access, "refresh_token": refresh, "token_type": "Bearer", "expires_in": expires_in}),
    )
}

fn pending(error: &str) -> (u16, Value) {
    (400, json!({ "error": error }))
}

/// Dovecot with accounts that this server vouches for.
struct World {
    dovecot: Dovecot,
    server: AuthServer,
    tools: MailTools,
    vault: Arc<Passwords>,
    _folder: tempfile::TempDir,
}

async fn world() -> Option<World> {
    let folder = tempfile::tempdir().unwrap();
    // Dovecot reads it as a user of its own.
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(folder.path(), mode).unwrap();
    let plain = AuthServer::default();
    let info = plain.token_info().await;
    let conf = folder.path().join("oauth2.conf");
    std::fs::write(&conf, format!("tokeninfo_url = http://127.0.0.1:{info}/info?access_token=\nusername_attribute = email\n")).unwrap();
    let more = format!(
        "auth_mechanisms = plain login xoauth2 oauthbearer\npassdb {{\n driver = oauth2\n mechanisms = xoauth2 oauthbearer\n args = {}\n}}",
        conf.display()
    );
    let dovecot = Dovecot::start_with(&more)?;
    let server = AuthServer::start(dovecot.folder(), &plain).await;
    let opened = format!("127.0.0.1:{}", server.port).parse().unwrap();
    let client = client(&dovecot.cert).with_opened(opened);
    let vault = Arc::new(Passwords::default());
    let tools = tools(dovecot.folder(), client, vault.clone());
    Some(World { dovecot, server, tools, vault, _folder: folder })
}

async fn add(
    accounts: &MailAccounts,
    dovecot: &Dovecot,
    settings: OauthSettings,
) -> (Result<(), String>, Vec<DeviceCode>) {
    let mut shown = Vec::new();
    let added = accounts.add_oauth(account(dovecot), settings, |code| shown.push(code.clone()));
    let added = added.await.map(drop).map_err(|error| error.to_string());
    (added, shown)
}

#[tokio::test]
async fn a_person_agrees_on_another_device_and_tokens_are_renewed() {
    let Some(world) = world().await else { return };
    let World { dovecot, server, tools, vault, .. } = &world;
    *server.answers.lock().unwrap() = vec![
        pending("authorization_pending"),
        pending("authorization_pending"),
        // It ends at once, so that the next login renews it.
        token("access-one", "refresh-one", 60),
        token("access-two", "refresh-two", 60),
        token("access-three", "refresh-three", 3_600),
    ];
    let (added, shown) = add(&tools.accounts, dovecot, server.settings()).await;
    assert_eq!(added, Ok(()), "{}", dovecot.log());
    assert_eq!((shown.len(), shown[0].code.as_str()), (1, "ABCD-EFGH"));
    dovecot.deliver("1.a", "From: bob@example.net\nSubject: Hi\n\nText\n");
    let checked = structured(tools, "check_email", json!({})).await;
    assert_eq!(checked["accounts"][0]["unread"], 1, "{checked}\n{}", dovecot.log());
    let asked = server.asked.lock().unwrap().clone();
    assert!(asked[0].contains("client_id=client-1&scope=mail+offline"), "{asked:?}");
    assert!(asked[1].contains("device_code=dev-1"), "{asked:?}");
    assert!(asked.iter().any(|one| one.contains("refresh_token=refresh-one")), "{asked:?}");
    // Every token is masked, and none is in the file of accounts.
    let masked = vault.masked.lock().unwrap().clone();
    for secret in ["access-one", "refresh-one", "access-two", "refresh-two"] {
        assert!(masked.iter().any(|one| one == secret), "{secret}");
    }
    let file = std::fs::read_to_string(dovecot.folder().join("mail.toml")).unwrap();
    assert!(file.contains("client-1") && !file.contains("refresh-"), "{file}");
}

#[tokio::test]
async fn a_login_that_is_refused_or_hostile_saves_nothing() {
    let Some(world) = world().await else { return };
    let World { dovecot, server, tools, .. } = &world;
    let taken_back = vec![token("a", "r", 60), pending("invalid_grant")];
    for (answers, part) in [
        (taken_back, "run `toolcrib mail add` again"),
        (vec![pending("access_denied")], "did not agree"),
        (vec![pending("expired_token")], "has ended before you agreed"),
        (
            vec![(200, json!({"access_token": "a b\r\nc", "refresh_token": "r"}))],
            "no usable access token",
        ),
        (vec![(200, json!({"access_token": "a"}))], "no usable refresh token"),
        (vec![(302, json!({}))], "no answer of OAuth"),
        // Dovecot does not know this token: the account is tested before it is saved.
        (vec![token("wrong", "r", 3_600)], "refuses the user name or password"),
    ] {
        *server.answers.lock().unwrap() = answers;
        if part.starts_with("refuses") {
            // What the server says is valid is another token.
            let valid = Arc::clone(&server.valid);
            tokio::spawn(async move {
                loop {
                    valid.lock().unwrap().clear();
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                }
            });
        }
        let (added, _) = add(&tools.accounts, dovecot, server.settings()).await;
        let error = added.unwrap_err();
        assert!(error.contains(part), "{error}");
        assert_eq!(tools.accounts.list().unwrap(), []);
    }
    let plain =
        OauthSettings { token_url: "http://127.0.0.1/token".to_owned(), ..server.settings() };
    let (added, shown) = add(&tools.accounts, dovecot, plain).await;
    assert!(added.unwrap_err().contains("begin with https://") && shown.is_empty());
}
