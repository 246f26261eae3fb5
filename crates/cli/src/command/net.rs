//! `toolcrib net check`: would our HTTP tools connect?
//!
//! Exit codes: 0 = allow; 5 = deny; with --lines 0 whatever the verdicts.

use serde_json::json;
use toolcrib_app::net::{
    AddressPolicy, Check, CheckRequest, Resolve, StaticResolver, SystemResolver, Verdict, answer,
    check,
};

use crate::cli::NetCheck;
use crate::lines;
use crate::output::{self, Failure};
use crate::world;

pub(crate) fn run(command: &NetCheck, json: bool) -> Result<u8, Failure> {
    let policy = AddressPolicy::allowing(&command.allow_net)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let resolver = resolver(&command.resolve)?;
    let Some(url) = command.url.as_deref().filter(|_| !command.lines) else {
        return filter(&policy, &*resolver);
    };
    let checked = world::block_on(async { Ok(check(url, &*resolver, &policy).await) })?;
    if json {
        output::document(&json!(checked), true)?;
    } else {
        output::data(&sentence(&checked))?;
    }
    Ok(if checked.verdict == Verdict::Allow { 0 } else { 5 })
}

/// With answers given, nothing else is looked up: a check says what it was told.
fn resolver(given: &[String]) -> Result<Box<dyn Resolve>, Failure> {
    if given.is_empty() {
        return Ok(Box::new(SystemResolver));
    }
    let fixed = StaticResolver::parse(given).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Box::new(fixed))
}

fn sentence(check: &Check) -> String {
    match (&check.denied, check.address) {
        (Some(denied), _) => format!("deny: {denied}"),
        (None, Some(address)) => format!("{}: {address} ({})", word(check.verdict), check.rule),
        (None, None) => format!("{} ({})", word(check.verdict), check.rule),
    }
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Deny => "deny",
    }
}

fn filter(policy: &AddressPolicy, resolver: &dyn Resolve) -> Result<u8, Failure> {
    let runtime = world::runtime()?;
    let code = lines::answer(|request: CheckRequest| {
        let reply = runtime.block_on(answer(request, resolver, policy));
        Ok(lines::object(json!(reply)))
    });
    runtime.shutdown_background();
    code
}
