//! `toolcrib net check`: checks whether HTTP tools would connect to a URL.
//!
//! Exit codes: 0 = allow; 5 = deny; with --lines 0 for any verdicts.

use serde_json::json;
use toolcrib_net::{
    AddressPolicy, Check, CheckRequest, Resolve, StaticResolver, SystemResolver, Verdict, check,
    check_all,
};

use crate::bootstrap;
use crate::clap_args::NetCheck;
use crate::jsonl;
use crate::output::{self, Failure};

pub(crate) fn run(command: &NetCheck, json: bool) -> Result<u8, Failure> {
    let policy = AddressPolicy::with_allowed(&command.allow_net)
        .map_err(|error| Failure::usage(error.to_string()))?;
    let resolver = resolver(&command.resolve)?;
    let Some(url) = command.url.as_deref().filter(|_| !command.lines) else {
        return check_jsonl(&policy, &*resolver);
    };
    let checked = bootstrap::block_on(async { Ok(check(url, &*resolver, &policy).await) })?;
    if json {
        output::print_json(&json!(checked), true)?;
    } else {
        output::print_line(&check_text(&checked))?;
    }
    Ok(if checked.verdict == Verdict::Allow { 0 } else { 5 })
}

/// Returns a resolver. If answers are given, no other names are looked up, so that the result
/// depends only on the arguments.
fn resolver(given: &[String]) -> Result<Box<dyn Resolve>, Failure> {
    if given.is_empty() {
        return Ok(Box::new(SystemResolver));
    }
    let fixed = StaticResolver::parse(given).map_err(|error| Failure::usage(error.to_string()))?;
    Ok(Box::new(fixed))
}

fn check_text(check: &Check) -> String {
    match (&check.denied, check.address) {
        (Some(denied), _) => format!("deny: {denied}"),
        (None, Some(address)) => {
            format!("{}: {address} ({})", verdict_word(check.verdict), check.rule)
        }
        (None, None) => format!("{} ({})", verdict_word(check.verdict), check.rule),
    }
}

fn verdict_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Deny => "deny",
    }
}

fn check_jsonl(policy: &AddressPolicy, resolver: &dyn Resolve) -> Result<u8, Failure> {
    let runtime = bootstrap::runtime()?;
    let code = jsonl::run_filter(|request: CheckRequest| {
        let reply = runtime.block_on(check_all(request, resolver, policy));
        Ok(jsonl::into_object(json!(reply)))
    });
    runtime.shutdown_background();
    code
}
