//! Forecasts of Open-Meteo, <https://open-meteo.com/en/docs>. Its data is CC BY 4.0; its public
//! service is for non-commercial use.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use toolcrib_core::CallCtx;

use super::conditions;
use super::forecast::{DAYS, Day, Forecast, Now};
use super::geocoding::Place;
use crate::web::{Service, ServiceError, Units};

/// The attribution that the license requires.
const ATTRIBUTION: &str = "Weather data by Open-Meteo.com (CC BY 4.0)";
const CURRENT: &str = "temperature_2m,apparent_temperature,relative_humidity_2m,precipitation,weather_code,wind_speed_10m,wind_direction_10m";
const DAILY: &str = "weather_code,temperature_2m_max,temperature_2m_min,precipitation_sum,precipitation_probability_max,wind_speed_10m_max";

#[derive(Deserialize)]
struct Answer {
    timezone: Option<String>,
    current: Current,
    daily: Daily,
}

#[derive(Deserialize)]
struct Current {
    time: String,
    temperature_2m: Option<f64>,
    apparent_temperature: Option<f64>,
    relative_humidity_2m: Option<f64>,
    precipitation: Option<f64>,
    weather_code: Option<u64>,
    wind_speed_10m: Option<f64>,
    wind_direction_10m: Option<f64>,
}

#[derive(Deserialize)]
struct Daily {
    time: Vec<String>,
    weather_code: Vec<Option<u64>>,
    temperature_2m_max: Vec<Option<f64>>,
    temperature_2m_min: Vec<Option<f64>>,
    precipitation_sum: Vec<Option<f64>>,
    precipitation_probability_max: Vec<Option<f64>>,
    wind_speed_10m_max: Vec<Option<f64>>,
}

/// Fetches the forecast for a place.
pub(super) async fn forecast(
    service: &Service,
    place: &Place,
    units: Units,
    ctx: &CallCtx,
) -> Result<Forecast, ServiceError> {
    let position = [place.latitude, place.longitude].map(|degrees| format!("{degrees:.4}"));
    let [latitude, longitude] = &position;
    let days = DAYS.to_string();
    let mut query = vec![
        ("latitude", latitude.as_str()),
        ("longitude", longitude),
        ("current", CURRENT),
        ("daily", DAILY),
        ("timezone", "auto"),
        ("forecast_days", &days),
    ];
    if units == Units::Imperial {
        query.extend([
            ("temperature_unit", "fahrenheit"),
            ("wind_speed_unit", "mph"),
            ("precipitation_unit", "inch"),
        ]);
    }
    let answer: Answer = service.get_json("/v1/forecast", &query, ctx).await?;
    let Answer { timezone, current, daily } = answer;
    let place = Place { timezone: timezone.or_else(|| place.timezone.clone()), ..place.clone() };
    Ok(Forecast {
        place,
        units,
        now: Now {
            time: current.time.replace('T', " "),
            conditions: current.weather_code.map_or("", conditions::of_wmo_code).to_owned(),
            temperature: current.temperature_2m,
            feels_like: current.apparent_temperature,
            humidity: current.relative_humidity_2m,
            wind: current.wind_speed_10m,
            wind_from: current.wind_direction_10m,
            precipitation: current.precipitation,
        },
        days: days_of(&daily),
        attribution: ATTRIBUTION,
    })
}

fn days_of(daily: &Daily) -> Vec<Day> {
    fn at<T: Copy>(values: &[Option<T>], index: usize) -> Option<T> {
        values.get(index).copied().flatten()
    }
    let day = |(index, date): (usize, &String)| Day {
        date: date.clone(),
        conditions: at(&daily.weather_code, index).map_or("", conditions::of_wmo_code).to_owned(),
        low: at(&daily.temperature_2m_min, index),
        high: at(&daily.temperature_2m_max, index),
        precipitation: at(&daily.precipitation_sum, index),
        precipitation_chance: at(&daily.precipitation_probability_max, index),
        wind: at(&daily.wind_speed_10m_max, index),
    };
    daily.time.iter().take(DAYS).enumerate().map(day).collect()
}
