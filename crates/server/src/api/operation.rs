//! One operation of the API: method, path, role, request and response.

use axum::http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::tool_limits::{self, ToolLimit};
use crate::role::Role;

/// Prefix of all paths, except those at the root.
pub const BASE: &str = "/api/v1";
/// Path of the MCP endpoint, at the root.
pub(crate) const MCP_PATH: &str = "/mcp";
/// Path to which browsers return after a login to an MCP server, at the root.
pub(crate) const CALLBACK_PATH: &str = "/oauth/callback";

/// Clients that may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Any client that passes the checks of Host and Origin, with or without a token: health, the
    /// documentation.
    Public,
    /// Principals with this role.
    Role(Role),
}

/// Generates the schema of a type.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// A successful response.
#[derive(Debug, Clone, Copy)]
pub(super) struct Success {
    pub(super) status: u16,
    pub(super) about: &'static str,
    pub(super) media_type: &'static str,
    pub(super) schema: Option<SchemaOf>,
}

/// One operation. Every error is a [`Problem`](crate::Problem), which the OpenAPI document lists
/// for all operations.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The method.
    pub method: Method,
    /// The path below the base, such as `/tools/{name}`.
    pub path: &'static str,
    /// The callers that the operation accepts.
    pub access: Access,
    pub(super) at_root: bool,
    pub(super) queues_calls: bool,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) about: &'static str,
    pub(super) query: Option<SchemaOf>,
    /// Media types of the body, each with its schema; empty = no body.
    pub(super) bodies: Vec<(&'static str, Option<SchemaOf>)>,
    pub(super) successes: Vec<Success>,
    pub(super) headers: Vec<(&'static str, &'static str)>,
}

impl Operation {
    /// Returns whether the operation changes something and therefore runs to its end, even when its
    /// client disconnects.
    pub(super) fn runs_to_completion(&self) -> bool {
        !self.method.is_safe() && !self.queues_calls
    }

    fn new(method: Method, path: &'static str, access: Access, summary: &'static str) -> Self {
        Self {
            method,
            path,
            access,
            at_root: false,
            queues_calls: false,
            tag: path.trim_start_matches('/').split('/').next().unwrap_or_default(),
            summary,
            about: "",
            query: None,
            bodies: Vec::new(),
            successes: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Creates an operation that reads; `summary` is one sentence.
    pub(crate) fn get(path: &'static str, role: Role, summary: &'static str) -> Self {
        Self::new(Method::GET, path, Access::Role(role), summary)
    }

    /// Creates an operation that acts or creates something.
    pub(crate) fn post(path: &'static str, role: Role, summary: &'static str) -> Self {
        Self::new(Method::POST, path, Access::Role(role), summary)
    }

    /// Creates an operation that replaces something.
    pub(crate) fn put(path: &'static str, role: Role, summary: &'static str) -> Self {
        Self::new(Method::PUT, path, Access::Role(role), summary)
    }

    /// Creates an operation that removes something.
    pub(crate) fn delete(path: &'static str, role: Role, summary: &'static str) -> Self {
        Self::new(Method::DELETE, path, Access::Role(role), summary)
    }

    /// Makes the operation callable without a role.
    pub(crate) fn public(mut self) -> Self {
        self.access = Access::Public;
        self
    }

    /// Puts the operation at the root instead of below [`BASE`].
    pub(crate) fn at_root(mut self) -> Self {
        self.at_root = true;
        self
    }

    /// With this group in the documents, instead of the first part of its path.
    pub(crate) fn tag(mut self, tag: &'static str) -> Self {
        self.tag = tag;
        self
    }

    /// Sets the description.
    pub(crate) fn description(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Marks an operation that calls tools and waits for slots: a client that disconnects earlier
    /// leaves the queue. The calls themselves run to their end (`active_requests`).
    pub(crate) fn queues_calls(mut self) -> Self {
        self.queues_calls = true;
        self
    }

    /// Adds these fields to the query.
    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(schema_of::<T>);
        self
    }

    /// Adds a JSON body.
    pub(crate) fn body<T: JsonSchema>(mut self) -> Self {
        self.bodies.push(("application/json", Some(schema_of::<T>)));
        self
    }

    /// Accepts a body of this media type as well.
    pub(crate) fn also_accepts(mut self, media_type: &'static str) -> Self {
        self.bodies.push((media_type, None));
        self
    }

    /// Accepts a body of arbitrary bytes.
    pub(crate) fn bytes(self) -> Self {
        self.also_accepts("application/octet-stream")
    }

    /// Adds this header.
    pub(crate) fn header(mut self, name: &'static str, about: &'static str) -> Self {
        self.headers.push((name, about));
        self
    }

    /// Adds a response 200 with JSON.
    pub(crate) fn returns_ok<T: JsonSchema>(self, about: &'static str) -> Self {
        self.returns::<T>(200, about)
    }

    /// Adds a response with this status and JSON.
    pub(crate) fn returns<T: JsonSchema>(self, status: u16, about: &'static str) -> Self {
        let schema: Option<SchemaOf> = Some(schema_of::<T>);
        self.with(Success { status, about, media_type: "application/json", schema })
    }

    /// Adds a response 200 with another media type.
    pub(crate) fn returns_media(self, media_type: &'static str, about: &'static str) -> Self {
        self.with(Success { status: 200, about, media_type, schema: None })
    }

    /// Adds a response with this status and no body.
    pub(crate) fn returns_empty(self, status: u16, about: &'static str) -> Self {
        self.with(Success { status, about, media_type: "", schema: None })
    }

    /// Adds a response 304 for a client that already has the current response
    /// (`api::etag_response`).
    pub(crate) fn etagged(self) -> Self {
        let about = "The `ETag` of an earlier response: if nothing has changed since, it is not sent again.";
        self.header("if-none-match", about)
            .returns_empty(304, "Nothing has changed since the response with that `ETag`.")
    }

    fn with(mut self, success: Success) -> Self {
        self.successes.push(success);
        self
    }

    /// Returns what a token that is limited to some tools may do with the operation.
    #[must_use]
    pub fn tool_limit(&self) -> ToolLimit {
        tool_limits::tool_limit(&self.method, self.path)
    }

    /// Returns the path with its prefix.
    #[must_use]
    pub fn full_path(&self) -> String {
        if self.at_root { self.path.to_owned() } else { format!("{BASE}{}", self.path) }
    }
}
