//! Rules of a request, which are in no file.

use toolcrib_app::rules::{Layer, RuleSource, RuleText};

use crate::error::OpError;

/// Maximum number of rules and examples in one request. Each rule is compared with those about the
/// same calls, and each example with its rule: 1 MiB of them would take seconds.
const MAX_RULES_AND_EXAMPLES: usize = 2_000;

/// Refuses more rules than one request may contain.
///
/// # Errors
/// [`OpError::Invalid`], with the limit.
pub fn check_count(rules: &[RuleText]) -> Result<(), OpError> {
    let count = |rule: &RuleText| 1 + rule.matches.len() + rule.not_match.len();
    if rules.iter().map(count).sum::<usize>() <= MAX_RULES_AND_EXAMPLES {
        return Ok(());
    }
    let detail = format!(
        "a request has at most {MAX_RULES_AND_EXAMPLES} rules and examples; send several requests"
    );
    Err(OpError::Invalid(detail))
}

/// Returns the sources of rules that are in no file: `rules:NUMBER` gives their number in the
/// request.
#[must_use]
pub fn unwritten(rules: impl IntoIterator<Item = RuleText>) -> Vec<RuleSource> {
    let source =
        |(at, text)| RuleSource { text, layer: Layer::User, origin: format!("rules:{}", at + 1) };
    rules.into_iter().enumerate().map(source).collect()
}
