//! The place of this machine's address, from services that return the place of the requesting
//! address, and of other addresses from a database of the owner.
#![deny(clippy::indexing_slicing)]

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use maxminddb::{MaxMindDbError, Reader, geoip2};
use serde::Serialize;
use serde_json::Value;
use toolcrib_core::{CallCtx, ErrorType, ToolError};
use toolcrib_net::HttpClient;

use super::weather::Place;
use super::{Cache, LocationSettings, Service, ServiceError};

/// Services that need no key, in the order of requests.
const PUBLIC: [&str; 3] = ["https://ipinfo.io/json", "https://ipapi.co/json", "https://ipwho.is"];
/// How long the place is cached: an address changes rarely, and the services allow few requests.
const CACHE_TIME: Duration = Duration::from_secs(24 * 3600);
/// Largest database that is read into memory, in bytes: three times the size of one with all
/// cities.
const MAX_DATABASE: u64 = 256 * 1024 * 1024;

/// The place of an address.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub(crate) struct Location {
    pub(crate) ip: Option<String>,
    pub(crate) city: Option<String>,
    pub(crate) region: Option<String>,
    pub(crate) country: Option<String>,
    pub(crate) latitude: Option<f64>,
    pub(crate) longitude: Option<f64>,
    pub(crate) timezone: Option<String>,
    /// The service or database that supplied the place.
    pub(crate) source: String,
}

impl Location {
    /// Returns the place, if its position is known.
    pub(crate) fn to_place(&self) -> Option<Place> {
        let name = self.city.clone().unwrap_or_else(|| "here".to_owned());
        let mut place = Place::new(name, self.latitude?, self.longitude?);
        place.region.clone_from(&self.region);
        place.country.clone_from(&self.country);
        place.timezone.clone_from(&self.timezone);
        Some(place)
    }
}

/// The services and the database.
pub(crate) struct Locator {
    services: Vec<Service>,
    database: Option<PathBuf>,
    cache: Cache<Location>,
}

impl Locator {
    pub(crate) fn new(client: &HttpClient, settings: &LocationSettings) -> Self {
        let services = match &settings.services {
            Some(urls) => urls.iter().map(|url| Service::new(client, Some(url), url)).collect(),
            None => PUBLIC.iter().map(|url| Service::new(client, None, url)).collect(),
        };
        let database = settings.database.clone();
        Self { services, database, cache: Cache::new(CACHE_TIME, 1) }
    }

    /// Returns the place of this machine.
    ///
    /// # Errors
    /// No service answered.
    pub(crate) async fn here(&self, ctx: &CallCtx) -> Result<Location, ToolError> {
        if let Some(location) = self.cache.get("") {
            return Ok(location);
        }
        let mut failed = Vec::new();
        for service in &self.services {
            let answer: Result<Value, ServiceError> = service.get_json("", &[], ctx).await;
            match answer.and_then(|answer| location(&answer, service.host())) {
                Ok(location) => {
                    self.cache.put(String::new(), location.clone());
                    return Ok(location);
                }
                Err(error) if error.is_final() => {
                    return Err(ToolError::new(error.kind, "The call was stopped."));
                }
                Err(error) => failed.push(format!("{}: {}", service.host(), error.reason)),
            }
        }
        let reasons = failed.join(". ");
        let text = format!("No service knows the place of this machine. {reasons}.");
        Err(ToolError::new(ErrorType::NetworkError, text)
            .with_instruction("Ask the person for the place."))
    }

    /// Looks up the place of an address in the database.
    ///
    /// # Errors
    /// There is no database, it cannot be read, or it does not contain the address.
    pub(crate) fn of_address(&self, ip: IpAddr) -> Result<Location, ToolError> {
        let Some(path) = &self.database else {
            return Err(ToolError::new(
                ErrorType::NotConfigured,
                "Other addresses are looked up in a database of places, and none is configured.",
            )
            .with_instruction("Tell the person that `web.location.database` names a .mmdb file."));
        };
        let unreadable = |why: String| {
            ToolError::new(ErrorType::NotConfigured, "The database of places cannot be read.")
                .with_instruction("Tell the person to check `web.location.database`.")
                .with_detail(why)
        };
        let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
        if size > MAX_DATABASE {
            return Err(unreadable(format!("it has {size} bytes")));
        }
        let reader = Reader::open_readfile(path).map_err(|error| unreadable(error.to_string()))?;
        let unknown =
            || ToolError::execution(format!("The database does not know the address {ip}."));
        let found = match reader.lookup(ip) {
            // An IPv6 address in a database of IPv4 addresses.
            Err(MaxMindDbError::InvalidInput { .. }) => return Err(unknown()),
            found => found.map_err(|error| unreadable(error.to_string()))?,
        };
        let city: Option<geoip2::City<'_>> =
            found.decode().map_err(|error| unreadable(error.to_string()))?;
        let city = city.ok_or_else(unknown)?;
        let owned = |name: Option<&str>| name.map(str::to_owned);
        Ok(Location {
            ip: Some(ip.to_string()),
            city: owned(city.city.names.english),
            region: owned(city.subdivisions.first().and_then(|region| region.names.english)),
            country: owned(city.country.names.english),
            latitude: city.location.latitude,
            longitude: city.location.longitude,
            timezone: owned(city.location.time_zone),
            source: "the database of the owner".to_owned(),
        })
    }
}

/// Parses the response of a service; the services use different names for the same values.
fn location(answer: &Value, source: String) -> Result<Location, ServiceError> {
    let refuses = answer.get("error").is_some_and(|error| error != &Value::Bool(false))
        || answer.get("success") == Some(&Value::Bool(false))
        || answer.get("status").and_then(Value::as_str) == Some("fail")
        || answer.get("bogon") == Some(&Value::Bool(true));
    let text = |names: &[&str]| {
        let mut values = names.iter().filter_map(|name| answer.pointer(name)?.as_str());
        values.find(|value| !value.trim().is_empty()).map(|value| value.trim().to_owned())
    };
    if refuses {
        let why = text(&["/reason", "/message", "/error/title", "/error/message"]);
        return Err(ServiceError::new(why.unwrap_or_else(|| "it refuses to answer".to_owned())));
    }
    let number = |names: &[&str]| names.iter().find_map(|name| answer.pointer(name)?.as_f64());
    let pair = text(&["/loc"]).and_then(|loc| {
        let (latitude, longitude) = loc.split_once(',')?;
        Some((latitude.parse::<f64>().ok()?, longitude.parse::<f64>().ok()?))
    });
    let latitude = number(&["/latitude", "/lat"]).or(pair.map(|pair| pair.0));
    let longitude = number(&["/longitude", "/lon"]).or(pair.map(|pair| pair.1));
    let location = Location {
        ip: text(&["/ip", "/query"]),
        city: text(&["/city"]),
        region: text(&["/region", "/region_name", "/regionName"]),
        country: text(&["/country_name", "/country", "/country_code"]),
        latitude: latitude.filter(|degrees| degrees.abs() <= 90.0),
        longitude: longitude.filter(|degrees| degrees.abs() <= 180.0),
        timezone: text(&["/timezone", "/timezone/id"]),
        source,
    };
    if location.country.is_none() && location.latitude.is_none() {
        return Err(ServiceError::new("its answer names no place"));
    }
    Ok(location)
}
