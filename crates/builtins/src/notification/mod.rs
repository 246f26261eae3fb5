//! Notifications for the person: the channels, and one place that decides whether one may be sent
//! now.

mod settings;

pub use settings::{NotificationSettings, NotificationTarget, QuietHours};
