//! An MCP server over HTTP that requires authorization, and its authorization server, on one free
//! port: correct ones or hostile ones.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use serde_json::{Value, json};

/// The deviations from correct behavior.
#[derive(Debug, Clone, Default)]
pub(crate) struct Manner {
    /// The metadata of the resource, merged over the correct ones.
    pub(crate) resource: Value,
    /// The metadata of the authorization server, merged over the correct ones.
    pub(crate) issuer: Value,
    /// Number of bytes of white space before its metadata.
    pub(crate) padding: usize,
    /// Lifetime of tokens in seconds.
    pub(crate) holds: Option<u64>,
    /// Whether the server refuses to renew tokens.
    pub(crate) ends: bool,
    /// Whether the person declines.
    pub(crate) declines: bool,
    /// The scope that calls require, and that is not requested at first.
    pub(crate) calls_need: Option<&'static str>,
    /// Whether the server also rejects that scope.
    pub(crate) wants_more: bool,
}

#[derive(Default)]
struct State {
    manner: Manner,
    /// Method, path and body of every request.
    seen: Vec<String>,
    given: usize,
    access: String,
    refresh: String,
    scopes: String,
}

/// The server, which ends when this is dropped.
pub(crate) struct Protected {
    address: SocketAddr,
    stop: Arc<AtomicBool>,
    state: Arc<Mutex<State>>,
    thread: Option<JoinHandle<()>>,
}

struct Asked {
    method: String,
    path: String,
    query: String,
    bearer: String,
    body: String,
}

impl Protected {
    pub(crate) fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let state = Arc::new(Mutex::new(State { manner, ..State::default() }));
        let (stopped, shared) = (Arc::clone(&stop), Arc::clone(&state));
        let thread = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                // A client that disconnects in the middle is not a failure.
                let _ = serve(&stream, &format!("http://{address}"), &shared);
            }
        });
        Self { address, stop, state, thread: Some(thread) }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    /// Returns the target for `--allow-net`.
    pub(crate) fn target(&self) -> String {
        self.address.to_string()
    }

    /// Returns method, path and body of every request so far.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.state.lock().unwrap().seen.clone()
    }

    pub(crate) fn count(&self, part: &str) -> usize {
        self.seen().iter().filter(|seen| seen.contains(part)).count()
    }

    /// Changes the behavior from now on.
    pub(crate) fn change(&self, change: impl FnOnce(&mut Manner)) {
        change(&mut self.state.lock().unwrap().manner);
    }

    /// Invalidates all issued tokens.
    pub(crate) fn end_tokens(&self) {
        self.state.lock().unwrap().access.clear();
    }

    /// Returns every value that must not be shown.
    pub(crate) fn tokens(&self) -> Vec<String> {
        let given = self.state.lock().unwrap().given;
        (1..=given).flat_map(|n| [access(n), refresh(n)]).collect()
    }

    /// Returns the address to which a browser is redirected from this address.
    pub(crate) fn agree(url: &str) -> String {
        let answer = get(url);
        let location = answer.lines().find_map(|line| line.strip_prefix("location: "));
        location.unwrap_or_else(|| panic!("{answer}")).trim().to_owned()
    }
}

impl Drop for Protected {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let woken = TcpStream::connect(self.address).is_ok();
        if let Some(thread) = self.thread.take().filter(|_| woken) {
            let _ = thread.join();
        }
    }
}

/// Sends a `GET` request like a browser; returns the complete response.
pub(crate) fn get(url: &str) -> String {
    let rest = url.strip_prefix("http://").unwrap();
    let (host, path) = rest.split_once('/').unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn access(n: usize) -> String {
    format!("access-token-number-{n}-of-this-test")
}

fn refresh(n: usize) -> String {
    format!("refresh-token-number-{n}-of-this-test")
}

fn read(stream: &TcpStream) -> std::io::Result<Asked> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (mut length, mut bearer) = (0, String::new());
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.trim().parse().unwrap_or(0),
            "authorization" => value.trim().trim_start_matches("Bearer ").clone_into(&mut bearer),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    Ok(Asked { method, path, query, bearer, body: String::from_utf8_lossy(&body).into_owned() })
}

fn serve(mut stream: &TcpStream, own: &str, state: &Mutex<State>) -> std::io::Result<()> {
    let asked = read(stream)?;
    if asked.method.is_empty() {
        return Ok(());
    }
    let mut state = state.lock().unwrap();
    state.seen.push(format!("{} {} {}", asked.method, asked.path, asked.body));
    let (status, header, body) = answer(&asked, own, &mut state);
    let (length, padding) = (body.len() + state.manner.padding, state.manner.padding);
    let padding = if asked.path.contains(".well-known") { padding } else { 0 };
    let length = if padding == 0 { body.len() } else { length };
    write!(
        stream,
        "HTTP/1.1 {status} X\r\n{header}content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{}{body}",
        " ".repeat(padding)
    )
}

