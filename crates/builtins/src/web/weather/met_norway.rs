//! Forecasts of MET Norway, <https://api.met.no/weatherapi/locationforecast/2.0/documentation>.
#![deny(clippy::indexing_slicing)]

use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};
use serde::{Deserialize, Deserializer, de};
use toolcrib_core::CallCtx;
use toolcrib_net::Request;

use super::conditions;
use super::forecast::{DAYS, Day, Forecast, Now};
use super::geocoding::Place;
use crate::web::{Service, ServiceError, Units};

/// The attribution that the license requires.
const ATTRIBUTION: &str = "Weather data by MET Norway (CC BY 4.0)";
/// The terms of service require a user agent that names the program.
const USER_AGENT: &str = concat!("toolcrib/", env!("CARGO_PKG_VERSION"), " weather tool");

#[derive(Deserialize)]
struct Answer {
    properties: Properties,
}

#[derive(Deserialize)]
struct Properties {
    timeseries: Vec<Step>,
}

#[derive(Deserialize)]
struct Step {
    #[serde(deserialize_with = "timestamp")]
    time: Timestamp,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    instant: Instant,
    next_1_hours: Option<Period>,
    next_6_hours: Option<Period>,
}

#[derive(Deserialize)]
struct Instant {
    details: Details,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Details {
    air_temperature: Option<f64>,
    relative_humidity: Option<f64>,
    wind_from_direction: Option<f64>,
    /// In m/s.
    wind_speed: Option<f64>,
    precipitation_amount: Option<f64>,
}

#[derive(Deserialize)]
struct Period {
    #[serde(default)]
    summary: Summary,
    #[serde(default)]
    details: Details,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Summary {
    symbol_code: String,
}

fn timestamp<'de, D: Deserializer<'de>>(d: D) -> Result<Timestamp, D::Error> {
    String::deserialize(d)?.parse().map_err(de::Error::custom)
}

/// Fetches the forecast for a place.
pub(super) async fn forecast(
    service: &Service,
    place: &Place,
    units: Units,
    ctx: &CallCtx,
) -> Result<Forecast, ServiceError> {
    // The service refuses more than four decimals.
    let position = [place.latitude, place.longitude].map(|degrees| format!("{degrees:.4}"));
    let [latitude, longitude] = &position;
    let query = [("lat", latitude.as_str()), ("lon", longitude)];
    let url = service.url("/weatherapi/locationforecast/2.0/compact", &query);
    let mut request = Request::get(url);
    request.headers.push(("User-Agent".to_owned(), USER_AGENT.to_owned()));
    let answer: Answer = service.json(&request, ctx).await?;
    let steps = answer.properties.timeseries;
    let zone = place.timezone.as_deref().and_then(|zone| TimeZone::get(zone).ok());
    let zone = zone.unwrap_or(TimeZone::UTC);
    let Some(first) = steps.first() else {
        return Err(ServiceError::new("its forecast is empty"));
    };
    let place = Place { timezone: zone.iana_name().map(str::to_owned), ..place.clone() };
    let now = now(first, &zone, units);
    let days = days(&steps, &zone, units);
    Ok(Forecast { place, units, now, days, attribution: ATTRIBUTION })
}

fn now(step: &Step, zone: &TimeZone, units: Units) -> Now {
    let details = &step.data.instant.details;
    let hour = step.data.next_1_hours.as_ref().or(step.data.next_6_hours.as_ref());
    Now {
        time: step.time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M").to_string(),
        conditions: hour
            .map(|hour| conditions::of_symbol(&hour.summary.symbol_code))
            .unwrap_or_default(),
        temperature: details.air_temperature.map(|value| temperature(value, units)),
        feels_like: None,
        humidity: details.relative_humidity,
        wind: details.wind_speed.map(|value| speed(value, units)),
        wind_from: details.wind_from_direction,
        precipitation: hour
            .and_then(|hour| hour.details.precipitation_amount)
            .map(|value| length(value, units)),
    }
}

/// Aggregates the steps of each local day. Steps of one hour are followed by steps of six hours.
fn days(steps: &[Step], zone: &TimeZone, units: Units) -> Vec<Day> {
    let mut days: Vec<Day> = Vec::new();
    for step in steps {
        let local: Zoned = step.time.to_zoned(zone.clone());
        let date = local.date().to_string();
        if days.last().is_none_or(|day| day.date != date) {
            if days.len() == DAYS {
                break;
            }
            days.push(Day { date, ..Day::default() });
        }
        let Some(day) = days.last_mut() else { continue };
        let details = &step.data.instant.details;
        if let Some(value) = details.air_temperature.map(|value| temperature(value, units)) {
            day.low = Some(day.low.map_or(value, |low| low.min(value)));
            day.high = Some(day.high.map_or(value, |high| high.max(value)));
        }
        if let Some(value) = details.wind_speed.map(|value| speed(value, units)) {
            day.wind = Some(day.wind.map_or(value, |wind| wind.max(value)));
        }
        let period = step.data.next_1_hours.as_ref().or(step.data.next_6_hours.as_ref());
        let Some(period) = period else { continue };
        if let Some(amount) = period.details.precipitation_amount {
            *day.precipitation.get_or_insert(0.0) += length(amount, units);
        }
        // Use the conditions around noon, or the first known ones, for the day.
        if day.conditions.is_empty() || local.hour() == 12 {
            day.conditions = conditions::of_symbol(&period.summary.symbol_code);
        }
    }
    days
}

fn temperature(celsius: f64, units: Units) -> f64 {
    match units {
        Units::Metric => celsius,
        Units::Imperial => celsius * 1.8 + 32.0,
    }
}

/// Converts a speed from m/s.
fn speed(value: f64, units: Units) -> f64 {
    match units {
        Units::Metric => value * 3.6,
        Units::Imperial => value * 2.236_936,
    }
}

/// Converts a length from mm.
fn length(value: f64, units: Units) -> f64 {
    match units {
        Units::Metric => value,
        Units::Imperial => value / 25.4,
    }
}
