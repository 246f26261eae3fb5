//! Metrics and spans of the daemon, configured by the variables of OpenTelemetry: without an
//! endpoint, no data leaves this machine.

use std::sync::Arc;

use tokio::runtime::Handle;
use toolcrib_app::Toolcrib;
use toolcrib_server::{Otlp, OtlpSettings, Telemetry};

use crate::config::Env;
use crate::output::Failure;

/// The telemetry of the daemon, and its exporter.
pub(crate) struct TelemetryExport {
    /// Telemetry for the daemon and its stores.
    pub(crate) observe: Telemetry,
    /// Headers of the requests to a collector, which may be keys of services.
    secrets: Vec<String>,
    otlp: Option<Arc<Otlp>>,
}

impl TelemetryExport {
    /// Starts the export; must be called in a runtime.
    ///
    /// # Errors
    /// Exit code 3 for an invalid variable.
    pub(crate) fn start() -> Result<Self, Failure> {
        let env = Env::from_process();
        let wrong = |error: toolcrib_server::OtlpError| Failure::configuration(error.to_string());
        let Some(settings) =
            OtlpSettings::from_env(|name| env.text(name).ok().flatten()).map_err(wrong)?
        else {
            return Ok(Self { observe: Telemetry::default(), secrets: Vec::new(), otlp: None });
        };
        let otlp = Arc::new(Otlp::start(&settings, Handle::current()).map_err(wrong)?);
        tracing::info!(endpoint = settings.endpoint, "spans are sent to a collector");
        let secrets = settings.headers.into_iter().map(|(_, value)| value).collect();
        let observe = Telemetry::with_spans(Arc::clone(&otlp) as _);
        Ok(Self { observe, secrets, otlp: Some(otlp) })
    }

    /// Registers its keys as secrets to mask.
    pub(crate) fn register_secrets(&self, toolcrib: &Toolcrib) {
        let secrets = &toolcrib.engine().sealing().secrets;
        secrets.add(self.secrets.iter().map(String::as_str));
    }

    /// Exports the remaining spans.
    pub(crate) async fn shut_down(self) {
        if let Some(otlp) = self.otlp {
            let _ = tokio::task::spawn_blocking(move || otlp.shutdown()).await;
        }
    }
}
