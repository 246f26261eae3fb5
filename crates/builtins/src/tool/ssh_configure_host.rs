//! `ssh_configure_host`: configures an SSH host alias, so that commands in the sandbox can use
//! `ssh NAME`.
//!
//! It writes one block between markers into the SSH configuration in the programs' own home folder.
//! The write happens inside the sandbox, so a link that a program planted there cannot redirect it.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use toolcrib_core::{
    Access, Assessment, CallCtx, Effect, ErrorType, Permission, Risk, Tool, ToolError, ToolOutput,
    ToolSpec, Trust, defaults,
};
use toolcrib_net::Host;
use toolcrib_sandbox::Network;
use toolcrib_sandbox::userland::ShellTarget;

use super::{base_spec, examples, text_output};
use crate::program_runner::{Program, ProgramRunner};

/// Characters of a name, a user or a host.
const NAME: usize = 253;
/// Longest line of known hosts, in bytes; the largest common keys take a third of it.
const LINE: usize = 8 * 1024;
/// Largest configuration file that is edited, in bytes.
const CONFIG: usize = 128 * 1024;

/// `ProxyCommand` for networks whose only route out is the egress proxy: bash opens a CONNECT
/// tunnel and copies the bytes, so no other program is needed.
const THROUGH_PROXY: &str = r#"bash -c 'exec 3<>/dev/tcp/127.0.0.1/3128 && printf "CONNECT %%s:%%s HTTP/1.1\r\nHost: %%s:%%s\r\n\r\n" "$0" "$1" "$0" "$1" >&3 && IFS= read -r s <&3 && [[ $s == *" 200"* ]] || exit 1; while IFS= read -r s <&3 && [[ ${#s} -gt 1 ]]; do :; done; cat <&3 & cat >&3; wait' %h %p"#;

/// Handler of `ssh_configure_host`.
pub(crate) struct SshConfigureHost {
    pub(crate) bench: Arc<ProgramRunner>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Name to be used with ssh, such as build-box.
    alias: String,
    /// Host name or address.
    hostname: String,
    /// User on that host.
    user: Option<String>,
    /// Port. Default: 22.
    #[schemars(range(min = 1, max = 65535))]
    port: Option<u32>,
    /// Private key: a path in the home folder of programs, such as ~/.ssh/id_ed25519.
    identity_file: Option<String>,
    /// Line for known_hosts that pins the key of the host.
    known_hosts_line: Option<String>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "ssh_configure_host",
        "Configure SSH host",
        "Register a named SSH host for commands in the sandbox, so that `ssh NAME` works in execute_shell_command. Writes only its own block of the SSH configuration; calling it again with the same alias replaces the block.",
    );
    spec.group = Some("shell".to_owned());
    spec.parameter_aliases = super::aliases([("name", "alias"), ("host", "hostname")]);
    (spec.effect, spec.risk) = (Effect::Idempotent, Risk::Critical);
    spec.permissions = vec![Permission::Exec];
    spec.timeout = defaults::TIMEOUT_FILE;
    spec.default_enabled = false;
    spec.trust = Trust::Tool;
    spec.examples = examples([(
        "Let me work on the build machine",
        json!({"alias": "build", "hostname": "build.example.com", "user": "ci"}),
    )]);
    spec
}

impl Tool for SshConfigureHost {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        let mut spec = spec();
        // Commands without a sandbox use the person's own SSH configuration, which this tool does
        // not write.
        if self.bench.program_policy().shell_target() != ShellTarget::Native {
            spec.enabled_with = Some("execute_shell_command".to_owned());
        }
        spec
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        check(args)?;
        let summary = format!("name {} \"{}\" for ssh", args.hostname, args.alias);
        let assessment = Assessment::from_spec(spec).with_summary(summary);
        Ok(assessment.with_lock("ssh configuration", Access::Exclusive))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        check(&args)?;
        let confines = self.bench.program_policy();
        if confines.home.is_none() {
            return Err(ToolError::new(
                ErrorType::NotConfigured,
                "Programs have no home folder here, so there is no SSH configuration. Tell the user that `sandbox.home` in the configuration names one.",
            ));
        }
        let is_proxied = matches!(confines.network, Network::Hosts(_));
        let before = self.read(ctx, "config").await?;
        self.write(ctx, "config", &upsert(&before, &args.alias, &block(&args, is_proxied))).await?;
        if let Some(line) = &args.known_hosts_line {
            let known = self.read(ctx, "known_hosts").await?;
            if !known.lines().any(|known| known == line.trim()) {
                let newline = if known.is_empty() || known.ends_with('\n') { "" } else { "\n" };
                let text = format!("{known}{newline}{}\n", line.trim());
                self.write(ctx, "known_hosts", &text).await?;
            }
        }
        Ok(text_output(format!("`ssh {}` is configured. {}", args.alias, self.way(&args))))
    }
}

