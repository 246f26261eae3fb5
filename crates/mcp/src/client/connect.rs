//! Connects to a server: starts its program or opens its address, negotiates the protocol revision,
//! identifies the server and lists its tools.

use std::sync::{Arc, Mutex, RwLock};
use std::time::{Duration, Instant};

use rmcp::model::{ProtocolVersion, SubscriptionFilter};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, RoleClient,
    RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use toolcrib_sandbox::Process;

use super::client_handler::McpClientHandler;
use super::connection::{Connection, LiveConnection};
use super::http_transport::HttpTransport;
use super::inbound::{GatedTransport, InboundGate};
use super::reviewed_tools::{self, ReviewedTools};
use super::server_config::{Http, Remote, Stdio, with_secrets};
use super::tool_list::{ToolList, list_definitions};
use super::{start_output, visible_text};
use crate::stdio::StdioTransport;

/// Time for reading the output of a program that has ended.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// Maximum characters of the name that a server reports.
const SERVER_CHARS: usize = 100;

type Service = RunningService<RoleClient, McpClientHandler>;

/// Why there is no connection.
pub(super) enum ConnectError {
    /// A person must authorize first.
    NeedsAuthorization,
    Failed(String),
}

impl ConnectError {
    /// Creates the error for a server that rejected our authorization.
    fn unauthorized(connection: &Connection) -> Self {
        connection.refusal().map_or(Self::NeedsAuthorization, Self::Failed)
    }
}

impl From<String> for ConnectError {
    fn from(words: String) -> Self {
        Self::Failed(words)
    }
}

pub(super) async fn connect(connection: &Connection) -> Result<LiveConnection, ConnectError> {
    let name = connection.config().name.as_str();
    let mut is_first_sight = false;
    let (service, process, program) = match &connection.config().remote {
        Remote::Stdio(program) => {
            is_first_sight = connection.host().reviewed_tools(name).await.is_none();
            let digest = connection.host().program_digest(program).await;
            let (service, process) = over_stdio(connection, program, is_first_sight).await?;
            (service, Some(Mutex::new(process)), digest)
        }
        Remote::Http(http) => (over_http(connection, http).await?, None, None),
    };
    let info = service.peer().peer_info();
    let own = info.as_ref().and_then(|info| info.server_info.clone());
    let server =
        own.as_ref().map(|own| format!("{} {}", own.name, own.version)).unwrap_or_default();
    let (own_name, version) = own.map(|own| (own.name, own.version)).unwrap_or_default();
    let server: String =
        visible_text(&server).chars().filter(|c| !c.is_control()).take(SERVER_CHARS).collect();
    let protocol = info.as_ref().map(|info| info.protocol_version.to_string()).unwrap_or_default();
    let offers = info.as_ref().is_none_or(|info| info.capabilities.tools.is_some());
    let listed = if offers {
        let listed = list_definitions(service.peer()).await;
        listed.map_err(|error| match error.auth_challenge() {
            Some(_) => ConnectError::unauthorized(connection),
            None => format!("its tools could not be listed: {}", with_causes(&error)).into(),
        })?
    } else {
        ToolList { definitions: Vec::new(), cut: None }
    };
    if let Some(cut) = &listed.cut {
        connection.log().push_line(cut);
    }
    let cut = Mutex::new(listed.cut);
    let identity = reviewed_tools::identity(connection.config(), &own_name);
    let now = ReviewedTools::from_definitions(identity, &listed.definitions);
    let now = ReviewedTools { version, program, ..now };
    compare(connection, &now).await;
    let tells = info
        .as_ref()
        .and_then(|info| info.capabilities.tools.as_ref())
        .is_some_and(|tools| tools.list_changed == Some(true));
    let modern =
        info.as_ref().is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28);
    if tells && modern {
        listen(connection, service.peer().clone());
    }
    let since = Instant::now();
    let used = Mutex::new(since);
    let now = RwLock::new(now);
    Ok(LiveConnection { service, now, server, protocol, since, used, is_first_sight, cut, process })
}

/// Compares the server's tools with the reviewed ones. Tools that differ are held; if the server
/// was never reviewed, all are held.
async fn compare(connection: &Connection, now: &ReviewedTools) {
    let name = connection.config().name.as_str();
    let reviewed = connection.host().reviewed_tools(name).await.unwrap_or_default();
    connection.remember_seen(now).await;
    if let Some(change) = reviewed.program_change(now) {
        connection.log().push_line(&change);
    }
    if reviewed.differs(now, connection.config().pin) {
        connection.log().push_line("its tools differ from what was reviewed; they are held");
        connection.host().tools_changed(name);
    }
}

async fn lifecycle(connection: &Connection) -> ClientLifecycleMode {
    let name = connection.config().name.as_str();
    if connection.config().legacy || connection.host().ignores_discover(name).await {
        return ClientLifecycleMode::Initialize;
    }
    ClientLifecycleMode::Auto {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
    }
}

