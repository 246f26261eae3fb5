//! Operations on notifications of the person.

mod dismiss;
mod list;
mod row;
mod send;

pub use dismiss::{DismissNotificationRequest, dismiss};
pub use list::{ListNotificationsRequest, list};
pub use row::{FailedDeliveryReply, NotificationReply};
pub use send::{SendNotificationRequest, SentNotification, send};
