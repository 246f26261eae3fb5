//! Skills and kits: listing, showing and checking them. People write them as files.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use toolcrib_ops::kits::{self, KitReply, ShowKitRequest};
use toolcrib_ops::library::{self, LibraryReport};
use toolcrib_ops::skills::{
    self, ShowSkillRequest, SkillDetails, SkillReply, ValidateSkillRequest,
};

use crate::api::{Api, Json, Operation, Page, Path, etag_response};
use crate::problem::Problem;
use crate::role::Role;
use crate::state::DaemonState;

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/skills", Role::Viewer, "Lists the skills.");
    api.add(
        list.returns_ok::<Page<SkillReply>>("All skills that can be loaded.").etagged(),
        list_skills,
    );
    let show =
        Operation::get("/skills/{name}", Role::Viewer, "Shows a skill with its instructions.");
    api.add(
        show.returns_ok::<SkillDetails>("The skill with the current contents of its file."),
        show_skill,
    );
    let check = Operation::post(
        "/skills/{name}/validate",
        Role::Viewer,
        "Checks a skill more strictly than loading does.",
    );
    api.add(check.returns_ok::<LibraryReport>("The findings."), check_skill);
    let kits = Operation::get("/kits", Role::Viewer, "Lists the kits.");
    api.add(kits.returns_ok::<Page<KitReply>>("All kits that can be used.").etagged(), list_kits);
    let kit = Operation::get("/kits/{name}", Role::Viewer, "Shows a kit.");
    api.add(kit.returns_ok::<KitReply>("The kit."), show_kit);
    let library = Operation::get(
        "/library/problems",
        Role::Viewer,
        "Checks the files of agents, skills, kits and guides.",
    );
    api.add(library.tag("skills").returns_ok::<LibraryReport>("The findings."), list_problems);
}

async fn list_skills(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    let reply = skills::list(&daemon.library_context());
    etag_response(&headers, &Page::single_page(reply.skills))
}

async fn show_skill(
    State(daemon): State<DaemonState>,
    Path(name): Path<String>,
) -> Result<Json<SkillDetails>, Problem> {
    Ok(Json(skills::show(&daemon.library_context(), &ShowSkillRequest { name })?))
}

async fn check_skill(
    State(daemon): State<DaemonState>,
    Path(name): Path<String>,
) -> Result<Json<LibraryReport>, Problem> {
    let request = ValidateSkillRequest::Name(name);
    Ok(Json(skills::validate(&daemon.library_context(), request)?))
}

async fn list_kits(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    let reply = kits::list(&daemon.library_context());
    etag_response(&headers, &Page::single_page(reply.kits))
}

async fn show_kit(
    State(daemon): State<DaemonState>,
    Path(name): Path<String>,
) -> Result<Json<KitReply>, Problem> {
    Ok(Json(kits::show(&daemon.library_context(), &ShowKitRequest { name })?))
}

async fn list_problems(State(daemon): State<DaemonState>) -> Json<LibraryReport> {
    Json(library::problems(&daemon.library_context()))
}
