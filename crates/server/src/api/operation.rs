//! One operation of the API: method, path, who may call it, what goes in and what comes out.

use axum::http::Method;
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::BASE;
use crate::role::Role;

/// Who may call an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anybody who passed the checks of Host and Origin, with or without a token: health, the documentation.
    Anybody,
    /// Whoever has this role.
    Role(Role),
}

/// Writes the schema of a type.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

/// What comes out.
#[derive(Debug, Clone, Copy)]
pub(super) struct Success {
    pub(super) status: u16,
    pub(super) about: &'static str,
    pub(super) media_type: &'static str,
    pub(super) schema: Option<SchemaOf>,
}

/// One operation. Errors need no saying: every one of them is a [`Problem`](crate::Problem), and the document lists them for all.
#[derive(Debug, Clone)]
pub struct Operation {
    /// The method.
    pub method: Method,
    /// The path below the base, such as `/tools/{name}`.
    pub path: &'static str,
    /// Who may call it.
    pub access: Access,
    pub(super) at_root: bool,
    pub(super) stands_in_line: bool,
    pub(super) tag: &'static str,
    pub(super) summary: &'static str,
    pub(super) about: &'static str,
    pub(super) query: Option<SchemaOf>,
    /// Media types of the body, each with its schema; empty = it takes none.
    pub(super) bodies: Vec<(&'static str, Option<SchemaOf>)>,
    pub(super) successes: Vec<Success>,
    pub(super) headers: Vec<(&'static str, &'static str)>,
}

impl Operation {
    /// Whether it changes something, and is done to its end also when whoever asked goes away in the middle.
    pub(super) fn is_done_whole(&self) -> bool {
        !self.method.is_safe() && !self.stands_in_line
    }

    fn new(method: Method, path: &'static str, access: Access, summary: &'static str) -> Self {
        Self {
            method,
            path,
            access,
            at_root: false,
            stands_in_line: false,
            tag: path.trim_start_matches('/').split('/').next().unwrap_or_default(),
            summary,
            about: "",
            query: None,
            bodies: Vec::new(),
            successes: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Reads; `summary` is one sentence.
    pub(crate) fn get(path: &'static str, role: Role, summary: &'static str) -> Self {
        Self::new(Method::GET, path, Access::Role(role), summary)
    }

    /// Does something.
    pub(crate) fn post(path: &'static str, role: Role, summary: &'static str) -> Self {
        Self::new(Method::POST, path, Access::Role(role), summary)
    }

    /// Writes the whole of something.
    pub(crate) fn put(path: &'static str, role: Role, summary: &'static str) -> Self {
        Self::new(Method::PUT, path, Access::Role(role), summary)
    }

    /// Takes something away.
    pub(crate) fn delete(path: &'static str, role: Role, summary: &'static str) -> Self {
        Self::new(Method::DELETE, path, Access::Role(role), summary)
    }

    /// Anybody may call it.
    pub(crate) fn open(mut self) -> Self {
        self.access = Access::Anybody;
        self
    }

    /// Its path is no other's business: it stands at the root and not below the base.
    pub(crate) fn at_root(mut self) -> Self {
        self.at_root = true;
        self
    }

    /// The group it is listed with, in place of the first part of its path.
    pub(crate) fn tag(mut self, tag: &'static str) -> Self {
        self.tag = tag;
        self
    }

    /// More words.
    pub(crate) fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    /// Calls tools, when it is its turn: whoever goes away before leaves the line. From then on it sees to its end by itself.
    pub(crate) fn stands_in_line(mut self) -> Self {
        self.stands_in_line = true;
        self
    }

    /// Takes these fields in the query.
    pub(crate) fn query<T: JsonSchema>(mut self) -> Self {
        self.query = Some(schema_of::<T>);
        self
    }

    /// Takes a JSON body.
    pub(crate) fn body<T: JsonSchema>(mut self) -> Self {
        self.bodies.push(("application/json", Some(schema_of::<T>)));
        self
    }

    /// Takes a body of this media type as well.
    pub(crate) fn or_takes(mut self, media_type: &'static str) -> Self {
        self.bodies.push((media_type, None));
        self
    }

    /// Takes bytes of any kind.
    pub(crate) fn bytes(self) -> Self {
        self.or_takes("application/octet-stream")
    }

    /// Takes this header.
    pub(crate) fn header(mut self, name: &'static str, about: &'static str) -> Self {
        self.headers.push((name, about));
        self
    }

    /// Answers 200 with JSON.
    pub(crate) fn ok<T: JsonSchema>(self, about: &'static str) -> Self {
        self.answers::<T>(200, about)
    }

    /// Answers with this status and JSON.
    pub(crate) fn answers<T: JsonSchema>(self, status: u16, about: &'static str) -> Self {
        let schema: Option<SchemaOf> = Some(schema_of::<T>);
        self.with(Success { status, about, media_type: "application/json", schema })
    }

    /// Answers 200 with something that is no JSON.
    pub(crate) fn gives(self, media_type: &'static str, about: &'static str) -> Self {
        self.with(Success { status: 200, about, media_type, schema: None })
    }

    /// Answers with this status and no body.
    pub(crate) fn empty(self, status: u16, about: &'static str) -> Self {
        self.with(Success { status, about, media_type: "", schema: None })
    }

    /// Sends nothing to whoever has the answer already (`api::etagged`).
    pub(crate) fn etagged(self) -> Self {
        let about =
            "The `ETag` of an earlier answer: what has not changed since is not sent again.";
        self.header("if-none-match", about)
            .empty(304, "It has not changed since the answer with that `ETag`.")
    }

    fn with(mut self, success: Success) -> Self {
        self.successes.push(success);
        self
    }

    /// The path as it is asked for.
    #[must_use]
    pub fn full_path(&self) -> String {
        if self.at_root { self.path.to_owned() } else { format!("{BASE}{}", self.path) }
    }
}
