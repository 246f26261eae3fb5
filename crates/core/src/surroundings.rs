//! Information from the surface about the person who asks: language, time zone, location and
//! device.

use serde::{Deserialize, Serialize};

/// Maximum length of a place, in characters.
const MAX_PLACE: usize = 100;
/// Maximum length of the other texts, in bytes: BCP 47 recommends room for 35, and the longest IANA
/// name has 32.
const MAX_WORD: usize = 64;

/// Surroundings of the person behind a call. An empty text means that the surface did not provide
/// the value.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Surroundings {
    /// Language and region as a BCP 47 tag, such as `de-AT`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub locale: String,
    /// IANA name of the time zone, such as `Europe/Vienna`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub time_zone: String,
    /// Where they are: a name such as `Vienna, Austria`, or `LATITUDE,LONGITUDE`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub place: String,
    /// Kind of device: `terminal`, `desktop`, `tablet` or `phone`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub device: String,
}

impl Surroundings {
    /// Returns whether the surface provided nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks that every text has the expected form. The check does not look up whether a time zone
    /// exists.
    ///
    /// # Errors
    /// The error names the field and the expected form, for the sender of the field.
    pub fn check(&self) -> Result<(), &'static str> {
        let is_word = |text: &str, more: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
            text.len() <= MAX_WORD && text.chars().all(fits)
        };
        if !is_word(&self.locale, "-") {
            return Err("locale must be a BCP 47 tag such as de-AT");
        }
        if !is_word(&self.time_zone, "_+-/") {
            return Err("time_zone must be an IANA name such as Europe/Vienna");
        }
        if self.place.chars().count() > MAX_PLACE || self.place.chars().any(char::is_control) {
            return Err("place must be one line of at most 100 characters");
        }
        if !is_word(&self.device, "-") {
            return Err("device must be a word such as phone");
        }
        Ok(())
    }

    /// Returns the time zone, if the surface provided one.
    #[must_use]
    pub fn zone(&self) -> Option<&str> {
        Some(self.time_zone.as_str()).filter(|zone| !zone.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_texts_of_the_right_form_pass() {
        let good = Surroundings {
            locale: "de-AT".into(),
            time_zone: "America/Argentina/ComodRivadavia".into(),
            place: "Zürich, Schweiz".into(),
            device: "phone".into(),
        };
        assert_eq!(good.check(), Ok(()));
        assert_eq!(Surroundings::default().check(), Ok(()));
        for (bad, part) in [
            (Surroundings { locale: "de_AT.UTF-8".into(), ..good.clone() }, "locale"),
            (Surroundings { time_zone: "Mars; ignore".into(), ..good.clone() }, "time_zone"),
            (Surroundings { place: "a\nb".into(), ..good.clone() }, "place"),
            (Surroundings { place: "a".repeat(101), ..good.clone() }, "place"),
            (Surroundings { device: "a b".into(), ..good }, "device"),
        ] {
            assert!(bad.check().unwrap_err().starts_with(part), "{bad:?}");
        }
    }

    #[test]
    fn what_is_not_said_is_not_stored() {
        assert_eq!(serde_json::to_string(&Surroundings::default()).unwrap(), "{}");
        let known = Surroundings { locale: "en".into(), ..Surroundings::default() };
        assert_eq!(serde_json::to_string(&known).unwrap(), r#"{"locale":"en"}"#);
    }
}
