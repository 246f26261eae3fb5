//! The Linux userland: reading its state, installing and removing it, and its packages. Changes run
//! in the background, with a log.

use axum::extract::State;
use axum::http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_net::AddressPolicy;
use toolcrib_ops::userland::{
    self, ChangePackagesRequest, InstallUserlandRequest, ListPackagesRequest, PackageChange,
    PackageReply, UninstallUserlandRequest, UserlandPlace, UserlandReply, UserlandWorkReply,
};

use crate::api::{Api, Json, Operation, Page, Query};
use crate::problem::{Code, Problem};
use crate::role::{Principal, Role};
use crate::state::DaemonState;

/// An installation.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct InstallUserlandBody {
    /// Whether to replace an installed userland: all changes of programs in it are lost; the home
    /// folder of programs stays.
    reset: bool,
    /// Mirrors in order of preference; default: the mirrors of the release.
    mirrors: Vec<String>,
}

/// Options of the removal.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct UninstallQuery {
    /// Whether to also remove the home folder of programs.
    home: bool,
}

/// Filter of packages.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
struct PackagesQuery {
    /// A word: packages of the mirror that contain it; by default the installed packages are
    /// listed.
    find: Option<String>,
}

/// A change of packages.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct PackagesBody {
    /// The action.
    change: PackageChange,
    /// The names, at most 50.
    names: Vec<String>,
}

pub(super) fn routes(api: &mut Api) {
    let show = Operation::get("/userland", Role::Operator, "Shows the Linux userland.");
    let show = show.description("Includes its disk space, and the isolation of programs on this machine, which the daemon tests for this.");
    api.add(show.returns_ok::<UserlandReply>("Its state."), show_userland);
    let install = Operation::post("/userland", Role::Owner, "Installs the Linux userland.");
    let install = install.description("The installation runs in the background; `GET /userland/work` has its log. The archive must have the digest and the signature that this build knows.");
    api.add(
        install
            .body::<InstallUserlandBody>()
            .returns::<UserlandWorkReply>(202, "The installation begins."),
        install_userland,
    );
    let remove = Operation::delete("/userland", Role::Owner, "Removes the Linux userland.");
    api.add(remove.query::<UninstallQuery>().returns_empty(204, "Removed."), remove_userland);
    let work = Operation::get(
        "/userland/work",
        Role::Operator,
        "Shows the current or last work on the Linux userland.",
    );
    api.add(work.returns_ok::<UserlandWorkReply>("With its log."), show_work);
    let list =
        Operation::get("/userland/packages", Role::Operator, "Lists packages of the userland.");
    let list = list.query::<PackagesQuery>().returns_ok::<Page<PackageReply>>("Packages.");
    api.add(list, list_packages);
    let change = Operation::post(
        "/userland/packages",
        Role::Owner,
        "Installs or removes packages of the userland.",
    );
    let change = change.description("The work runs in the background; `GET /userland/work` has its log. The package manager runs in the sandbox and reaches only the mirror.");
    api.add(
        change.body::<PackagesBody>().returns::<UserlandWorkReply>(202, "The work begins."),
        change_packages,
    );
}

fn place(daemon: &DaemonState) -> Result<UserlandPlace, Problem> {
    let userland = daemon.host().userland().ok_or_else(|| {
        Problem::new(Code::Unavailable, "there is no home folder to keep a userland in")
    })?;
    let addresses = AddressPolicy::with_allowed(daemon.toolcrib().allowed_addresses());
    let addresses = addresses.map_err(|error| Problem::new(Code::Internal, error.to_string()))?;
    Ok(UserlandPlace { userland, addresses })
}

async fn show_userland(State(daemon): State<DaemonState>) -> Result<Json<UserlandReply>, Problem> {
    Ok(Json(userland::show(&place(&daemon)?).await?))
}

async fn install_userland(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<InstallUserlandBody>,
) -> Result<(StatusCode, Json<UserlandWorkReply>), Problem> {
    let act = if body.reset { "userland.reset" } else { "userland.install" };
    let request = InstallUserlandRequest { anew: body.reset, mirrors: body.mirrors };
    userland::install(place(&daemon)?, daemon.userland_work(), request)?;
    daemon.admin_audit().record(&principal, act, "").await?;
    Ok((StatusCode::ACCEPTED, Json(daemon.userland_work().show())))
}

async fn remove_userland(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Query(query): Query<UninstallQuery>,
) -> Result<StatusCode, Problem> {
    let request = UninstallUserlandRequest { home: query.home };
    userland::uninstall(place(&daemon)?, daemon.userland_work(), request).await?;
    daemon.admin_audit().record(&principal, "userland.uninstall", "").await?;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_work(State(daemon): State<DaemonState>) -> Json<UserlandWorkReply> {
    Json(daemon.userland_work().show())
}

async fn list_packages(
    State(daemon): State<DaemonState>,
    Query(query): Query<PackagesQuery>,
) -> Result<Json<Page<PackageReply>>, Problem> {
    let request = ListPackagesRequest { find: query.find };
    let found = userland::list_packages(&place(&daemon)?, request).await?;
    Ok(Json(Page::single_page(found)))
}

async fn change_packages(
    State(daemon): State<DaemonState>,
    principal: Principal,
    Json(body): Json<PackagesBody>,
) -> Result<(StatusCode, Json<UserlandWorkReply>), Problem> {
    let (act, names) = match body.change {
        PackageChange::Install => ("package.install", body.names.join(" ")),
        PackageChange::Remove => ("package.remove", body.names.join(" ")),
    };
    let request = ChangePackagesRequest { change: body.change, names: body.names };
    userland::change_packages(place(&daemon)?, daemon.userland_work(), request)?;
    daemon.admin_audit().record(&principal, act, names).await?;
    Ok((StatusCode::ACCEPTED, Json(daemon.userland_work().show())))
}
