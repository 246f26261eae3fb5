//! Information from a client about the person who asks.

use axum::http::{HeaderMap, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolcrib_assistant::time::parse_zone;
use toolcrib_core::Surroundings;

use crate::problem::Problem;

/// Information from a client about the person who asks, for the prompt and for tools that use it.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct PersonSurroundings {
    /// Language and region, such as `de-AT`.
    pub(crate) locale: Option<String>,
    /// IANA name of the time zone, such as `Europe/Vienna`.
    pub(crate) time_zone: Option<String>,
    /// Place of the person: a name such as `Vienna, Austria`, or `LATITUDE,LONGITUDE`.
    pub(crate) place: Option<String>,
    /// Kind of device, such as `phone`.
    pub(crate) device: Option<String>,
}

impl PersonSurroundings {
    /// Validates the information, and uses the locale of the header if the client gives none.
    pub(crate) fn checked(self, accept_language: Option<&str>) -> Result<Surroundings, Problem> {
        let said = Surroundings {
            locale: self.locale.unwrap_or_default(),
            time_zone: self.time_zone.unwrap_or_default(),
            place: self.place.unwrap_or_default(),
            device: self.device.unwrap_or_default(),
        };
        let refuse = |why: &str| Problem::invalid(format!("surroundings: {why}"));
        said.check().map_err(refuse)?;
        parse_zone(said.zone()).map_err(|error| refuse(&error.to_string()))?;
        if !said.locale.is_empty() {
            return Ok(said);
        }
        // Ignore an invalid header: browsers and proxies write it, so it must not fail the request.
        let locale = accept_language.map(preferred_language).unwrap_or_default();
        let with_header = Surroundings { locale, ..said.clone() };
        Ok(if with_header.check().is_ok() { with_header } else { said })
    }
}

/// Returns the language of an `Accept-Language` header with the largest weight, the first of equal
/// ones (RFC 9110, 12.5.4).
fn preferred_language(header: &str) -> String {
    let weighted = header.split(',').filter_map(|part| {
        let mut words = part.split(';').map(str::trim);
        let tag = words.next().filter(|tag| !tag.is_empty() && *tag != "*")?;
        let weight = words.find_map(|word| word.strip_prefix("q=")?.parse::<f32>().ok());
        Some((weight.unwrap_or(1.0), tag))
    });
    let best = weighted.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(weight, _)| *weight > 0.0).map(|(_, tag)| tag.to_owned()).unwrap_or_default()
}

/// Returns the `Accept-Language` header of a request, if it is text.
pub(crate) fn accept_language(headers: &HeaderMap) -> Option<&str> {
    headers.get(header::ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_language_with_the_largest_weight_is_preferred() {
        for (header, expected) in [
            ("de-AT,de;q=0.9,en;q=0.8", "de-AT"),
            ("en;q=0.5, fr;q=0.7, *;q=0.9", "fr"),
            ("*", ""),
            ("de;q=0", ""),
            ("", ""),
            ("en;q=nonsense", "en"),
        ] {
            assert_eq!(preferred_language(header), expected, "{header}");
        }
    }

    #[test]
    fn a_field_counts_more_than_the_header_and_nonsense_is_refused() {
        let field = |json: serde_json::Value| -> PersonSurroundings {
            serde_json::from_value(json).unwrap()
        };
        let said = field(json!({"locale": "sv-SE", "time_zone": "Europe/Stockholm"}));
        let known = said.checked(Some("de")).unwrap();
        assert_eq!((&*known.locale, &*known.time_zone), ("sv-SE", "Europe/Stockholm"));
        let none = PersonSurroundings::default();
        assert_eq!(none.clone().checked(Some("de-AT, en")).unwrap().locale, "de-AT");
        assert!(none.clone().checked(Some("de{}, en")).unwrap().is_empty());
        assert!(none.checked(None).unwrap().is_empty());
        for bad in [
            json!({"time_zone": "Mars/Phobos"}),
            json!({"locale": "de AT"}),
            json!({"place": "a\nb"}),
        ] {
            assert!(field(bad.clone()).checked(None).is_err(), "{bad}");
        }
    }
}
