//! Weather: places by name, forecasts of two services, and their common form.

mod conditions;
mod forecast;
mod geocoding;
mod met_norway;
mod open_meteo;
mod station;

#[cfg(test)]
mod tests;

pub(crate) use geocoding::Place;
pub(crate) use station::WeatherStation;