impl SshConfigureHost {
    /// Returns whether the host can be reached, and the remaining steps.
    fn way(&self, args: &Args) -> String {
        let port = args.port.unwrap_or(22);
        let allowed = match &self.bench.program_policy().network {
            Network::Full => true,
            Network::None => false,
            Network::Hosts(hosts) => {
                u16::try_from(port).is_ok_and(|port| hosts.allows(&named(&args.hostname), port))
            }
        };
        if allowed {
            return "The sandbox allows that host.".to_owned();
        }
        format!(
            "The sandbox does not allow that host yet: tell the user to add \"{}:{port}\" to `sandbox.allow_hosts` in the configuration.",
            args.hostname
        )
    }

    async fn read(&self, ctx: &CallCtx, file: &str) -> Result<String, ToolError> {
        let script = "[ ! -e ~/.ssh/\"$1\" ] || cat ~/.ssh/\"$1\"";
        let program = Program::new("sh").args(["-c", script, "sh", file]).keep(2 * CONFIG);
        let done = self.bench.run(ctx, program).await?;
        if !done.succeeded() || done.stdout.is_cut() || done.stdout.total > CONFIG as u64 {
            return Err(unusable(file));
        }
        String::from_utf8(done.stdout.head).map_err(|_| unusable(file))
    }

    async fn write(&self, ctx: &CallCtx, file: &str, text: &str) -> Result<(), ToolError> {
        let script = "umask 077; mkdir -p ~/.ssh && cat > ~/.ssh/\"$1.new\" && mv -f ~/.ssh/\"$1.new\" ~/.ssh/\"$1\"";
        let program = Program::new("sh").args(["-c", script, "sh", file]).stdin(text);
        let done = self.bench.run(ctx, program).await?;
        if done.succeeded() { Ok(()) } else { Err(unusable(file)) }
    }
}

fn unusable(file: &str) -> ToolError {
    ToolError::execution(format!(
        "~/.ssh/{file} in the home folder of programs cannot be read or changed, so nothing was. Look at it with execute_shell_command."
    ))
}

/// Checks that the schema cannot express: each value must stay a single value on its line.
fn check(args: &Args) -> Result<(), ToolError> {
    let plain = |text: &str, more: &str| {
        !text.is_empty()
            && text.len() <= NAME
            && !text.starts_with('-')
            && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
    };
    let wrong = |key: &str, form: &str| {
        Err(ToolError::validation(format!("`{key}` is not usable: {form}.")))
    };
    if !plain(&args.alias, "._-") {
        return wrong("alias", "write letters, digits, `.`, `_` and `-`");
    }
    if !plain(&args.hostname, ".:-_") {
        return wrong("hostname", "write the name or the address of a host");
    }
    if args.user.as_ref().is_some_and(|user| !plain(user, "._-@")) {
        return wrong("user", "write the name of a user");
    }
    if args.port.is_some_and(|port| !(1..=65535).contains(&port)) {
        return wrong("port", "write a number from 1 to 65535");
    }
    if args.identity_file.as_ref().is_some_and(|file| !plain(file, "._-/~") || file.contains(".."))
    {
        return wrong("identity_file", "write a plain path such as ~/.ssh/id_ed25519");
    }
    let is_line = |line: &str| {
        let words = line.split_whitespace().count();
        line.len() <= LINE && words >= 3 && !line.trim().contains(['\n', '\r', '\0'])
    };
    if args.known_hosts_line.as_ref().is_some_and(|line| !is_line(line)) {
        return wrong("known_hosts_line", "write one line of known_hosts: host, kind of key, key");
    }
    Ok(())
}