async fn over_stdio(
    connection: &Connection,
    program: &Stdio,
    first_sight: bool,
) -> Result<(Service, Process), String> {
    let lifecycle = lifecycle(connection).await;
    match start(connection, program, first_sight, lifecycle).await {
        Ok(started) => Ok(started),
        // Some old servers exit when they receive an unknown request.
        Err(StartFailure::Handshake(_)) => {
            start(connection, program, first_sight, ClientLifecycleMode::Initialize)
                .await
                .map_err(StartFailure::words)
        }
        Err(failed) => Err(failed.words()),
    }
}

enum StartFailure {
    Start(String),
    Handshake(String),
}

impl StartFailure {
    fn words(self) -> String {
        match self {
            Self::Start(words) | Self::Handshake(words) => words,
        }
    }
}

async fn start(
    connection: &Connection,
    program: &Stdio,
    first_sight: bool,
    lifecycle: ClientLifecycleMode,
) -> Result<(Service, Process), StartFailure> {
    let host = connection.host();
    let mut program = program.clone();
    for (_, value) in &mut program.env {
        *value = with_secrets(value, |name| host.secret(name)).map_err(StartFailure::Start)?;
    }
    let name = connection.config().name.as_str();
    let started = host.start(name, &program, first_sight).await;
    let mut process = started.map_err(StartFailure::Start)?;
    let log_start = connection.log().length();
    let nothing = || Box::new(tokio::io::empty());
    let stdout = std::mem::replace(&mut process.stdout, nothing());
    let stderr = std::mem::replace(&mut process.stderr, nothing());
    let stdin = process.stdin.take();
    let stdin =
        stdin.ok_or_else(|| StartFailure::Start("its input could not be opened".to_owned()))?;
    let log = connection.weak();
    let following = tokio::spawn(async move {
        if let Some(connection) = log.upgrade() {
            connection.log().read_stderr(stderr).await;
        }
    });
    let gate = Arc::new(InboundGate::new(connection.weak()));
    let lines = StdioTransport::new(stdout, stdin).with_hook(Arc::clone(&gate) as _);
    let transport = GatedTransport::new(lines, Arc::clone(&gate));
    let ours = McpClientHandler(connection.weak());
    match ours.serve_with_lifecycle(transport, lifecycle).await {
        Ok(service) => {
            if gate.ignores_discover() {
                host.remember_ignores_discover(name).await;
            }
            Ok((service, process))
        }
        Err(error) => {
            // Its output explains more than the closed connection.
            drop(process);
            let _ = tokio::time::timeout(LAST_WORDS, following).await;
            let wrote = connection.log().since(log_start);
            let explained = host.explain_failed_start(name, &program, &wrote);
            Err(StartFailure::Handshake(words(&error, &wrote, explained.as_deref())))
        }
    }
}

async fn over_http(connection: &Connection, http: &Http) -> Result<Service, ConnectError> {
    let host = connection.host();
    let mut config = StreamableHttpClientTransportConfig::with_uri(http.url.as_str());
    for (name, value) in &http.headers {
        let value = with_secrets(value, |name| host.secret(name))?;
        let bad = || format!("the header {name} cannot be sent");
        let value = http::HeaderValue::from_str(&value).map_err(|_| bad())?;
        let name = http::HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        config.custom_headers.insert(name, value);
    }
    // A message is never sent twice: a call might run twice.
    config.reinit_on_expired_session = false;
    let reaching = HttpTransport {
        http: host.http_for(&http.url),
        keeper: connection.token_manager().cloned(),
    };
    let transport = StreamableHttpClientTransport::with_client(reaching, config);
    let gate = Arc::new(InboundGate::new(connection.weak()));
    let transport = GatedTransport::new(transport, gate);
    let ours = McpClientHandler(connection.weak());
    let served = ours.serve_with_lifecycle(transport, lifecycle(connection).await).await;
    served.map_err(|error| {
        if error.is_authorization_required() {
            return ConnectError::unauthorized(connection);
        }
        words(&error, "", None).into()
    })
}

/// Renders an error with its causes, unless its own text contains them.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !words.contains(&more) {
            words = format!("{words}: {more}");
        }
        cause = next.source();
    }
    words
}

/// Explains why the connection failed, with the first error in the program's output; later errors
/// are mostly consequences.
fn words(error: &ClientInitializeError, wrote: &str, explained: Option<&str>) -> String {
    let error: String = with_causes(error).chars().take(500).collect();
    let first = start_output::first_error(wrote);
    let wrote = first.map_or_else(String::new, |line| format!("; it wrote: {line}"));
    let explained = explained.map_or_else(String::new, |text| format!(". {text}"));
    format!("{error}{wrote}{explained}")
}

/// Subscribes to changes, in revisions where a client must ask for notifications.
fn listen(connection: &Connection, peer: Peer<RoleClient>) {
    let connection = connection.weak();
    tokio::spawn(async move {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let Ok(mut news) = peer.listen(filter).await else { return };
        // The gate has already processed the notifications.
        while let Ok(Some(_)) = news.next().await {
            if connection.strong_count() == 0 {
                return;
            }
        }
    });
}
