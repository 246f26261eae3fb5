//! The weather against servers with the formats of the services.

use std::sync::Arc;

use serde_json::{Value, json};
use toolcrib_core::ErrorType;

use super::WeatherStation;
use crate::service_server::{Reply, ServiceServer, client};
use crate::test_support::context;
use crate::web::location::Locator;
use crate::web::{LocationSettings, Units, WeatherSettings};

fn places(names: &[(&str, &str, &str, f64, u64)]) -> String {
    let place = |(name, region, code, latitude, population): &(&str, &str, &str, f64, u64)| {
        json!({
            "id": 2950159, "name": name, "latitude": latitude, "longitude": 13.41, "elevation": 74.0,
            "feature_code": "PPLC", "country_code": code, "admin1_id": 1, "timezone": "Europe/Berlin",
            "population": population, "country": if *code == "DE" { "Germany" } else { "United States" },
            "admin1": region
        })
    };
    let results: Vec<Value> = names.iter().map(place).collect();
    json!({"results": results, "generationtime_ms": 0.6}).to_string()
}

fn open_meteo() -> Value {
    json!({
        "latitude": 52.52, "longitude": 13.419998, "generationtime_ms": 0.2, "utc_offset_seconds": 3600,
        "timezone": "Europe/Berlin", "timezone_abbreviation": "GMT+1", "elevation": 38.0,
        "current_units": {"time": "iso8601", "temperature_2m": "°C"},
        "current": {"time": "2026-11-26T14:00", "interval": 900, "temperature_2m": 7.2, "apparent_temperature": 4.1,
            "relative_humidity_2m": 81, "precipitation": 0.3, "weather_code": 61, "wind_speed_10m": 14.4, "wind_direction_10m": 230},
        "daily_units": {"time": "iso8601"},
        "daily": {"time": ["2026-11-26", "2026-11-27"], "weather_code": [61, 3], "temperature_2m_max": [8.9, 7.0],
            "temperature_2m_min": [4.0, null], "precipitation_sum": [2.1, 0.0], "precipitation_probability_max": [70, null],
            "wind_speed_10m_max": [25.0, 12.0]}
    })
}

fn met_norway() -> Value {
    let step = |time: &str, degrees: f64, hours: &str, symbol: &str, amount: f64| {
        json!({"time": time, "data": {
            "instant": {"details": {"air_pressure_at_sea_level": 1010.1, "air_temperature": degrees, "cloud_area_fraction": 90.0,
                "relative_humidity": 80.5, "wind_from_direction": 45.0, "wind_speed": 5.0}},
            hours: {"summary": {"symbol_code": symbol}, "details": {"precipitation_amount": amount}}
        }})
    };
    json!({"type": "Feature", "geometry": {"type": "Point", "coordinates": [13.41, 52.52, 34]}, "properties": {
        "meta": {"updated_at": "2026-11-26T12:30:00Z", "units": {"air_temperature": "celsius", "wind_speed": "m/s"}},
        "timeseries": [
            step("2026-11-26T13:00:00Z", 7.0, "next_1_hours", "lightrain", 0.4),
            step("2026-11-26T14:00:00Z", 8.0, "next_1_hours", "lightrain", 0.6),
            step("2026-11-27T11:00:00Z", 2.0, "next_6_hours", "partlycloudy_day", 0.0)
        ]
    }})
}

/// Starts a server for the three services, which answers by path.
async fn services(geocoding: String, forecast: Reply) -> ServiceServer {
    ServiceServer::start(move |request| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        match path.split('?').next().unwrap_or_default() {
            "/v1/search" => Reply::json(geocoding.clone()),
            "/v1/forecast" => forecast.clone(),
            "/weatherapi/locationforecast/2.0/compact" => Reply::json(met_norway().to_string()),
            "/here" => Reply::json(
                json!({"ip": "192.0.2.1", "city": "Berlin", "region": "Land Berlin", "country": "DE",
                    "loc": "52.5244,13.4105", "org": "AS1", "postal": "10178", "timezone": "Europe/Berlin"})
                .to_string(),
            ),
            _ => Reply::new("404 Not Found", "text/plain", ""),
        }
    })
    .await
}

