//! `toolcrib mcp auth`: logins to servers that require them, correct ones and hostile ones.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::json;

use crate::support::TestEnv;
use crate::support::oauth_mcp_server::{Manner, Protected, get};

/// A login in progress: its output, and its input.
struct Login {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Login {
    fn start(env: &TestEnv, server: &Protected, more: &[&str]) -> Self {
        let target = server.target();
        let args = [&["mcp", "auth", "tracker", "--allow-net", &target], more].concat();
        let mut command = env.command(&args);
        // There is no desktop, so no browser is opened.
        command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdin = child.stdin.take().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdin, stdout }
    }

    /// Returns the address that a person is to open.
    fn address(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Returns the exit code, and the complete output.
    fn end(self) -> (i32, String) {
        let Self { mut child, stdin, mut stdout } = self;
        drop(stdin);
        let (mut said, mut errors) = (String::new(), String::new());
        stdout.read_to_string(&mut said).unwrap();
        child.stderr.take().unwrap().read_to_string(&mut errors).unwrap();
        (child.wait().unwrap().code().unwrap(), said + &errors)
    }
}

fn added(server: &Protected) -> TestEnv {
    let env = TestEnv::new();
    env.run(&["mcp", "add", "tracker", "--url", &server.url()]).code(0);
    env
}

/// Logs in as a person would.
fn log_in(env: &TestEnv, server: &Protected) {
    let mut login = Login::start(env, server, &[]);
    let back = Protected::agree(&login.address());
    assert!(get(&back).contains("200 OK"));
    let (code, said) = login.end();
    assert_eq!(code, 0, "{said}");
}

fn call(env: &TestEnv, server: &Protected) -> (String, i32) {
    let target = server.target();
    let more = ["--policy", "auto", "--allow-net", &target];
    let (reply, code) = env.call("tracker__whoami", &json!({}), &more);
    (reply.to_string(), code)
}

/// Returns whether a file below a folder contains a text.
fn is_written(folder: &Path, text: &str) -> bool {
    std::fs::read_dir(folder).into_iter().flatten().flatten().any(|entry| {
        let path = entry.path();
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            return is_written(&path, text);
        }
        let bytes = std::fs::read(&path).unwrap_or_default();
        bytes.windows(text.len()).any(|part| part == text.as_bytes())
    })
}

#[test]
fn a_person_logs_in_and_the_token_is_never_shown() {
    let server = Protected::start(Manner::default());
    let env = added(&server);
    let target = server.target();
    let test = ["mcp", "test", "tracker", "--accept", "--allow-net", &target];
    let needs = "needs authorization: run `toolcrib mcp auth tracker`";
    env.run(&test).code(1).says(&[needs]);
    env.run(&["mcp", "list"]).code(0).says(&[needs]);
    let mut login = Login::start(&env, &server, &[]);
    let url = login.address();
    assert!(url.contains("code_challenge_method=S256") && url.contains("&resource="), "{url}");
    let back = Protected::agree(&url);
    // A forged response neither ends the login nor gets a token.
    let (address, _) = back.split_once('?').unwrap();
    assert!(get(&format!("{address}?code=stolen&state=guessed")).contains("400"));
    assert!(get(&address.replace("/callback", "/other")).contains("404"));
    assert_eq!(server.count("POST /token"), 0);
    assert!(get(&back).contains("200 OK"));
    let (code, said) = login.end();
    assert_eq!(code, 0, "{said}");
    let tested = env.run(&test).code(0).says(&["tracker is connected to protected"]);
    let listed = env.run(&["mcp", "list", "--json"]).code(0);
    assert!(listed.stdout.contains("\"authorization\":\"granted\""), "{listed:?}");
    // The server echoes the token, and no model gets to read it.
    let (reply, code) = call(&env, &server);
    assert_eq!(code, 0, "{reply}");
    assert!(reply.contains("you sent"), "{reply}");
    for token in server.tokens() {
        for text in [&reply, &said, &format!("{tested:?}{listed:?}")] {
            assert!(!text.contains(&token), "{text}");
        }
        assert!(!is_written(env.outside(), &token), "{token} is on the disk");
    }
    assert_eq!(server.count("POST /register"), 1);
    env.run(&["mcp", "auth", "tracker", "--forget"]).code(0).says(&["is forgotten"]);
    env.run(&["mcp", "auth", "tracker", "--forget"]).code(0).says(&["no authorization"]);
    let (reply, code) = call(&env, &server);
    assert_eq!(code, 3, "{reply}");
    assert!(reply.contains("run `toolcrib mcp auth tracker`"), "{reply}");
}

#[test]
fn far_from_the_browser_the_address_is_pasted() {
    let server = Protected::start(Manner::default());
    let env = added(&server);
    let mut login = Login::start(&env, &server, &["--no-browser"]);
    let back = Protected::agree(&login.address());
    writeln!(login.stdin, "no address at all").unwrap();
    writeln!(login.stdin, "{}x", back.split('&').next().unwrap()).unwrap();
    writeln!(login.stdin, "{back}").unwrap();
    let (code, said) = login.end();
    assert_eq!(code, 0, "{said}");
    assert_eq!(said.matches("does not belong to this login").count(), 2, "{said}");
}

