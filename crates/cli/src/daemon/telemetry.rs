//! Figures and spans of the daemon, by the variables of OpenTelemetry: without an endpoint nothing
//! leaves this machine.

use std::sync::Arc;

use tokio::runtime::Handle;
use toolcrib_app::Toolcrib;
use toolcrib_server::{Otlp, OtlpSettings, Telemetry};

use crate::config::Env;
use crate::output::Failure;

/// What is observed, and what sends it.
pub(crate) struct TelemetryExport {
    /// For the daemon and its stores.
    pub(crate) observe: Telemetry,
    /// Headers of the requests to a collector: keys of services.
    secrets: Vec<String>,
    otlp: Option<Arc<Otlp>>,
}

impl TelemetryExport {
    /// Begins; needs a runtime around it.
    ///
    /// # Errors
    /// Exit code 3 for a variable that makes no sense.
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

    /// All keys that it knows are masked from here on.
    pub(crate) fn register_secrets(&self, toolcrib: &Toolcrib) {
        let secrets = &toolcrib.engine().sealing().secrets;
        secrets.add(self.secrets.iter().map(String::as_str));
    }

    /// Sends what is left.
    pub(crate) async fn shut_down(self) {
        if let Some(otlp) = self.otlp {
            let _ = tokio::task::spawn_blocking(move || otlp.shutdown()).await;
        }
    }
}
