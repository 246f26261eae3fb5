//! Notifications of the person: sending, listing and dismissing them.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::notifications::{
    self, DismissNotificationRequest, ListNotificationsRequest, NotificationReply,
    SendNotificationRequest, SentNotification,
};
use toolcrib_ops::{OpError, Resource};

use crate::api::{Api, Json, Operation, Page, Path, Query, etag_response};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// Filter of notifications.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct NotificationQuery {
    /// Only those that were not dismissed.
    open: bool,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/notifications", Role::Viewer, "Lists notifications, newest first.");
    let list = list.description(
        "The event `notification` of `GET /events` reports new and dismissed notifications.",
    );
    let list = list.query::<NotificationQuery>();
    api.add(
        list.returns_ok::<Page<NotificationReply>>("Your notifications.").etagged(),
        list_notifications,
    );
    let send = Operation::post("/notifications", Role::Operator, "Sends a notification.");
    let send = send.description("Stores it, and pushes it over the configured channels outside the quiet hours. Failed channels are in `failed`.");
    api.add(
        send.body::<SendNotificationRequest>().returns_ok::<SentNotification>("The notification."),
        send_notification,
    );
    let dismiss = Operation::post(
        "/notifications/{notification}/dismiss",
        Role::Operator,
        "Dismisses a notification.",
    );
    api.add(dismiss.returns_ok::<NotificationReply>("The notification."), dismiss_notification);
}

async fn list_notifications(
    State(daemon): State<DaemonState>,
    principal: Principal,
    headers: HeaderMap,
    Query(query): Query<NotificationQuery>,
) -> Result<Response, Problem> {
    let request = ListNotificationsRequest { only_open: query.open };
    let rows = notifications::list(&daemon.op_context(&principal, None), request).await?;
    Ok(etag_response(&headers, &Page::single_page(rows)))
}

async fn send_notification(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(request): Json<SendNotificationRequest>,
) -> Result<Json<SentNotification>, Problem> {
    Ok(Json(notifications::send(&daemon.op_context(&principal, None), request).await?))
}

async fn dismiss_notification(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Path(id): Path<String>,
) -> Result<Json<NotificationReply>, Problem> {
    let request = DismissNotificationRequest::One(id.clone());
    let dismissed = notifications::dismiss(&daemon.op_context(&principal, None), request).await?;
    let missing = || OpError::not_found(Resource::Notification, &id);
    let dismissed = dismissed.into_iter().next().ok_or_else(missing)?;
    daemon.run_supervisor().publish_notification(
        &principal.owner,
        &dismissed.notification,
        dismissed.dismissed_at,
    );
    Ok(Json(dismissed))
}
