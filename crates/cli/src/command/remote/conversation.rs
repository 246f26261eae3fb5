//! A conversation deleted by the daemon, which has its programs.

use toolcrib_app::core::ConversationId;

use crate::daemon::client::{ApiRequest, Client};
use crate::output::Failure;

/// Deletes a conversation in the daemon of this person; `false` = none runs that could be asked.
///
/// # Errors
/// As the daemon says.
pub(in crate::command) async fn delete(id: ConversationId) -> Result<bool, Failure> {
    let Some(client) = Client::connect_own().await? else { return Ok(false) };
    let reply = client.send(&ApiRequest::delete(&format!("/api/v1/conversations/{id}"))).await?;
    reply.into_result().map(|_| true)
}