#[test]
fn who_says_no_is_not_logged_in() {
    let server = Protected::start(Manner { declines: true, ..Manner::default() });
    let env = added(&server);
    let mut login = Login::start(&env, &server, &[]);
    let back = Protected::agree(&login.address());
    assert!(get(&back).contains("400"));
    let (code, said) = login.end();
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("refused: access_denied"), "{said}");
    assert_eq!(server.count("POST /token"), 0);
}

#[test]
fn a_token_that_ended_is_renewed_until_that_is_refused() {
    let server = Protected::start(Manner { holds: Some(0), ..Manner::default() });
    let env = added(&server);
    log_in(&env, &server);
    let renewed = || server.count("grant_type=refresh_token");
    env.run(&["mcp", "test", "tracker", "--accept", "--allow-net", &server.target()]).code(0);
    assert_eq!(renewed(), 0, "not for each request, whatever the server says of its life");
    // Each refresh token is valid once.
    for times in 1..3 {
        server.end_tokens();
        let (reply, code) = call(&env, &server);
        assert_eq!(code, 0, "{reply}");
        assert_eq!(renewed(), times);
    }
    // The refresh token is no longer valid, and is not tried twice.
    server.change(|manner| manner.ends = true);
    server.end_tokens();
    for _ in 0..2 {
        let (reply, code) = call(&env, &server);
        assert_eq!(code, 3, "{reply}");
        assert!(reply.contains("run `toolcrib mcp auth tracker`"), "{reply}");
        assert_eq!(renewed(), 3);
    }
}

#[test]
fn more_is_asked_for_when_a_call_needs_it_and_not_for_ever() {
    let server = Protected::start(Manner { calls_need: Some("write"), ..Manner::default() });
    let env = added(&server);
    log_in(&env, &server);
    env.run(&["mcp", "test", "tracker", "--accept", "--allow-net", &server.target()]).code(0);
    let (reply, code) = call(&env, &server);
    assert_eq!(code, 3, "{reply}");
    assert!(reply.contains("run `toolcrib mcp auth tracker`"), "{reply}");
    let mut login = Login::start(&env, &server, &[]);
    let url = login.address();
    assert!(url.contains("scope=write"), "{url}");
    assert!(get(&Protected::agree(&url)).contains("200 OK"));
    assert_eq!(login.end().0, 0);
    let (reply, code) = call(&env, &server);
    assert_eq!(code, 0, "{reply}");
    // The server requests the same scope again, and the client asks once more, because grants
    // differ between persons.
    server.change(|manner| manner.wants_more = true);
    assert_eq!(call(&env, &server).1, 3);
    log_in(&env, &server);
    let (reply, code) = call(&env, &server);
    assert_eq!(code, 3, "{reply}");
    let (code, said) = Login::start(&env, &server, &[]).end();
    assert_eq!(code, 1, "{said}");
    assert!(said.contains("write although they were asked for already"), "{said}");
}

#[test]
fn hostile_metadata_get_nothing() {
    let far = Protected::start(Manner::default());
    let check = |manner: Manner, words: &str| {
        let shown = format!("{manner:?}");
        let server = Protected::start(manner);
        let env = added(&server);
        let (code, said) = Login::start(&env, &server, &[]).end();
        assert_eq!(code, 1, "{shown}: {said}");
        assert!(said.contains(words), "{shown}: {said}");
        assert_eq!(server.count("POST /token"), 0, "{shown}");
    };
    let resource = |resource| Manner { resource, ..Manner::default() };
    let issuer = |issuer| Manner { issuer, ..Manner::default() };
    check(resource(json!({"resource": "https://other.example/mcp"})), "about another server");
    check(resource(json!({"authorization_servers": []})), "no authorization server");
    check(resource(json!({"authorization_servers": ["http://10.0.0.1"]})), "not over https");
    check(resource(json!({"authorization_servers": ["https://10.0.0.1"]})), "refused by");
    check(resource(json!({"authorization_servers": ["https://169.254.169.254"]})), "refused by");
    let elsewhere = format!("http://{}", far.target());
    check(resource(json!({"authorization_servers": [elsewhere]})), "refused by");
    check(issuer(json!({"issuer": "https://other.example"})), "those of another");
    check(issuer(json!({"token_endpoint": "http://10.0.0.1/token"})), "not over https");
    check(issuer(json!({"authorization_endpoint": "file:///etc/passwd"})), "not over https");
    check(issuer(json!({"code_challenge_methods_supported": ["plain"]})), "PKCE");
    check(issuer(json!({"registration_endpoint": null})), "registers no clients");
    check(Manner { padding: 2 << 20, ..Manner::default() }, "is longer than");
    assert_eq!(far.seen(), Vec::<String>::new(), "nobody was sent there");
}

#[test]
fn a_program_and_a_header_of_ones_own_need_no_login() {
    let env = TestEnv::new();
    env.run(&["mcp", "add", "files", "--", "true"]).code(0);
    env.run(&["mcp", "auth", "files"]).code(2).says(&["is a program"]);
    env.run(&["mcp", "auth", "none"]).code(4);
    let url =
        ["mcp", "add", "own", "--url", "http://127.0.0.1:9/mcp", "--header", "Authorization=x"];
    env.run(&url).code(0);
    env.run(&["mcp", "auth", "own"]).code(2).says(&["a header of mcp.toml"]);
    env.run(&["mcp", "add", "far", "--url", "http://mcp.example/mcp"]).code(0);
    env.run(&["mcp", "auth", "far"]).code(2).says(&["without TLS", "https address"]);
}
