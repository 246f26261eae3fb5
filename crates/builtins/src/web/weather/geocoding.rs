//! Finds places by name, with the geocoding API of Open-Meteo.
#![deny(clippy::indexing_slicing)]

use serde::{Deserialize, Serialize};
use toolcrib_core::{CallCtx, ToolError};

use crate::web::Service;

/// Maximum places that are requested.
const COUNT: &str = "20";
/// Maximum places that the question about an ambiguous name lists.
const LISTED: usize = 8;
/// Minimum ratio between the two largest places with one name for the largest to be chosen: Berlin
/// is the one in Germany, but no Springfield dominates.
const STANDS_OUT: u64 = 10;

/// A place on earth.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Place {
    pub(crate) name: String,
    /// State or province.
    #[serde(default, rename = "admin1", skip_serializing_if = "Option::is_none")]
    pub(crate) region: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) country: Option<String>,
    #[serde(default, skip_serializing)]
    pub(super) country_code: Option<String>,
    pub(crate) latitude: f64,
    pub(crate) longitude: f64,
    /// IANA time zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) timezone: Option<String>,
    #[serde(default, skip_serializing)]
    pub(super) population: Option<u64>,
}

#[derive(Deserialize)]
struct Answer {
    /// Missing if nothing was found.
    #[serde(default)]
    results: Vec<Place>,
}

impl Place {
    /// Creates a place with only a name and a position.
    pub(crate) fn new(name: String, latitude: f64, longitude: f64) -> Self {
        let (region, country, country_code, timezone) = (None, None, None, None);
        Self {
            name,
            region,
            country,
            country_code,
            latitude,
            longitude,
            timezone,
            population: None,
        }
    }

    /// Returns name, region and country.
    pub(crate) fn label(&self) -> String {
        let region = self.region.as_ref().filter(|region| **region != self.name);
        let parts = [Some(&self.name), region, self.country.as_ref()];
        parts.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(", ")
    }

    fn matches(&self, words: &[String]) -> bool {
        let own = [&self.region, &self.country, &self.country_code];
        words.iter().all(|word| {
            own.iter().any(|part| part.as_ref().is_some_and(|part| part.to_lowercase() == *word))
                || matches!(word.as_str(), "usa" | "us")
                    && self.country_code.as_deref() == Some("US")
                || matches!(word.as_str(), "uk") && self.country_code.as_deref() == Some("GB")
        })
    }
}

/// Parses `LATITUDE,LONGITUDE`.
pub(super) fn coordinates(text: &str) -> Option<(f64, f64)> {
    let (latitude, longitude) = text.split_once(',')?;
    let (latitude, longitude): (f64, f64) =
        (latitude.trim().parse().ok()?, longitude.trim().parse().ok()?);
    (latitude.abs() <= 90.0 && longitude.abs() <= 180.0).then_some((latitude, longitude))
}

/// Finds the place with this name: `City`, or `City, Region or Country`.
///
/// # Errors
/// No place or several places match, or the service cannot be reached.
pub(super) async fn find(service: &Service, name: &str, ctx: &CallCtx) -> Result<Place, ToolError> {
    let mut parts = name.split(',').map(str::trim).filter(|part| !part.is_empty());
    let Some(city) = parts.next() else {
        return Err(ToolError::validation("place is empty. Name a city, or leave place out.")
            .with_nothing_read());
    };
    let words: Vec<String> = parts.map(str::to_lowercase).collect();
    let query = [("name", city), ("count", COUNT), ("language", "en"), ("format", "json")];
    let answer: Answer = service.get_json("/v1/search", &query, ctx).await.map_err(|error| {
        error.into_tool_error(
            "The search for places",
            "Try again later, or give place as LATITUDE,LONGITUDE.",
        )
    })?;
    let found: Vec<Place> =
        answer.results.into_iter().filter(|place| place.matches(&words)).collect();
    choose(name, city, found)
}

fn choose(name: &str, city: &str, found: Vec<Place>) -> Result<Place, ToolError> {
    let is_namesake = |place: &&Place| place.name.to_lowercase() == city.to_lowercase();
    let mut namesakes: Vec<&Place> = found.iter().filter(is_namesake).collect();
    namesakes.sort_by_key(|place| std::cmp::Reverse(place.population.unwrap_or(0)));
    let size = |place: &Place| place.population.unwrap_or(0);
    let one = match namesakes.as_slice() {
        // Names in other languages: the service returns Vienna for Wien.
        [] => found.first(),
        [only] => Some(*only),
        [largest, second, ..] if size(largest) >= STANDS_OUT * size(second).max(1) => {
            Some(*largest)
        }
        several => return Err(which(name, several)),
    };
    one.cloned().ok_or_else(|| {
        ToolError::validation(format!("There is no place called {name}."))
            .with_instruction("Check the spelling, or give place as LATITUDE,LONGITUDE.")
    })
}

fn which(name: &str, several: &[&Place]) -> ToolError {
    let lines: Vec<String> = several
        .iter()
        .take(LISTED)
        .map(|place| format!("{} ({:.2},{:.2})", place.label(), place.latitude, place.longitude))
        .collect();
    let more = several.len().saturating_sub(LISTED);
    let more = if more > 0 { format!("; and {more} more") } else { String::new() };
    ToolError::validation(format!(
        "{} places are called {name}: {}{more}.",
        several.len(),
        lines.join("; ")
    ))
    .with_instruction(
        "Ask the person which one is meant, then call again with its region or country after a comma, or with LATITUDE,LONGITUDE.",
    )
}
