//! The names of tools that rules may refer to.

use toolcrib_app::Toolcrib;
use toolcrib_app::rules::RuleError;

/// Returns the names of the existing tools, with their aliases.
#[must_use]
pub fn known_tools(toolcrib: &Toolcrib) -> Vec<String> {
    let specs = toolcrib.infos().into_iter().filter_map(|info| toolcrib.spec(info.id.as_str()));
    specs
        .flat_map(|spec| std::iter::once(spec.name.to_string()).chain(spec.aliases.clone()))
        .collect()
}

/// Returns whether a rule names a tool that does not exist, with a name similar to that of an
/// existing one. Any other unknown name may belong to a tool that is added later.
#[must_use]
pub fn is_misspelled_name(fault: &RuleError) -> bool {
    fault.what.contains("did you mean")
}