fn merged(mut right: Value, over: &Value) -> String {
    for (key, value) in over.as_object().into_iter().flatten() {
        right[key] = value.clone();
    }
    right.to_string()
}

fn value(pairs: &str, name: &str) -> String {
    let found = pairs.split('&').filter_map(|pair| pair.split_once('='));
    let found = found.filter(|(own, _)| *own == name).map(|(_, value)| value).next();
    let mut text = Vec::new();
    let mut bytes = found.unwrap_or_default().bytes();
    while let Some(byte) = bytes.next() {
        text.push(match byte {
            b'+' => b' ',
            b'%' => {
                let hex: String = bytes.by_ref().take(2).map(char::from).collect();
                u8::from_str_radix(&hex, 16).unwrap()
            }
            byte => byte,
        });
    }
    String::from_utf8(text).unwrap()
}

fn answer(asked: &Asked, own: &str, state: &mut State) -> (u16, String, String) {
    let none = String::new();
    match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/.well-known/oauth-protected-resource/mcp") => {
            let right = json!({"resource": format!("{own}/mcp"), "authorization_servers": [own]});
            (200, none, merged(right, &state.manner.resource))
        }
        ("GET", "/.well-known/oauth-authorization-server") => {
            let right = json!({
                "issuer": own,
                "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"),
                "registration_endpoint": format!("{own}/register"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported": ["none"],
                "authorization_response_iss_parameter_supported": true,
            });
            (200, none, merged(right, &state.manner.issuer))
        }
        ("POST", "/register") => (201, none, json!({"client_id": "registered"}).to_string()),
        ("GET", "/authorize") => {
            let back = value(&asked.query, "redirect_uri");
            let what = if state.manner.declines { "error=access_denied" } else { "code=the-code" };
            state.scopes = value(&asked.query, "scope");
            let sent = value(&asked.query, "state");
            (302, format!("location: {back}?{what}&state={sent}&iss={own}\r\n"), none)
        }
        ("POST", "/token") => token(asked, state),
        ("POST", "/mcp") => mcp(asked, own, state),
        _ => (404, none, "{}".to_owned()),
    }
}

fn token(asked: &Asked, state: &mut State) -> (u16, String, String) {
    let refuse = |error: &str| (400, String::new(), json!({"error": error}).to_string());
    let good = match value(&asked.body, "grant_type").as_str() {
        "authorization_code" => value(&asked.body, "code") == "the-code",
        "refresh_token" => {
            !state.manner.ends && value(&asked.body, "refresh_token") == state.refresh
        }
        _ => false,
    };
    if !good {
        return refuse("invalid_grant");
    }
    state.given += 1;
    (state.access, state.refresh) = (access(state.given), refresh(state.given));
    let mut given = json!({"access_token": state.access, "token_type": "Bearer", "refresh_token": state.refresh});
    if let Some(holds) = state.manner.holds {
        given["expires_in"] = json!(holds);
    }
    (200, String::new(), given.to_string())
}

fn mcp(asked: &Asked, own: &str, state: &State) -> (u16, String, String) {
    let metadata = format!("{own}/.well-known/oauth-protected-resource/mcp");
    let challenge =
        |more: &str| format!("www-authenticate: Bearer resource_metadata=\"{metadata}\"{more}\r\n");
    if state.access.is_empty() || asked.bearer != state.access {
        return (401, challenge(""), "{}".to_owned());
    }
    let message: Value = serde_json::from_str(&asked.body).unwrap_or_default();
    let result = match message["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "protected", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "whoami", "inputSchema": {"type": "object"}}]}),
        "tools/call" => {
            if let Some(scope) = state.manner.calls_need
                && (state.manner.wants_more || !state.scopes.split(' ').any(|own| own == scope))
            {
                let more = format!(", error=\"insufficient_scope\", scope=\"{scope}\"");
                return (403, challenge(&more), "{}".to_owned());
            }
            // The server echoes the token, which it should not do.
            json!({"content": [{"type": "text", "text": format!("you sent {}", asked.bearer)}]})
        }
        method if method.starts_with("notifications/") => {
            return (202, String::new(), String::new());
        }
        _ => {
            let error = json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32601, "message": "no such method"}});
            return (200, String::new(), error.to_string());
        }
    };
    let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    (200, String::new(), answer.to_string())
}
