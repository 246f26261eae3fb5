//! Checks the restrictions that the sandbox of this host enforces: by tests, not from version
//! numbers.

use toolcrib_sandbox::userland::{ShellTarget, State};
use toolcrib_sandbox::{Backend as _, Feature, Level, Local};

use super::Finding;
use crate::bootstrap;
use crate::config::{self, Env};

const NAME: &str = "sandbox";

pub(super) async fn check() -> Vec<Finding> {
    let probe = Local::new().probe().await;
    let words = format!("programs run at the isolation level {}", probe.strongest);
    let mut found = vec![match probe.strongest {
        Level::None => {
            Finding::warn(NAME, "this host cannot isolate programs: they have all of your rights")
        }
        Level::Reduced => Finding::warn(NAME, words),
        _ => Finding::ok(NAME, words),
    }];
    let all = probe.features.iter().chain(&probe.limits);
    found.extend(all.map(|Feature { name, works, detail }| {
        let works = if *works { "works" } else { "does not work" };
        let detail = if detail.is_empty() { String::new() } else { format!(" ({detail})") };
        Finding::ok(NAME, format!("{name} {works}{detail}"))
    }));
    found.extend(userland());
    found
}

/// Checks the Linux userland, unless it was never installed. Another check reports a configuration
/// that cannot be read.
fn userland() -> Option<Finding> {
    let config = config::load(&Env::from_process(), None).ok()?;
    let status = bootstrap::userland(&config)?.status();
    let words = format!("the Linux userland is {}", status.state.message());
    match status.state {
        State::Absent if config.shell.target != Some(ShellTarget::Userland) => None,
        State::Ready(_) => Some(Finding::ok(NAME, words)),
        _ => Some(Finding::warn(NAME, words)),
    }
}
