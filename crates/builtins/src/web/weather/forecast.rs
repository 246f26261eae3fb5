//! The common form of a forecast from all services, as text and as data.
#![deny(clippy::indexing_slicing)]

use std::fmt::Write as _;

use jiff::civil::Date;
use serde::Serialize;

use super::geocoding::Place;
use crate::web::Units;

/// Number of days of a forecast.
pub(super) const DAYS: usize = 7;

/// The weather of a place. Values have the units of [`Self::units`].
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Forecast {
    pub(crate) place: Place,
    #[serde(serialize_with = "unit_names")]
    pub(crate) units: Units,
    pub(crate) now: Now,
    /// Today and the following days.
    pub(crate) days: Vec<Day>,
    /// The source of the data, which must be shown.
    pub(crate) attribution: &'static str,
}

/// The current weather.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(crate) struct Now {
    /// Local time at the place.
    pub(crate) time: String,
    pub(crate) conditions: String,
    pub(crate) temperature: Option<f64>,
    pub(crate) feels_like: Option<f64>,
    /// In percent.
    pub(crate) humidity: Option<f64>,
    pub(crate) wind: Option<f64>,
    /// The direction from which the wind comes, in degrees.
    pub(crate) wind_from: Option<f64>,
    pub(crate) precipitation: Option<f64>,
}

/// The weather of a day.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(crate) struct Day {
    /// `YYYY-MM-DD`.
    pub(crate) date: String,
    pub(crate) conditions: String,
    pub(crate) low: Option<f64>,
    pub(crate) high: Option<f64>,
    pub(crate) precipitation: Option<f64>,
    /// Probability in percent.
    pub(crate) precipitation_chance: Option<f64>,
    pub(crate) wind: Option<f64>,
}

fn unit_names<S: serde::Serializer>(units: &Units, s: S) -> Result<S::Ok, S::Error> {
    let [temperature, speed, length] = names(*units);
    serde_json::json!({"temperature": temperature, "wind": speed, "precipitation": length})
        .serialize(s)
}

/// Returns the names of the units of temperature, speed and precipitation.
fn names(units: Units) -> [&'static str; 3] {
    match units {
        Units::Metric => ["°C", "km/h", "mm"],
        Units::Imperial => ["°F", "mph", "inch"],
    }
}

impl Forecast {
    /// Renders the forecast for models and people.
    pub(crate) fn text(&self) -> String {
        let Place { latitude, longitude, timezone, .. } = &self.place;
        let zone = timezone.as_deref().map(|zone| format!(" {zone}")).unwrap_or_default();
        let mut text = format!(
            "{} ({latitude:.2},{longitude:.2}), {}{zone}\nNow: {}",
            self.place.label(),
            self.now.time,
            self.now_line()
        );
        for (index, day) in self.days.iter().enumerate() {
            let name = match day.date.parse::<Date>() {
                _ if index == 0 => "Today".to_owned(),
                Ok(date) => date.strftime("%a %Y-%m-%d").to_string(),
                Err(_) => day.date.clone(),
            };
            // Writing to a `String` cannot fail.
            let _ = write!(text, "\n{name}: {}", self.day_line(day));
        }
        let _ = write!(text, "\n{}", self.attribution);
        text
    }

    fn now_line(&self) -> String {
        let [degrees, speed, length] = names(self.units);
        let now = &self.now;
        let feels = now.feels_like.map(|value| format!(" (feels like {value:.0} {degrees})"));
        let from = now.wind_from.map(|degrees| format!(" from {}", compass(degrees)));
        let parts = [
            now.temperature
                .map(|value| format!("{value:.1} {degrees}{}", feels.unwrap_or_default())),
            Some(now.conditions.clone()),
            now.wind.map(|value| format!("wind {value:.0} {speed}{}", from.unwrap_or_default())),
            now.humidity.map(|value| format!("humidity {value:.0} %")),
            now.precipitation
                .filter(|value| *value > 0.0)
                .map(|value| format!("precipitation {value:.1} {length}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }

    fn day_line(&self, day: &Day) -> String {
        let [degrees, speed, length] = names(self.units);
        let range = match (day.low, day.high) {
            (Some(low), Some(high)) => Some(format!("{low:.0} to {high:.0} {degrees}")),
            (None, Some(one)) | (Some(one), None) => Some(format!("{one:.0} {degrees}")),
            (None, None) => None,
        };
        let chance = day.precipitation_chance.map(|chance| format!(" ({chance:.0} %)"));
        let parts = [
            range,
            Some(day.conditions.clone()),
            day.precipitation.map(|amount| {
                format!("precipitation {amount:.1} {length}{}", chance.unwrap_or_default())
            }),
            day.wind.map(|value| format!("wind up to {value:.0} {speed}")),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

/// Returns one of eight directions.
fn compass(degrees: f64) -> &'static str {
    // 22.5° to each side of a direction; the sector is 0 to 7.
    match ((degrees.rem_euclid(360.0) + 22.5) / 45.0) as u8 % 8 {
        0 => "N",
        1 => "NE",
        2 => "E",
        3 => "SE",
        4 => "S",
        5 => "SW",
        6 => "W",
        _ => "NW",
    }
}