/// Parses a host in the form of the allowlist.
fn named(host: &str) -> Host {
    match host.parse() {
        Ok(address) => Host::Addr(address),
        Err(_) => Host::Name(host.to_ascii_lowercase()),
    }
}

fn begin(alias: &str) -> String {
    format!("# begin toolcrib {alias}")
}

fn end(alias: &str) -> String {
    format!("# end toolcrib {alias}")
}

/// Renders the configuration block of a host.
fn block(args: &Args, is_proxied: bool) -> String {
    let mut lines = vec![begin(&args.alias), format!("Host {}", args.alias)];
    let mut set = |key: &str, value: &str| lines.push(format!("  {key} {value}"));
    set("HostName", &args.hostname);
    if let Some(user) = &args.user {
        set("User", user);
    }
    if let Some(port) = args.port {
        set("Port", &port.to_string());
    }
    if let Some(file) = &args.identity_file {
        set("IdentityFile", file);
    }
    set("ServerAliveInterval", "30");
    set("ServerAliveCountMax", "3");
    set("StrictHostKeyChecking", "accept-new");
    if is_proxied {
        set("ProxyCommand", THROUGH_PROXY);
    }
    lines.push(end(&args.alias));
    lines.join("\n") + "\n"
}

/// Replaces the block of this alias in the configuration. A new block goes first, since ssh uses
/// the first value.
fn upsert(before: &str, alias: &str, block: &str) -> String {
    let (begin, end) = (begin(alias), end(alias));
    let mut rest = String::new();
    let mut is_inside = false;
    for line in before.lines() {
        is_inside |= line == begin;
        if !is_inside {
            rest.push_str(line);
            rest.push('\n');
        }
        is_inside &= line != end;
    }
    let gap = if rest.is_empty() || rest.starts_with('\n') { "" } else { "\n" };
    format!("{block}{gap}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args(alias: &str) -> Args {
        Args {
            alias: alias.to_owned(),
            hostname: "h.example".to_owned(),
            user: Some("me".to_owned()),
            port: Some(2222),
            identity_file: None,
            known_hosts_line: None,
        }
    }

    #[test]
    fn a_block_replaces_its_own_and_nothing_else() {
        let one = block(&args("a"), false);
        assert_eq!(
            one,
            "# begin toolcrib a\nHost a\n  HostName h.example\n  User me\n  Port 2222\n  ServerAliveInterval 30\n  ServerAliveCountMax 3\n  StrictHostKeyChecking accept-new\n# end toolcrib a\n"
        );
        assert_eq!(upsert("", "a", &one), one);
        let own = "Host mine\n  User x\n";
        let both = upsert(own, "a", &one);
        assert_eq!(both, format!("{one}\n{own}"));
        assert_eq!(upsert(&both, "a", &one), both);
        let two = upsert(&both, "b", &block(&args("b"), false));
        assert!(two.contains(&one) && two.contains(own) && two.starts_with("# begin toolcrib b\n"));
    }

    #[test]
    fn values_stay_in_their_line() {
        let check = |change: fn(&mut Args), fine: bool| {
            let mut args = args("a");
            change(&mut args);
            assert_eq!(super::check(&args).is_ok(), fine, "{args:?}");
        };
        check(|_| {}, true);
        check(|args| args.hostname = "::1".into(), true);
        check(|args| args.identity_file = Some("~/.ssh/id_ed25519".into()), true);
        check(|args| args.known_hosts_line = Some("h ssh-ed25519 AAAA".into()), true);
        check(|args| args.alias = "a b".into(), false);
        check(|args| args.alias = "*".into(), false);
        check(|args| args.hostname = "-oProxyCommand=x".into(), false);
        check(|args| args.hostname = "h\n  ProxyCommand x".into(), false);
        check(|args| args.user = Some("me\nHost *".into()), false);
        check(|args| args.port = Some(70000), false);
        check(|args| args.identity_file = Some("../x".into()), false);
        check(|args| args.known_hosts_line = Some("a b c\nd".into()), false);
        check(|args| args.known_hosts_line = Some("short".into()), false);
    }
}
