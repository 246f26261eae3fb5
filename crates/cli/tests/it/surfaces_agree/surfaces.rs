//! A daemon and the command line on the same files, and the comparison of their JSON.

use serde_json::Value;

use crate::support::{self, DaemonProcess, TestEnv};

/// A daemon, and the command line on the same files.
pub(super) struct Surfaces {
    pub(super) env: TestEnv,
    pub(super) daemon: DaemonProcess,
    pub(super) token: String,
}

impl Surfaces {
    #[track_caller]
    pub(super) fn start(env: TestEnv) -> Self {
        let daemon = DaemonProcess::start(&env, &[]);
        let file = daemon.ready["token_file"].as_str().unwrap();
        let token = std::fs::read_to_string(file).unwrap().trim().to_owned();
        Self { env, daemon, token }
    }

    /// Returns the status and the body of a response.
    #[track_caller]
    pub(super) fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let body = body.map(Value::to_string).unwrap_or_default();
        let answer = self.daemon.raw(&format!(
            "{method} /api/v1{path} HTTP/1.1\r\nHost: {{host}}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.token,
            body.len()
        ));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    #[track_caller]
    pub(super) fn ok(&self, method: &str, path: &str, body: Option<&Value>) -> Value {
        let (status, reply) = self.send(method, path, body);
        assert!((200..300).contains(&status), "{method} {path}: {status} {reply}");
        reply
    }

    /// Returns the JSON of a command, regardless of its exit code.
    #[track_caller]
    pub(super) fn command(&self, args: &[&str]) -> Value {
        let ended = self.env.run(&[args, &["--json"]].concat());
        assert!(!ended.stdout.is_empty(), "{args:?}: {ended:?}");
        support::json(&ended.stdout)
    }

    /// Fails unless the command has all members of the route's response, and besides these only its
    /// `own` members.
    #[track_caller]
    pub(super) fn agree(&self, args: &[&str], route: (&str, &str, Option<Value>), own: &[&str]) {
        let (method, path, body) = route;
        let of_route = self.ok(method, path, body.as_ref());
        let of_command = self.command(args);
        // A list is an array in the command, and a page in the route.
        let of_route = match (&of_command, of_route.get("items")) {
            (Value::Array(_), Some(items)) => items.clone(),
            _ => of_route,
        };
        let differences = differences(&of_command, &of_route, own, "");
        assert!(
            differences.is_empty(),
            "{args:?} and {method} {path}:\n{}",
            differences.join("\n")
        );
    }
}

/// Returns the differences between the JSON of a command and that of its route.
pub(super) fn differences(command: &Value, route: &Value, own: &[&str], at: &str) -> Vec<String> {
    match (command, route) {
        (Value::Object(command), Value::Object(route)) => {
            let mut all = Vec::new();
            // The meaning of asking depends on the caller: a terminal, or the inbox of the daemon.
            for (name, value) in route.iter().filter(|(name, _)| *name != "asking") {
                let at = format!("{at}.{name}");
                match command.get(name) {
                    Some(own_value) => all.extend(differences(own_value, value, own, &at)),
                    None => all.push(format!("{at}: only the route has it: {value}")),
                }
            }
            let extra = command.keys().filter(|name| !route.contains_key(*name));
            let extra = extra.filter(|name| !own.contains(&name.as_str()));
            all.extend(extra.map(|name| format!("{at}.{name}: only the command has it")));
            all
        }
        (Value::Array(command), Value::Array(route)) if command.len() == route.len() => {
            let pairs = command.iter().zip(route).enumerate();
            pairs
                .flat_map(|(n, (command, route))| {
                    differences(command, route, own, &format!("{at}[{n}]"))
                })
                .collect()
        }
        (command, route) if command == route => Vec::new(),
        (command, route) => vec![format!("{at}: the command says {command}, the route {route}")],
    }
}
