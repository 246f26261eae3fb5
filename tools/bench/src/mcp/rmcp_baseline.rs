//! The baseline of the comparison: a server of `rmcp` alone, this program in another role, with a
//! tool that does as little as possible.

use std::sync::Arc;

use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use serde_json::{Value, json};
use tokio::net::unix::pipe;
use toolcrib_app::mcp::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig,
    Tool, ToolAnnotations,
};
use toolcrib_app::mcp::rmcp::service::{RequestContext, RoleServer};
use toolcrib_app::mcp::rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use toolcrib_app::mcp::rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use toolcrib_app::mcp::rmcp::{ServerHandler, ServiceExt as _};

/// The words that make this program the server, over its input and output or over HTTP; then the
/// number of its tools.
pub(crate) const OVER_STDIO: &str = "--mcp-bare-stdio";
pub(crate) const OVER_HTTP: &str = "--mcp-bare-http";

/// The name of its first tool; the others have numbers.
pub(super) const TOOL: &str = "now";

#[derive(Clone)]
struct BaselineServer {
    tools: Arc<Vec<Tool>>,
}

impl BaselineServer {
    fn with(tools: usize) -> Self {
        let name = |n: usize| if n == 0 { TOOL.to_owned() } else { format!("{TOOL}_{n}") };
        Self { tools: Arc::new((0..tools).map(|n| tool(name(n))).collect()) }
    }
}

/// A definition of a common size.
fn tool(name: String) -> Tool {
    let schema = json!({
        "type": "object",
        "properties": {
            "timezone": {"type": "string", "description": "IANA time zone such as America/New_York, UTC, or an offset such as +02:00. Default: the local time zone."},
            "format": {"type": "string", "enum": ["iso8601", "human_readable"], "description": "How it is written."},
            "rounds": {"type": "integer", "minimum": 0, "maximum": 1000, "description": "How many there are at most."},
        },
    });
    let schema = schema.as_object().cloned().unwrap_or_default();
    let words = "Get the current date and time, in the local or any other time zone.";
    let reads = ToolAnnotations::new().read_only(true);
    Tool::new(name, words, Arc::new(schema)).with_annotations(reads)
}

impl ServerHandler for BaselineServer {
    fn get_info(&self) -> ServerConfig {
        let mut info = ServerConfig::new(ServerCapabilities::builder().enable_tools().build());
        info.server_info = Implementation::new("bare", "1");
        info
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.to_vec()))
    }

    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let words = json!({"time": now.unwrap_or_default().as_millis() as u64}).to_string();
        let result = CallToolResult::success(vec![ContentBlock::text(words)]);
        Ok(CallToolResponse::Complete(result))
    }
}

/// This program as such a server, if its words say so.
pub(crate) fn serve(words: &[String]) -> bool {
    let [role, tools] = words else { return false };
    let bare = || BaselineServer::with(tools.parse().expect("a number of tools"));
    // As our own server over input and output, and as our daemon.
    match role.as_str() {
        OVER_STDIO => {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            runtime.expect("a runtime").block_on(over_stdio(bare()));
        }
        OVER_HTTP => {
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
            runtime.expect("a runtime").block_on(over_http(bare()));
        }
        _ => return false,
    }
    true
}

async fn over_stdio(bare: BaselineServer) {
    use std::os::fd::AsFd as _;
    let own = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().expect("a pipe");
    let input = pipe::Receiver::from_owned_fd(own(std::io::stdin().as_fd())).expect("a pipe");
    let output = pipe::Sender::from_owned_fd(own(std::io::stdout().as_fd())).expect("a pipe");
    if let Ok(running) = bare.serve((input, output)).await {
        let _ = running.waiting().await;
    }
}

async fn over_http(bare: BaselineServer) {
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(move || Ok(bare.clone()), sessions, config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
    let address: Value = json!({"url": format!("http://{}", listener.local_addr().expect("one"))});
    println!("{address}");
    loop {
        let (stream, _) = listener.accept().await.expect("a connection");
        stream.set_nodelay(true).expect("no delay");
        let service = TowerToHyperService::new(service.clone());
        tokio::spawn(async move {
            let served = hyper::server::conn::http1::Builder::new();
            let _ = served.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
