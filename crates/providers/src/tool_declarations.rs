//! Declares tools: converts tool definitions to the declarations of a request.

use std::collections::HashSet;

use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{Entry, Tier, ToolSpec};

use crate::json_object::object;
use crate::parse_error::truncate;
use crate::schema::{self, ConvertedSchema};
use crate::wire_format::Format;
use crate::wire_names::NameMap;
use crate::{anthropic, gemini, openai_chat, openai_responses, text_tools};

/// Limit of tools in one OpenAI request.
const OPENAI_TOOLS: usize = 128;

/// Options for declaring tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// Whether to request strict mode if a schema can be expressed in it without loss of meaning.
    /// Never applies to tools of remote sources, because strict mode would require changing schemas
    /// that Toolcrib does not own, nor to more than 20 tools for Anthropic. Gemini and the text
    /// format have no strict mode per tool.
    pub strict: bool,
    /// Dialect of strict schemas; `None` for that of the format. Only servers with OpenAI's formats
    /// have other dialects.
    pub rules: Option<schema::Strict>,
}

/// A part of a definition that a provider does not accept unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Warning {
    /// Canonical name of the tool; empty for the whole list.
    pub tool: String,
    /// Position in its schema as a JSON pointer; empty for the tool itself.
    pub path: String,
    /// Description of the change.
    pub message: String,
}

/// The declarations of a list of tools.
#[derive(Debug, Clone, PartialEq)]
pub struct Declarations {
    /// The value of the request's member `tools`; for the text format the prompt text. Null if
    /// there is nothing to declare: omit the member then, because OpenAI rejects an empty list.
    pub value: Value,
    /// Parts that could not be sent unchanged.
    pub warnings: Vec<Warning>,
    /// The names on the wire.
    pub names: NameMap,
}

/// Declares these tools in the given order, which keeps prompt caches valid. Hosted and
/// provider-defined entries are declared verbatim, only for a provider that they name, and in place
/// of a local tool of the name or type that they have there.
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
    let own_of = |entry: &&Entry| {
        entry.providers().iter().find(|own| own.provider == format.as_str()).cloned()
    };
    // Anthropic refuses two tools of the same name.
    let replaced: HashSet<String> = tools
        .iter()
        .filter_map(own_of)
        .flat_map(|own| ["name", "type"].map(|key| own.declaration.get(key).cloned()))
        .filter_map(|name| Some(name?.as_str()?.to_owned()))
        .collect();
    let mut seen = HashSet::new();
    let mut strict_left = if options.strict { strict_tools(format) } else { 0 };
    for entry in tools {
        let spec = entry.spec();
        let name = spec.name.as_str();
        let own = entry.providers().iter().find(|own| own.provider == format.as_str());
        if !entry.providers().is_empty() && own.is_none() {
            continue;
        }
        if entry.providers().is_empty() && replaced.contains(name) {
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
        Format::Text => return text_tools::prompt(&functions).into(),
        Format::Gemini if !functions.is_empty() => {
            let declared = object([("functionDeclarations", functions.into())]);
            [declared.into()].into_iter().chain(verbatim).collect()
        }
        _ => functions.into_iter().chain(verbatim).collect(),
    };
    if list.is_empty() { Value::Null } else { list.into() }
}

/// Returns the parts of a definition that a provider does not accept unchanged. If there are none,
/// `declare` and `import` reproduce the definition.
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

/// Returns the limit of strict tools in one request.
fn strict_tools(format: Format) -> usize {
    match format {
        Format::OpenAiChat | Format::OpenAiResponses => usize::MAX,
        Format::Anthropic => anthropic::MAX_STRICT_TOOLS,
        Format::Gemini | Format::Text => 0,
    }
}

struct DeclaredFunction {
    value: Value,
    strict: bool,
    warnings: Vec<Warning>,
}

fn function(format: Format, spec: &ToolSpec, wire: &str, options: Options) -> DeclaredFunction {
    let name = spec.name.as_str();
    let mut warnings = Vec::new();
    let ported = convert_schema(format, spec, options, &mut warnings);
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
        description = truncate(&description, limit);
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
        Format::Text => text_tools::tool(wire, description, schema),
    };
    DeclaredFunction { value, strict, warnings }
}

fn convert_schema(
    format: Format,
    spec: &ToolSpec,
    options: Options,
    warnings: &mut Vec<Warning>,
) -> ConvertedSchema {
    let input = &spec.input_schema;
    // A tool of a remote source: `server__tool`, or of a paired app (`core::remote_name`).
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
        Format::OpenAiChat | Format::OpenAiResponses => {
            schema::plain(input, schema::NonStrict::OpenAi)
        }
        Format::Anthropic => schema::plain(input, schema::NonStrict::Anthropic),
        Format::Gemini => schema::gemini(input),
        Format::Text => schema::plain(input, schema::NonStrict::Text),
    }
}
