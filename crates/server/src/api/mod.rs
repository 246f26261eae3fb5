//! The building blocks of routes: operations with their role, request and response, the router and
//! the OpenAPI document that are built from them, extractors, pages, event streams, and the mapping
//! of errors to [`crate::Problem`].

mod blocking;
mod extract;
mod openapi;
mod operation;
mod pagination;
mod problem_mapping;
mod router;
pub(crate) mod sse;
mod tool_limits;

pub use openapi::document;
pub use operation::{Access, BASE, Operation};
pub use tool_limits::ToolLimit;

pub(crate) use blocking::{run_blocking, run_cpu_bound};
pub(crate) use extract::{Bytes, Json, Path, Query, parse_id, parse_run_id};
pub(crate) use operation::{CALLBACK_PATH, MCP_PATH};
pub(crate) use pagination::{
    Page, PageQuery, cursor, etag, etag_matches, etag_response, expected_version, parse_cursor,
    with_etag,
};
pub(crate) use router::Api;
