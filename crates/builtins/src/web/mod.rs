//! Shared parts of the web tools: settings, requests to services that the owner configured, caches,
//! and the services themselves.

mod cache;
pub(crate) mod docs;
pub(crate) mod feed;
pub(crate) mod gdelt;
pub(crate) mod location;
mod pace;
mod request_error;
pub(crate) mod search;
mod service;
mod settings;
pub(crate) mod weather;

pub(crate) use cache::Cache;
pub(crate) use pace::Pace;
pub(crate) use request_error::{ServiceError, refusal_of};
pub(crate) use service::Service;
pub use settings::{
    ApiKey, LocationSettings, SearchBackendKind, SearchBackendSettings, Units, WeatherSettings,
    WebSettings,
};
