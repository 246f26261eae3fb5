//! The weather of a place: finds the place, queries the services in order, and caches both.

use std::sync::Arc;
use std::time::Duration;

use toolcrib_core::{CallCtx, ToolError};
use toolcrib_net::HttpClient;

use super::forecast::Forecast;
use super::geocoding::{self, Place};
use super::{met_norway, open_meteo};
use crate::web::location::Locator;
use crate::web::{Cache, Service, ServiceError, Units, WeatherSettings};

/// How long a forecast is cached; the services renew theirs every 15 minutes to an hour.
const FORECAST_TIME: Duration = Duration::from_secs(10 * 60);
/// How long a place is cached.
const PLACE_TIME: Duration = Duration::from_secs(24 * 3600);
/// Number of cached forecasts and places.
const ENTRIES: usize = 256;

/// The services and the caches of their results.
pub(crate) struct WeatherStation {
    geocoding: Service,
    open_meteo: Service,
    met_norway: Service,
    /// The configured units.
    units: Option<Units>,
    /// Units for people whose locale is unknown.
    default_units: Units,
    locator: Arc<Locator>,
    places: Cache<Place>,
    forecasts: Cache<Forecast>,
}

impl WeatherStation {
    pub(crate) fn new(
        client: &HttpClient,
        settings: &WeatherSettings,
        locale: Option<&str>,
        locator: Arc<Locator>,
    ) -> Self {
        let at = |configured: &Option<String>, public: &str| {
            Service::new(client, configured.as_deref(), public)
        };
        Self {
            geocoding: at(&settings.geocoding, "https://geocoding-api.open-meteo.com"),
            open_meteo: at(&settings.forecast, "https://api.open-meteo.com"),
            met_norway: at(&settings.fallback, "https://api.met.no"),
            units: settings.units,
            default_units: Units::of_locale(locale),
            locator,
            places: Cache::new(PLACE_TIME, ENTRIES),
            forecasts: Cache::new(FORECAST_TIME, ENTRIES),
        }
    }

    /// Returns the units of a person with this locale.
    pub(crate) fn units_of(&self, locale: &str) -> Units {
        self.units.unwrap_or_else(|| Units::of_locale(Some(locale)))
    }

    /// Returns the forecast for a place, or for the place of this machine's address if none is
    /// given.
    ///
    /// # Errors
    /// No place or several places match, or no service answered.
    pub(crate) async fn forecast(
        &self,
        place: Option<&str>,
        units: Option<Units>,
        ctx: &CallCtx,
    ) -> Result<(Forecast, Option<String>), ToolError> {
        let place = self.place(place, ctx).await?;
        let units = units.or(self.units).unwrap_or(self.default_units);
        let key = format!("{:.2} {:.2} {units:?}", place.latitude, place.longitude);
        if let Some(forecast) = self.forecasts.get(&key) {
            return Ok((Forecast { place, ..forecast }, None));
        }
        let first = open_meteo::forecast(&self.open_meteo, &place, units, ctx).await;
        let (forecast, remark) = match first {
            Ok(forecast) => (forecast, None),
            Err(error) if error.is_final() => return Err(failed(&[error])),
            Err(error) => {
                let second = met_norway::forecast(&self.met_norway, &place, units, ctx).await;
                let remark = format!("Open-Meteo gave no forecast: {}.", error.reason);
                (second.map_err(|second| failed(&[error, second]))?, Some(remark))
            }
        };
        self.forecasts.put(key, forecast.clone());
        Ok((forecast, remark))
    }

    async fn place(&self, name: Option<&str>, ctx: &CallCtx) -> Result<Place, ToolError> {
        let Some(name) = name.map(str::trim).filter(|name| !name.is_empty()) else {
            let here = self.locator.here(ctx).await?;
            return here.to_place().ok_or_else(|| {
                ToolError::execution("The place of this machine is not known.")
                    .with_instruction("Ask the person for the place.")
            });
        };
        if let Some((latitude, longitude)) = geocoding::coordinates(name) {
            return Ok(Place::new(name.to_owned(), latitude, longitude));
        }
        let key = name.to_lowercase();
        if let Some(place) = self.places.get(&key) {
            return Ok(place);
        }
        let place = geocoding::find(&self.geocoding, name, ctx).await?;
        self.places.put(key, place.clone());
        Ok(place)
    }
}

fn failed(errors: &[ServiceError]) -> ToolError {
    let names = ["Open-Meteo", "MET Norway"];
    let reasons: Vec<String> =
        names.iter().zip(errors).map(|(name, error)| format!("{name}: {}", error.reason)).collect();
    let kind = errors.last().map_or(toolcrib_core::ErrorType::NetworkError, |error| error.kind);
    ToolError::new(kind, format!("No service gave a forecast. {}.", reasons.join(". ")))
        .with_instruction("Try again later, or tell the person.")
}
