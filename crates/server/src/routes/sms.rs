//! The phone for SMS.

use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_ops::sms::{self, AddPhoneRequest, PhoneDetails, PhoneReply, SetPhoneRequest};
use toolcrib_sms::account::NewPhone;

use crate::api::{Api, Json, Operation};
use crate::problem::Problem;
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// The phone to add.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NewSmsPhone {
    /// Address of the app's server, such as `http://192.168.1.20:8080`.
    base_url: String,
    /// User name; default that of the app, `sms`.
    #[serde(default)]
    user: Option<String>,
    /// The password of the app, which is stored in the vault.
    password: String,
    /// Whether SMS may be read.
    #[serde(default)]
    read: bool,
    /// Whether drafts of SMS may be written and sent.
    #[serde(default)]
    send: bool,
}

/// Changes of the phone; absent fields stay as they are.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct SmsPhoneChange {
    /// Whether SMS may be read.
    read: Option<bool>,
    /// Whether drafts of SMS may be written and sent.
    send: Option<bool>,
}

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get("/sms", Role::Owner, "Shows the phone for SMS.");
    api.add(show.returns_ok::<PhoneDetails>("The phone."), show_phone);
    let add = Operation::post("/sms", Role::Owner, "Adds the phone for SMS.");
    let add = add.description("Nothing is saved if the app on the phone refuses the password.");
    api.add(add.body::<NewSmsPhone>().returns_ok::<PhoneReply>("The phone."), add_phone);
    let change = Operation::put("/sms", Role::Owner, "Changes the opt-ins of the phone.");
    let change = change.description(
        "When reading is switched on, the SMS that the phone has by then are not read.",
    );
    api.add(change.body::<SmsPhoneChange>().returns_ok::<PhoneReply>("The phone."), change_phone);
    let test = Operation::post("/sms/test", Role::Owner, "Tests the phone for SMS.");
    api.add(test.returns_ok::<PhoneReply>("The app accepts the password."), test_phone);
    let remove = Operation::delete("/sms", Role::Owner, "Removes the phone for SMS.");
    let remove = remove.description("Its password and the stored SMS are removed with it.");
    api.add(remove.returns_empty(204, "Removed."), remove_phone);
}

async fn show_phone(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<PhoneDetails>, Problem> {
    Ok(Json(sms::show(&daemon.op_context(&principal, None)).await?))
}

async fn add_phone(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(new): Json<NewSmsPhone>,
) -> Result<Json<PhoneReply>, Problem> {
    let NewSmsPhone { base_url, user, password, read, send } = new;
    let phone = NewPhone { base_url, user, read, send };
    let request = AddPhoneRequest { phone, password };
    Ok(Json(sms::add(&daemon.op_context(&principal, None), request).await?))
}

async fn change_phone(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(SmsPhoneChange { read, send }): Json<SmsPhoneChange>,
) -> Result<Json<PhoneReply>, Problem> {
    let request = SetPhoneRequest { read, send };
    Ok(Json(sms::set(&daemon.op_context(&principal, None), request).await?))
}

async fn test_phone(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<Json<PhoneReply>, Problem> {
    Ok(Json(sms::test(&daemon.op_context(&principal, None)).await?))
}

async fn remove_phone(
    State(daemon): State<DaemonState>,
    principal: Principal,
) -> Result<StatusCode, Problem> {
    sms::remove(&daemon.op_context(&principal, None)).await?;
    Ok(StatusCode::NO_CONTENT)
}
