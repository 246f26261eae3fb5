//! Models: listing the configured ones, and testing one.

use std::time::Instant;

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::api::{Api, Json, Operation, Page, etag_response};
use crate::daemon_host::HostError;
use crate::problem::Problem;
use crate::role::Role;
use crate::state::DaemonState;

/// A model.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct ModelRow {
    /// Its name, as requests for runs use it.
    model: String,
    /// Whether it is used if neither a run nor its agent names a model.
    default: bool,
    /// Whether it only replays the tour; there is one while no model is configured.
    tour: bool,
}

/// A model that could be configured.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct FoundModel {
    /// Its name, `provider/model`.
    model: String,
    /// Why it is offered.
    origin: String,
}

/// The model to test.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct TestModel {
    /// Its name, `provider/model`.
    model: String,
}

/// The result of testing a model.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct TestedModel {
    /// The model.
    model: String,
    /// Whether it answered.
    answers: bool,
    /// Why it did not answer, and what to do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// Milliseconds until the answer.
    elapsed_ms: u64,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/models", Role::Viewer, "Lists the models of the configuration.");
    let list = list.description("A run may also name another model of a configured provider.");
    api.add(
        list.returns_ok::<Page<ModelRow>>("All models, the default first.").etagged(),
        list_models,
    );
    let found = Operation::get(
        "/models/found",
        Role::Operator,
        "Searches for models that could be configured.",
    );
    let found = found.description(
        "Models of providers whose key is in the daemon's environment, and of Ollama on its machine.",
    );
    api.add(found.returns_ok::<Page<FoundModel>>("The models found, the best first."), find_models);
    let test = Operation::post("/models/test", Role::Operator, "Asks a model for one word.");
    let test = test.description(
        "Sends one request to the provider, which may cost a fraction of a cent. If the model does not answer, `answers` is false, and `message` has the reason.",
    );
    api.add(
        test.body::<TestModel>()
            .returns_ok::<TestedModel>("Whether the model answered, and how fast."),
        test_model,
    );
}

async fn list_models(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    let models = daemon.host().models().into_iter().enumerate();
    let row = |(place, model)| ModelRow { model, default: place == 0, tour: false };
    let tour = daemon.host().tour().map(|model| ModelRow { model, default: false, tour: true });
    etag_response(&headers, &Page::single_page(models.map(row).chain(tour).collect::<Vec<_>>()))
}

async fn find_models(State(daemon): State<DaemonState>) -> Result<Json<Page<FoundModel>>, Problem> {
    let found = daemon.host().found_models().await?;
    let row = |(model, origin)| FoundModel { model, origin };
    Ok(Json(Page::single_page(found.into_iter().map(row).collect())))
}

async fn test_model(
    State(daemon): State<DaemonState>,
    Json(body): Json<TestModel>,
) -> Result<Json<TestedModel>, Problem> {
    let began = Instant::now();
    let message = match daemon.host().test_model(&body.model).await {
        Ok(()) => None,
        Err(HostError::Failed(why)) => Some(why),
        Err(error) => return Err(error.into()),
    };
    let message = message.map(|why| daemon.toolcrib().engine().sealing().secrets.mask(why));
    Ok(Json(TestedModel {
        model: body.model,
        answers: message.is_none(),
        message,
        elapsed_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX),
    }))
}