fn station(server: &ServiceServer, locale: Option<&str>) -> WeatherStation {
    let base = Some(server.base());
    let settings = WeatherSettings {
        forecast: base.clone(),
        geocoding: base.clone(),
        fallback: base,
        units: None,
    };
    let here = vec![format!("{}/here", server.base())];
    let location = LocationSettings { services: Some(here), database: None };
    WeatherStation::new(&client(), &settings, locale, Arc::new(Locator::new(&client(), &location)))
}

const BERLIN: &[(&str, &str, &str, f64, u64)] = &[
    ("Berlin", "Land Berlin", "DE", 52.52, 3_426_354),
    ("Berlin", "New Hampshire", "US", 44.47, 9_367),
    ("Berlin Heights", "Ohio", "US", 41.3, 714),
];
const SPRINGFIELD: &[(&str, &str, &str, f64, u64)] = &[
    ("Springfield", "Missouri", "US", 37.2, 166_810),
    ("Springfield", "Massachusetts", "US", 42.1, 154_341),
    ("Springfield", "Illinois", "US", 39.8, 116_565),
];

#[tokio::test]
async fn a_city_that_stands_out_is_the_one_that_is_meant() {
    let server = services(places(BERLIN), Reply::json(open_meteo().to_string())).await;
    let station = station(&server, Some("de-AT"));
    let (forecast, remark) = station.forecast(Some("Berlin"), None, &context()).await.unwrap();
    assert_eq!(
        forecast.text(),
        "Berlin, Land Berlin, Germany (52.52,13.41), 2026-11-26 14:00 Europe/Berlin\n\
         Now: 7.2 °C (feels like 4 °C), light rain, wind 14 km/h from SW, humidity 81 %, precipitation 0.3 mm\n\
         Today: 4 to 9 °C, light rain, precipitation 2.1 mm (70 %), wind up to 25 km/h\n\
         Fri 2026-11-27: 7 °C, overcast, precipitation 0.0 mm, wind up to 12 km/h\n\
         Weather data by Open-Meteo.com (CC BY 4.0)"
    );
    assert_eq!(remark, None);
    let seen = server.seen();
    assert!(seen[0].starts_with("GET /v1/search?name=Berlin&count=20&language=en&format=json"));
    assert!(seen[1].starts_with("GET /v1/forecast?latitude=52.5200&longitude=13.4100&current="));
    assert!(!seen[1].contains("fahrenheit"));
    // A second query within ten minutes sends no request.
    station.forecast(Some("berlin"), None, &context()).await.unwrap();
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn a_city_that_is_three_cities_is_asked_about() {
    let server = services(places(SPRINGFIELD), Reply::json(open_meteo().to_string())).await;
    let station = station(&server, Some("en-US"));
    let error = station.forecast(Some("Springfield"), None, &context()).await.unwrap_err();
    assert_eq!(error.error_type, ErrorType::ValidationError);
    let expected = "3 places are called Springfield: Springfield, Missouri, United States (37.20,13.41); Springfield, Massachusetts,";
    assert!(error.message.starts_with(expected), "{}", error.message);
    assert!(error.message.contains("Ask the person which one is meant"), "{}", error.message);
    let (forecast, _) =
        station.forecast(Some("springfield, illinois, usa"), None, &context()).await.unwrap();
    assert_eq!(forecast.place.label(), "Springfield, Illinois, United States");
    assert_eq!(forecast.units, Units::Imperial);
    assert!(server.seen().last().unwrap().contains("temperature_unit=fahrenheit"));
    let none = services(json!({"generationtime_ms": 0.1}).to_string(), Reply::json("{}")).await;
    let error = self::station(&none, None).forecast(Some("Xyzzy"), None, &context()).await;
    assert!(error.unwrap_err().message.starts_with("There is no place called Xyzzy."));
}

#[tokio::test]
async fn the_second_service_is_asked_when_the_first_is_at_its_limit() {
    let limit = json!({"error": true, "reason": "Minutely API request limit exceeded. Please try again in one minute."});
    let limit = Reply::new("429 Too Many Requests", "application/json", limit.to_string());
    let server = services(places(BERLIN), limit).await;
    let station = station(&server, None);
    let (forecast, remark) = station.forecast(Some("Berlin"), None, &context()).await.unwrap();
    assert_eq!(
        forecast.text(),
        "Berlin, Land Berlin, Germany (52.52,13.41), 2026-11-26 14:00 Europe/Berlin\n\
         Now: 7.0 °C, light rain, wind 18 km/h from NE, humidity 80 %, precipitation 0.4 mm\n\
         Today: 7 to 8 °C, light rain, precipitation 1.0 mm, wind up to 18 km/h\n\
         Fri 2026-11-27: 2 to 2 °C, partly cloudy, precipitation 0.0 mm, wind up to 18 km/h\n\
         Weather data by MET Norway (CC BY 4.0)"
    );
    let remark = remark.unwrap();
    assert!(remark.contains("(HTTP 429): Minutely API request limit exceeded"), "{remark}");
    let request = server.seen().last().unwrap().to_lowercase();
    assert!(request.contains("user-agent: toolcrib/"), "{request}");
    let (forecast, _) =
        station.forecast(Some("52.5,13.4"), Some(Units::Imperial), &context()).await.unwrap();
    assert_eq!(forecast.now.temperature, Some(44.6));
}

#[tokio::test]
async fn without_a_place_it_is_that_of_this_machine() {
    let server = services(String::new(), Reply::json(open_meteo().to_string())).await;
    let station = station(&server, None);
    let (forecast, _) = station.forecast(None, None, &context()).await.unwrap();
    assert_eq!(forecast.place.label(), "Berlin, Land Berlin, DE");
    assert!(server.seen()[1].contains("latitude=52.5244&longitude=13.4105"));
}

#[tokio::test]
async fn the_next_locator_is_asked_and_reasons_are_told() {
    let limit = json!({"error": true, "reason": "RateLimited", "message": "Visit https://ipapi.co/ratelimited/ for details"});
    let first = ServiceServer::with_reply(Reply::new(
        "429 Too Many Requests",
        "application/json",
        limit.to_string(),
    ))
    .await;
    let failed = json!({"ip": "192.0.2.1", "success": false, "message": "Reserved range"});
    let second = ServiceServer::with_reply(Reply::json(failed.to_string())).await;
    let good = json!({"ip": "192.0.2.1", "success": true, "type": "IPv4", "country": "Austria", "country_code": "AT",
        "region": "Vienna", "city": "Vienna", "latitude": 48.2081743, "longitude": 16.3738189, "timezone": {"id": "Europe/Vienna", "abbr": "CET"}});
    let third = ServiceServer::with_reply(Reply::json(good.to_string())).await;
    let settings = |servers: &[&ServiceServer]| LocationSettings {
        services: Some(servers.iter().map(|server| server.base()).collect()),
        database: None,
    };
    let locator = Locator::new(&client(), &settings(&[&first, &second, &third]));
    let here = locator.here(&context()).await.unwrap();
    assert_eq!(
        (here.city.as_deref(), here.timezone.as_deref()),
        (Some("Vienna"), Some("Europe/Vienna"))
    );
    locator.here(&context()).await.unwrap();
    assert_eq!(third.seen().len(), 1, "the place is kept for a day");
    let none = Locator::new(&client(), &settings(&[&first, &second]));
    let error = none.here(&context()).await.unwrap_err();
    for part in ["it is asked too often (HTTP 429): RateLimited", "Reserved range"] {
        assert!(error.message.contains(part), "{}", error.message);
    }
    let error = none.of_address("192.0.2.1".parse().unwrap()).unwrap_err();
    assert_eq!(error.error_type, ErrorType::NotConfigured);
}
