//! Questions of a server to a person.

use serde_json::Value;

/// A question of a server to a person in the middle of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct Elicitation {
    /// The server that asks.
    pub server: String,
    /// The text of the question.
    pub message: String,
    /// The raw parameters, for forwarding the question to an MCP client.
    pub params: Value,
}

/// The reply to a question.
#[derive(Debug, Clone, PartialEq)]
pub enum Elicited {
    /// Values that match the schema of the question.
    Accept(Option<Value>),
    /// The person declined.
    Decline,
    /// No reply.
    Cancel,
}
