//! A record of the audit in replies.

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_core::AuditRow;

use crate::context::StoreContext;

/// A record with its number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RecordRow")]
pub struct RecordReply {
    /// Its chain; a database on one machine has one.
    pub chain: u64,
    /// Its number in the chain, from 1, without gaps.
    pub seq: u64,
    /// The hash over this record and the hash of the previous one.
    pub hash: String,
    /// The content (docs/audit.md); for viewers without texts that may repeat arguments.
    pub record: Value,
}

impl RecordReply {
    pub(super) fn new(ctx: &StoreContext<'_>, row: &AuditRow) -> Self {
        let mut record = serde_json::from_str(&row.text).unwrap_or_else(|_| json!(row.text));
        if !ctx.shows_payloads {
            remove_payloads(&mut record);
        }
        Self { chain: row.chain, seq: row.seq, hash: row.hash.clone(), record }
    }

    /// Returns the record as text. A damaged record is not JSON and is returned as stored.
    #[must_use]
    pub fn text(&self) -> Cow<'_, str> {
        match &self.record {
            Value::String(damaged) => Cow::Borrowed(damaged),
            record => Cow::Owned(record.to_string()),
        }
    }

    /// Returns the time of the record in milliseconds since 1970; `None` if the record is damaged.
    pub(super) fn at(&self) -> Option<i64> {
        self.record.get("at").and_then(Value::as_i64)
    }
}

/// Removes texts that may repeat arguments, and the first message of a person.
fn remove_payloads(record: &mut Value) {
    let Some(object) = record.as_object_mut() else { return };
    object.remove("reasons");
    object.remove("policy");
    if let Some(Value::Object(context)) = object.get_mut("context") {
        context.remove("topic");
    }
}
