//! Weather codes as words.
#![deny(clippy::indexing_slicing)]

/// Describes a code of the WMO, as used by Open-Meteo
/// (<https://open-meteo.com/en/docs#weather_variable_documentation>).
pub(super) fn of_wmo_code(code: u64) -> &'static str {
    match code {
        0 => "clear sky",
        1 => "mainly clear",
        2 => "partly cloudy",
        3 => "overcast",
        45 | 48 => "fog",
        51 => "light drizzle",
        53 => "drizzle",
        55 => "heavy drizzle",
        56 | 57 => "freezing drizzle",
        61 => "light rain",
        63 => "rain",
        65 => "heavy rain",
        66 | 67 => "freezing rain",
        71 => "light snow",
        73 => "snow",
        75 => "heavy snow",
        77 => "snow grains",
        80 => "light rain showers",
        81 => "rain showers",
        82 => "violent rain showers",
        85 => "light snow showers",
        86 => "heavy snow showers",
        95 => "thunderstorm",
        96 | 99 => "thunderstorm with hail",
        _ => "unknown weather",
    }
}

/// Describes a symbol of MET Norway such as `lightrainshowers_day`
/// (<https://api.met.no/weatherapi/weathericon/2.0/documentation>), with spaces between the words.
pub(super) fn of_symbol(symbol: &str) -> String {
    let name = symbol.split('_').next().unwrap_or(symbol);
    let mut words = name.to_ascii_lowercase();
    for word in ["light", "heavy", "partly", "clear", "and"] {
        words = words.replace(word, &format!(" {word} "));
    }
    for word in ["showers", "thunder", "snow", "sleet", "cloudy"] {
        words = words.replace(word, &format!(" {word}"));
    }
    words.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_become_words() {
        for (symbol, words) in [
            ("cloudy", "cloudy"),
            ("partlycloudy_night", "partly cloudy"),
            ("clearsky_day", "clear sky"),
            ("lightrainshowers_day", "light rain showers"),
            ("heavyrainandthunder", "heavy rain and thunder"),
            ("snow", "snow"),
            ("fog", "fog"),
        ] {
            assert_eq!(of_symbol(symbol), words);
        }
    }
}
