//! Server under test of the official MCP conformance suite: its tools are registry entries, and
//! every call goes through the pipeline.
//!
//! `conformance_server --port P`, then `conformance server --url http://127.0.0.1:P/mcp`.

#![expect(clippy::print_stderr, reason = "it is for people")]

mod backend;
mod long_running;
mod resources_and_prompts;
mod tools;

use std::sync::Arc;

use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use toolcrib_core::entry::FixedSource;
use toolcrib_engine::{Engine, EngineSettings, Policy, Preset};
use toolcrib_mcp::client_channel::ClientChannels;
use toolcrib_mcp::server::{HttpSettings, McpServer, ToolListMode, service};

type Failed = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let port: u16 = match std::env::args().skip_while(|arg| arg != "--port").nth(1) {
        Some(port) => port.parse()?,
        None => 0,
    };
    let desk = ClientChannels::default();
    let settings = EngineSettings { preset: Preset::Auto, ..EngineSettings::default() };
    let engine = Engine::builder().policy(Policy { settings, ..Policy::default() }).build();
    let source = FixedSource::new("fixture", tools::all(&desk));
    engine.catalog().attach(&source).await.map_err(|error| error.message)?;
    let backend = Arc::new(backend::EngineBackend::new(engine));
    let serve =
        McpServer::new(backend, desk, ToolListMode::Direct, [7; 32]).with_capabilities(|own| {
            own.logging = Some(Default::default());
            if let Some(resources) = &mut own.resources {
                resources.subscribe = Some(true);
            }
        });
    let serve = serve.with_tasks_after(long_running::SOON);
    let hosts = vec!["127.0.0.1".to_owned(), "localhost".to_owned(), "[::1]".to_owned()];
    let stop = Default::default();
    let service = service(serve, HttpSettings { hosts, body_bytes: 4 << 20, stop });
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", port)).await?;
    eprintln!("http://{}/mcp", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        tokio::spawn(async move {
            let service = service_fn(|request| async {
                Ok::<_, std::convert::Infallible>(service.handle(request).await)
            });
            let served = hyper::server::conn::http1::Builder::new();
            let _ = served.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
