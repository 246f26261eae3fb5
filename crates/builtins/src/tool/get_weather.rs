//! `get_weather`: the weather now, today and in the next days.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use toolcrib_core::{
    Assessment, CallCtx, Permission, Reach, Tool, ToolError, ToolOutput, ToolSpec, Trust, defaults,
};

use super::{base_spec, examples};
use crate::web::Units;
use crate::web::weather::WeatherStation;

/// Longest name of a place, in characters.
const MAX_PLACE: usize = 100;

/// Handler of `get_weather`.
pub(crate) struct GetWeather {
    pub(crate) station: Arc<WeatherStation>,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Args {
    /// City, `City, Region or Country`, or `LATITUDE,LONGITUDE`. Default: the user's place.
    place: Option<String>,
    /// metric or imperial. Default: the user's.
    units: Option<UnitSystem>,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum UnitSystem {
    Metric,
    Imperial,
}

pub(crate) fn spec() -> ToolSpec {
    let mut spec = base_spec::<Args>(
        "get_weather",
        "Get the weather",
        "Get the weather of a place: now, today and the next 6 days. Show its attribution.",
    );
    spec.group = Some("network".to_owned());
    spec.parameter_aliases =
        super::aliases([("location", "place"), ("city", "place"), ("unit", "units")]);
    spec.reach = Reach { outbound: true, ..Reach::default() };
    spec.permissions = vec![Permission::Network];
    spec.timeout = defaults::TIMEOUT_NETWORK;
    spec.trust = Trust::External;
    spec.examples = examples([
        ("Will it rain here tomorrow?", json!({})),
        ("How warm is it in Vienna?", json!({"place": "Vienna, Austria"})),
    ]);
    spec
}

impl Tool for GetWeather {
    type Args = Args;

    fn spec(&self) -> ToolSpec {
        spec()
    }

    fn assess(&self, spec: &ToolSpec, args: &Args) -> Result<Assessment, ToolError> {
        let place = args.place.as_deref().unwrap_or("the person's place");
        if place.chars().count() > MAX_PLACE {
            return Err(ToolError::validation(format!(
                "place is longer than {MAX_PLACE} characters. Name a city."
            )));
        }
        Ok(Assessment::from_spec(spec).with_summary(format!("get the weather of {place}")))
    }

    async fn call(&self, ctx: &CallCtx, args: Args) -> Result<ToolOutput, ToolError> {
        let locale = Some(ctx.context.surroundings.locale.as_str());
        let units = match args.units {
            Some(UnitSystem::Metric) => Some(Units::Metric),
            Some(UnitSystem::Imperial) => Some(Units::Imperial),
            None => {
                locale.filter(|locale| !locale.is_empty()).map(|own| self.station.units_of(own))
            }
        };
        let place = args.place.as_deref().filter(|place| !place.trim().is_empty());
        let here = Some(ctx.context.surroundings.place.as_str()).filter(|here| !here.is_empty());
        let place = place.or(here);
        let (forecast, remark) = self.station.forecast(place, units, ctx).await?;
        let mut text = forecast.text();
        if let Some(remark) = remark {
            text.push_str(&format!("\n({remark})"));
        }
        let data = serde_json::to_value(&forecast).unwrap_or(Value::Null);
        Ok(ToolOutput::text(text)
            .with_structured(data)
            .with_origin(Trust::External, forecast.attribution))
    }
}
