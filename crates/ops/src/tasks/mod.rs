//! Operations on tasks of the scheduler.

mod add;
mod change;
mod list;
mod row;
mod show;
mod webhook;

pub use add::{AddTaskRequest, add};
pub use change::{ChangeTaskRequest, TaskChange, change};
pub use list::{ListTasksRequest, list};
pub(crate) use row::execution;
pub use row::{TaskExecutionReply, TaskReply};
pub use show::{ShowTaskRequest, show};
pub use webhook::{VerifiedWebhook, WebhookReply, WebhookRequest, verify_webhook};
