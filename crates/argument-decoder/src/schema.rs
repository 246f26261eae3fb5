//! A tool's parameter schema: checked when the tool is registered, compiled at its first call.
#![deny(clippy::indexing_slicing)]

use std::fmt;
use std::sync::{Arc, OnceLock};

use jsonschema::{PatternOptions, ValidationOptions, Validator, ValidatorMap};
use serde_json::Value;

use super::schema_plan::Plan;
use super::{schema_check, schema_cost};

/// Maximum number of values (objects, arrays and scalars) in one schema. Schemas also come from
/// remote servers; the largest known tool schemas have several thousand.
pub const MAX_SCHEMA_NODES: usize = 20_000;

/// Maximum nesting of a schema document.
pub const MAX_SCHEMA_DEPTH: usize = 64;

/// Maximum compiled size of one `pattern`, in bytes, for each of its two representations.
const PATTERN_BYTES: usize = 1 << 20;

/// The reasons why a schema is rejected. The messages are for the developer of the tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// The root does not describe an object.
    #[error("the schema of a tool's parameters must be an object with type \"object\" or no type")]
    RootNotObject,
    /// More values than [`MAX_SCHEMA_NODES`].
    #[error("the schema has more than {MAX_SCHEMA_NODES} values")]
    TooLarge,
    /// Nested deeper than [`MAX_SCHEMA_DEPTH`].
    #[error("the schema is nested deeper than {MAX_SCHEMA_DEPTH} levels")]
    TooDeep,
    /// A reference to another document.
    #[error("remote references are not fetched: {reference:?}")]
    RemoteReference {
        /// The reference as written, shortened.
        reference: String,
    },
    /// A local reference without a target.
    #[error("the reference {reference:?} has no target in the schema")]
    UnresolvedReference {
        /// The reference as written, shortened.
        reference: String,
    },
    /// A schema that refers to itself for the same value, so that the check would not end.
    #[error("the schema at {at} refers back to itself without descending into the value")]
    Cycle {
        /// Location of the cycle, as a JSON Pointer fragment.
        at: String,
    },
    /// References or combinations multiply beyond the limit for one value.
    #[error(
        "the schema's combinations and references multiply too far to be checked in bounded time"
    )]
    TooComplex,
    /// A pattern that the linear-time engine does not support.
    #[error(
        "the pattern {pattern:?} is not usable: patterns run in linear time, without look-around and back-references, within 1 MiB compiled"
    )]
    Pattern {
        /// The pattern, shortened.
        pattern: String,
    },
    /// Invalid according to the meta-schema.
    #[error("the schema is not valid JSON Schema at {at:?}: {message}")]
    Invalid {
        /// JSON Pointer into the schema.
        at: String,
        /// The problem at that location.
        message: String,
    },
}

/// A checked schema. Checking is cheap enough for thousands of tools at start; the first call that
/// needs the compiled validator creates it, and all threads share it.
pub struct Schema {
    source: Arc<Value>,
    /// The tool's name.
    name: Option<String>,
    /// Other names of top-level parameters: (alias, name).
    aliases: Vec<(String, String)>,
    max_depth: usize,
    plan: OnceLock<Plan>,
    validator: OnceLock<Result<Validator, SchemaError>>,
    branches: OnceLock<Option<ValidatorMap>>,
}

impl Schema {
    /// Checks a schema: JSON Schema 2020-12 unless its `$schema` names another draft.
    ///
    /// ```
    /// use serde_json::json;
    /// use toolcrib_argument_decoder::{Schema, SchemaError};
    ///
    /// assert!(Schema::check(&json!({"type": "object"})).is_ok());
    /// let remote = json!({"properties": {"a": {"$ref": "https://example.com/a.json"}}});
    /// assert!(matches!(Schema::check(&remote), Err(SchemaError::RemoteReference { .. })));
    /// ```
    ///
    /// # Errors
    /// [`SchemaError`] if it is not a valid schema for an object, or its cost is unbounded.
    pub fn check(source: &Value) -> Result<Self, SchemaError> {
        Self::check_shared(Arc::new(source.clone()))
    }

    /// Like [`Self::check`], without copying the document.
    ///
    /// # Errors
    /// See [`Self::check`].
    pub fn check_shared(source: Arc<Value>) -> Result<Self, SchemaError> {
        let shape = schema_check::check(&source)?;
        let plan = OnceLock::new();
        let mut max_depth = usize::MAX;
        if shape.multiplies {
            max_depth = schema_cost::max_depth(plan.get_or_init(|| Plan::compile(&source)))?;
        }
        Ok(Self {
            source,
            name: None,
            aliases: Vec::new(),
            max_depth,
            plan,
            validator: OnceLock::new(),
            branches: OnceLock::new(),
        })
    }

    /// Adds other names of top-level parameters: (alias, name).
    #[must_use]
    pub fn with_aliases(mut self, aliases: Vec<(String, String)>) -> Self {
        self.aliases = aliases;
        self
    }

    /// Sets the tool's name: a model may send it as a wrapper around the parameters.
    #[must_use]
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    pub(super) fn aliases(&self) -> &[(String, String)] {
        &self.aliases
    }

    /// Returns the document as given.
    #[must_use]
    pub fn source(&self) -> &Arc<Value> {
        &self.source
    }

    /// Returns the maximum nesting of arguments that can be checked in bounded time: unlimited for
    /// most schemas, a few levels for one whose recursion multiplies (two alternatives that both
    /// lead back to it).
    #[must_use]
    pub fn max_depth(&self) -> usize {
        self.max_depth
    }

    /// Returns the compiled validator: it asserts formats and runs patterns in linear time.
    ///
    /// # Errors
    /// [`SchemaError`] if the schema passed [`Self::check`] but does not compile, which is possible
    /// with rare keywords.
    pub fn validator(&self) -> Result<&Validator, SchemaError> {
        let compiled = self.validator.get_or_init(|| {
            options().build(&self.source).map_err(|error| SchemaError::Invalid {
                at: error.schema_path().to_string(),
                message: super::value_preview::shorten(&error.to_string(), 300).into_owned(),
            })
        });
        compiled.as_ref().map_err(Clone::clone)
    }

    /// Returns the validator of one subschema, by its pointer; compiled only for conversions.
    pub(super) fn branch(&self, at: &str) -> Option<&Validator> {
        let branches = self.branches.get_or_init(|| options().build_map(&self.source).ok());
        branches.as_ref()?.get(at)
    }

    pub(super) fn plan(&self) -> &Plan {
        self.plan.get_or_init(|| Plan::compile(&self.source))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("source", &self.source).finish_non_exhaustive()
    }
}

/// Returns the options for compiling every schema.
pub(super) fn options<'i>() -> ValidationOptions<'i> {
    let patterns = PatternOptions::regex().size_limit(PATTERN_BYTES).dfa_size_limit(PATTERN_BYTES);
    jsonschema::options().offline().should_validate_formats(true).with_pattern_options(patterns)
}
