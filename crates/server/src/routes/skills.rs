//! Skills and kits: what agents know how to do, listed, shown and checked. They are files; they are
//! written by hand.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::response::Response;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use toolcrib_app::agent::library::{Kit, Parameter, Skill, validate_skill};

use super::agents::{FileProblem, unknown};
use crate::api::{Api, Json, Operation, Page, Path, etag_response};
use crate::problem::Problem;
use crate::role::Role;
use crate::state::DaemonState;

/// A skill in a list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SkillRow {
    /// Its name.
    name: String,
    /// Name for people.
    display_name: Option<String>,
    /// What it does and when to use it.
    description: String,
    /// Its version.
    version: String,
    /// The tools that may be used while it is active; empty = no limit.
    allowed_tools: Vec<String>,
    /// Tools that it cannot do without.
    tools_required: Vec<String>,
    /// Where it comes from: `built in`, or its file.
    place: String,
}

/// A skill, whole.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SkillDetails {
    /// The skill.
    #[serde(flatten)]
    skill: SkillRow,
    /// Its licence.
    license: Option<String>,
    /// What it needs of its surroundings.
    compatibility: Option<String>,
    /// Further metadata of the author.
    metadata: Value,
    /// What a person fills in when it is started with `/name`.
    parameters: Vec<SkillParameter>,
    /// The instructions.
    instructions: String,
    /// Its other files, relative to its folder; at most 100.
    files: Vec<String>,
}

/// What a person fills in when a skill is started.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct SkillParameter {
    /// Its name.
    name: String,
    /// Its type, such as `string`, as the author words it.
    #[serde(rename = "type")]
    kind: Option<String>,
    /// What it is.
    description: Option<String>,
    /// Whether the skill needs it.
    required: bool,
}

/// What is wrong with something; nothing, when the list is empty.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct CheckReport {
    /// Whether nothing is wrong.
    valid: bool,
    /// What is wrong.
    problems: Vec<FileProblem>,
}

/// A kit: tools that are used one after the other.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct KitRow {
    /// Its name.
    name: String,
    /// What it is for.
    description: String,
    /// The tools of its steps, in order.
    tools: Vec<String>,
    /// Where it comes from: `built in`, or its file.
    place: String,
}

pub(super) fn routes(api: &mut Api) {
    let list = Operation::get("/skills", Role::Viewer, "Lists the skills.");
    api.add(list.returns_ok::<Page<SkillRow>>("All that can be loaded.").etagged(), list_skills);
    let show =
        Operation::get("/skills/{name}", Role::Viewer, "Shows a skill with its instructions.");
    api.add(show.returns_ok::<SkillDetails>("The skill as its file is now."), show_skill);
    let check = Operation::post(
        "/skills/{name}/validate",
        Role::Viewer,
        "Checks a skill more strictly than loading does.",
    );
    api.add(check.returns_ok::<CheckReport>("What is wrong with it."), check_skill);
    let kits = Operation::get("/kits", Role::Viewer, "Lists the kits.");
    api.add(kits.returns_ok::<Page<KitRow>>("All that can be used.").etagged(), list_kits);
    let kit = Operation::get("/kits/{name}", Role::Viewer, "Shows a kit.");
    api.add(kit.returns_ok::<KitRow>("The kit."), show_kit);
    let library = Operation::get(
        "/library/problems",
        Role::Viewer,
        "Says what is wrong with files of agents, skills, kits and guides.",
    );
    api.add(library.tag("skills").returns_ok::<CheckReport>("What is wrong."), list_problems);
}

fn skill_row(skill: &Skill) -> SkillRow {
    SkillRow {
        name: skill.name.clone(),
        display_name: skill.display_name.clone(),
        description: skill.description.clone(),
        version: skill.version.clone(),
        allowed_tools: skill.allowed_tools.clone(),
        tools_required: skill.tools_required.clone(),
        place: skill.location.to_string(),
    }
}

fn parameter(parameter: &Parameter) -> SkillParameter {
    SkillParameter {
        name: parameter.name.clone(),
        kind: parameter.kind.clone(),
        description: parameter.description.clone(),
        required: parameter.required,
    }
}

async fn list_skills(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    let library = daemon.runner().library();
    etag_response(&headers, &Page::single_page(library.skills.iter().map(skill_row).collect()))
}

async fn show_skill(
    State(daemon): State<DaemonState>,
    Path(name): Path<String>,
) -> Result<Json<SkillDetails>, Problem> {
    let library = daemon.runner().library();
    let skill = library.skill(&name).map_err(|error| unknown(&error))?;
    let body = skill
        .body()
        .map_err(|why| Problem::conflict(format!("the skill cannot be read: {why}")))?;
    Ok(Json(SkillDetails {
        skill: skill_row(&body.skill),
        license: body.skill.license.clone(),
        compatibility: body.skill.compatibility.clone(),
        metadata: json!(body.skill.metadata),
        parameters: body.skill.parameters.iter().map(parameter).collect(),
        instructions: body.instructions,
        files: body.files,
    }))
}

async fn check_skill(
    State(daemon): State<DaemonState>,
    Path(name): Path<String>,
) -> Result<Json<CheckReport>, Problem> {
    let library = daemon.runner().library();
    let skill = library.skill(&name).map_err(|error| unknown(&error))?;
    let problems: Vec<FileProblem> = match skill.location.path() {
        // What is shipped was checked when it was built.
        None => Vec::new(),
        Some(path) => {
            let names = daemon.runner().tool_names();
            validate_skill(path, Some(&names)).iter().map(FileProblem::of).collect()
        }
    };
    Ok(Json(CheckReport { valid: problems.is_empty(), problems }))
}

fn kit_row(kit: &Kit) -> KitRow {
    KitRow {
        name: kit.name.clone(),
        description: kit.description.clone(),
        tools: kit.tools().map(str::to_owned).collect(),
        place: kit.location.to_string(),
    }
}

async fn list_kits(State(daemon): State<DaemonState>, headers: HeaderMap) -> Response {
    let library = daemon.runner().library();
    etag_response(&headers, &Page::single_page(library.kits.iter().map(kit_row).collect()))
}

async fn show_kit(
    State(daemon): State<DaemonState>,
    Path(name): Path<String>,
) -> Result<Json<KitRow>, Problem> {
    let library = daemon.runner().library();
    let kit = library.kits.iter().find(|kit| kit.name == name);
    kit.map(|kit| Json(kit_row(kit)))
        .ok_or_else(|| Problem::not_found(format!("there is no kit {name}")))
}

async fn list_problems(State(daemon): State<DaemonState>) -> Json<CheckReport> {
    let library = daemon.runner().library();
    let problems: Vec<FileProblem> = library.problems.iter().map(FileProblem::of).collect();
    Json(CheckReport { valid: problems.is_empty(), problems })
}
