//! `get_location_from_ip`: the place that an internet address is assigned to.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{CallCtx, Permission, Reach, Tool, ToolError, ToolOutput, ToolSpec, Trust};

use super::{base_spec, blocking, examples};
use crate::web::location::{Location, Locator};

/// Time of a call.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Handler of `get_location_from_ip`.
pub(crate) struct GetLocationFromIp {
    pub(crate) locator: Arc<Locator>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// Another address, looked up in the user's location database. Default: the address of this
    /// machine.
    ip: Option<String>,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "get_location_from_ip",
        "Get location from IP address",
        "Get the estimated city, country, position and time zone of this machine from its internet address. It can be wrong by a city or more.",
    );
    spec.group = Some("network".to_owned());
    spec.permissions = vec![Permission::Network];
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.timeout = TIMEOUT;
    spec.trust = Trust::External;
    spec.examples = examples([("Which city am I in?", json!({}))]);
    spec
}

impl Tool for GetLocationFromIp {
    type Args = Args;

    const ASSESSES: bool = false;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let location = match args.ip.as_deref().map(str::trim).filter(|ip| !ip.is_empty()) {
            None => self.locator.here(ctx).await?,
            Some(ip) => {
                let ip: IpAddr = ip.parse().map_err(|_| {
                    ToolError::validation(format!("{ip} is not an IP address such as 192.0.2.1."))
                })?;
                let locator = Arc::clone(&self.locator);
                blocking(move || locator.of_address(ip)).await?
            }
        };
        let data = serde_json::to_value(&location).unwrap_or(Value::Null);
        Ok(ToolOutput::text(text(&location))
            .with_structured(data)
            .with_origin(Trust::External, location.source.clone()))
    }
}

fn text(location: &Location) -> String {
    let names = [&location.city, &location.region, &location.country];
    let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
    let mut text = format!("Estimated place: {}", names.join(", "));
    if let (Some(latitude), Some(longitude)) = (location.latitude, location.longitude) {
        text.push_str(&format!(" ({latitude:.2},{longitude:.2})"));
    }
    if let Some(zone) = &location.timezone {
        text.push_str(&format!(", time zone {zone}"));
    }
    format!("{text}. Source: {}", location.source)
}
