//! Tool definitions to what goes into a request.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::{Map, Value};
use toolcrib_core::{Entry, Tier, ToolSpec};

use crate::error::shorten;
use crate::format::Format;
use crate::names::NameMap;
use crate::schema::{self, Ported};
use crate::{anthropic, gemini, openai_chat, openai_responses, text};

/// Most tools that OpenAI takes in one request (research/protocols 2.1).
const OPENAI_TOOLS: usize = 128;

/// How tools are declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Ask for strict mode where a schema can be expressed in it without loss of meaning. Tools of remote sources never are (DESIGN 9), nor more
    /// than 20 tools for Anthropic. Gemini and the text format have no such mode per tool.
    pub strict: bool,
    /// Whose rules strict schemas follow; `None` = those of the format. Only servers that speak OpenAI's formats have others.
    pub rules: Option<schema::Strict>,
}

/// Something of a definition that a provider does not take as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Canonical name of the tool; empty = the whole list.
    pub tool: String,
    /// Where in its schema, as a JSON pointer; empty = the tool itself.
    pub path: String,
    /// What was done about it.
    pub message: String,
}

/// The declarations of a list of tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Declarations {
    /// The value of the request's member `tools`; for the text format the prompt text. Null when there is nothing to declare: leave the member
    /// out then, an empty list is refused by OpenAI.
    pub value: Value,
    /// What could not be sent as it is.
    pub warnings: Vec<Warning>,
    /// The names on the wire.
    pub names: NameMap,
}

/// Declares these tools, in their order (which keeps prompt caches warm). Hosted and provider-defined entries are declared, verbatim, only for
/// a provider that they name.
pub fn declare<'a>(
    format: Format,
    tools: impl IntoIterator<Item = &'a Entry>,
    options: &Options,
) -> Declarations {
    let tools: Vec<&Entry> = tools.into_iter().collect();
    let local = tools.iter().filter(|entry| entry.providers().is_empty());
    let mut names = NameMap::new(format, local.map(|entry| entry.spec().name.as_str()));
    let mut warnings = Vec::new();
    let (mut functions, mut verbatim) = (Vec::new(), Vec::new());
    let mut seen = HashSet::new();
    let mut strict_left = if options.strict { strict_tools(format) } else { 0 };
    for entry in tools {
        let spec = entry.spec();
        let name = spec.name.as_str();
        let own = entry.providers().iter().find(|own| own.provider == format.as_str());
        if !entry.providers().is_empty() && own.is_none() {
            continue;
        }
        if !seen.insert(name) {
            warnings.push(warning(name, "", "a second tool of this name was left out"));
            continue;
        }
        if let Some(own) = own {
            own.call_types.iter().for_each(|kind| names.add_call_type(kind, name));
            verbatim.push(own.declaration.clone());
            continue;
        }
        let wire = names.wire(name).unwrap_or(name);
        let options = Options { strict: strict_left > 0, ..*options };
        let made = function(format, spec, wire, options);
        strict_left -= usize::from(made.strict);
        warnings.extend(made.warnings);
        functions.push(made.value);
    }
    let is_openai = matches!(format, Format::OpenAiChat | Format::OpenAiResponses);
    let count = functions.len() + verbatim.len();
    if is_openai && count > OPENAI_TOOLS {
        let message = format!("{count} tools, but OpenAI takes {OPENAI_TOOLS} in one request");
        warnings.push(warning("", "", message));
    }
    Declarations { value: assemble(format, functions, verbatim), warnings, names }
}

fn assemble(format: Format, functions: Vec<Value>, verbatim: Vec<Value>) -> Value {
    let list: Vec<Value> = match format {
        Format::Text if functions.is_empty() => return Value::Null,
        Format::Text => return text::prompt(&functions).into(),
        Format::Gemini if !functions.is_empty() => {
            let declared = object([("functionDeclarations", functions.into())]);
            [declared.into()].into_iter().chain(verbatim).collect()
        }
        _ => functions.into_iter().chain(verbatim).collect(),
    };
    if list.is_empty() { Value::Null } else { list.into() }
}

/// What of a definition a provider does not take as it is: nothing means that it survives the trip there and back.
#[must_use]
pub fn lint(spec: &ToolSpec, format: Format, options: &Options) -> Vec<Warning> {
    let name = spec.name.as_str();
    let names = NameMap::new(format, [name]);
    let wire = names.wire(name).unwrap_or(name);
    let mut warnings = function(format, spec, wire, *options).warnings;
    if wire != name {
        warnings.push(warning(name, "", format!("its name on the wire is {wire}")));
    }
    warnings
}

fn warning(tool: &str, path: &str, message: impl Into<String>) -> Warning {
    Warning { tool: tool.to_owned(), path: path.to_owned(), message: message.into() }
}

/// How many tools may be strict in one request.
fn strict_tools(format: Format) -> usize {
    match format {
        Format::OpenAiChat | Format::OpenAiResponses => usize::MAX,
        Format::Anthropic => anthropic::MAX_STRICT_TOOLS,
        Format::Gemini | Format::Text => 0,
    }
}

struct Made {
    value: Value,
    strict: bool,
    warnings: Vec<Warning>,
}

fn function(format: Format, spec: &ToolSpec, wire: &str, options: Options) -> Made {
    let name = spec.name.as_str();
    let mut warnings = Vec::new();
    let ported = port(format, spec, options, &mut warnings);
    let mut description = spec.description.clone();
    for sentence in &ported.about {
        if !description.is_empty() {
            description.push(' ');
        }
        description.push_str(sentence);
    }
    let limit = match format {
        Format::OpenAiChat | Format::OpenAiResponses => openai_chat::description_limit(),
        _ => usize::MAX,
    };
    let count = description.chars().count();
    if count > limit {
        let message = format!("its description of {count} characters was cut to {limit}");
        warnings.push(warning(name, "", message));
        description = shorten(&description, limit);
    }
    for loss in ported.losses {
        warnings.push(Warning { tool: name.to_owned(), path: loss.path, message: loss.message });
    }
    let (schema, strict) = (ported.schema, ported.strict);
    let value = match format {
        Format::OpenAiChat => openai_chat::tool(wire, description, schema, strict),
        Format::OpenAiResponses => openai_responses::tool(wire, description, schema, strict),
        Format::Anthropic => anthropic::tool(wire, description, schema, strict),
        Format::Gemini => gemini::tool(wire, description, schema),
        Format::Text => text::tool(wire, description, schema),
    };
    Made { value, strict, warnings }
}

/// An object of these members. The values are moved, which `json!` does not do: it copies them, and schemas are large.
pub(crate) fn object<const N: usize>(members: [(&str, Value); N]) -> Map<String, Value> {
    members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

fn port(format: Format, spec: &ToolSpec, options: Options, warnings: &mut Vec<Warning>) -> Ported {
    let input = &spec.input_schema;
    // A tool from elsewhere: `server__tool`, or of a paired app (core::remote_name).
    let is_remote = spec.tier == Tier::Interface || spec.name.as_str().contains("__");
    let rules = match format {
        Format::OpenAiChat | Format::OpenAiResponses => {
            Some(options.rules.unwrap_or(schema::Strict::OpenAi))
        }
        Format::Anthropic => Some(schema::Strict::Anthropic),
        Format::Gemini | Format::Text => None,
    };
    if let Some(rules) = rules.filter(|_| options.strict && !is_remote) {
        match schema::strict(input, rules) {
            Ok(ported) => return ported,
            Err(loss) => {
                let message = format!("sent without strict mode: {}", loss.message);
                warnings.push(warning(spec.name.as_str(), &loss.path, message));
            }
        }
    }
    match format {
        Format::OpenAiChat | Format::OpenAiResponses => schema::plain(input, schema::Plain::OpenAi),
        Format::Anthropic => schema::plain(input, schema::Plain::Anthropic),
        Format::Gemini => schema::gemini(input),
        Format::Text => schema::plain(input, schema::Plain::Text),
    }
}
