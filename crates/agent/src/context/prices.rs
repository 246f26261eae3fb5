//! Prices of models: estimates the cost of a request from a table that the user may override.
//!
//! Money is counted in whole micro-dollars and rounded up. A model without a price, or an answer
//! without usage, has the cost `None`, never 0.

use std::fmt;
use std::ops::Add;

use serde::{Deserialize, Serialize};
use toolcrib_providers::Usage;

use super::context_windows::TableError;
use super::model_pattern::{ModelNames, ModelPattern};

const BUILTIN: &str = include_str!("prices.toml");

/// Number of tokens to which a price applies.
const PER: u128 = 1_000_000;

/// Micro-dollars (millionths of a US dollar). Always an estimate, and displayed as one.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Money(pub u64);

impl Money {
    /// Renders the amount without its label: `$0.0123`; six digits below a hundredth of a cent, so
    /// that a small amount is not shown as zero.
    #[must_use]
    pub fn amount(self) -> String {
        let Self(micros) = self;
        if micros > 0 && micros < 100 {
            return format!("$0.{micros:06}");
        }
        let rounded = micros.saturating_add(50) / 100;
        format!("${}.{:04}", rounded / 10_000, rounded % 10_000)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (estimate)", self.amount())
    }
}

impl Add for Money {
    type Output = Self;

    /// Returns the saturated sum.
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

/// Prices in micro-dollars per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Rates {
    /// Input tokens.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens read from a cache; `None` for the same as `input`.
    pub cache_read: Option<u64>,
    /// Input tokens written into a cache; `None` for the same as `input`.
    pub cache_write: Option<u64>,
}

/// The prices of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// For a request of any length, or for one that is not long.
    pub rates: Rates,
    /// For a whole request with more input tokens than this.
    pub long: Option<(u64, Rates)>,
}

impl Price {
    /// Creates a price that is the same for any length.
    #[must_use]
    pub fn flat(rates: Rates) -> Self {
        Self { rates, long: None }
    }

    /// Returns the cost of a request; `None` if the provider reports no usage.
    fn cost(&self, usage: &Usage) -> Option<Money> {
        let (input, output) = (usage.input?, usage.output?);
        let rates = match self.long {
            Some((above, long)) if input > above => long,
            _ => self.rates,
        };
        // Both are part of the input.
        let read = usage.cache_read.unwrap_or(0).min(input);
        let written = usage.cache_write.unwrap_or(0).min(input - read);
        let parts = [
            (input - read - written, rates.input),
            (read, rates.cache_read.unwrap_or(rates.input)),
            (written, rates.cache_write.unwrap_or(rates.input)),
            (output, rates.output),
        ];
        let part = |(tokens, rate): &(u64, u64)| u128::from(*tokens) * u128::from(*rate);
        let total = parts.iter().map(part).fold(0, u128::saturating_add);
        Some(Money(u64::try_from(total.div_ceil(PER)).unwrap_or(u64::MAX)))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[serde(default)]
    price: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    models: Vec<ModelPattern>,
    input: u64,
    output: u64,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    long: Option<Long>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Long {
    above: u64,
    input: u64,
    output: u64,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
}

/// The table of prices.
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    overrides: Vec<(ModelPattern, Price)>,
    table: Vec<(Vec<ModelPattern>, Price)>,
}

impl Prices {
    /// Returns the shipped prices: only those with a source.
    ///
    /// # Errors
    /// [`TableError`] if the compiled-in file is invalid, which a test prevents.
    pub fn builtin() -> Result<Self, TableError> {
        Self::parse(BUILTIN)
    }

    fn parse(text: &str) -> Result<Self, TableError> {
        let table: Table =
            toml::from_str(text).map_err(|error| TableError::Unreadable(error.to_string()))?;
        let entry = |entry: Entry| {
            let Entry { models, input, output, cache_read, cache_write, long } = entry;
            let long = long.map(|Long { above, input, output, cache_read, cache_write }| {
                (above, Rates { input, output, cache_read, cache_write })
            });
            (models, Price { rates: Rates { input, output, cache_read, cache_write }, long })
        };
        let table: Vec<_> = table.price.into_iter().map(entry).collect();
        if table.iter().any(|(models, _)| models.is_empty()) {
            return Err(TableError::EmptyPattern);
        }
        Ok(Self { overrides: Vec::new(), table })
    }

    /// Adds a price of the user. The pattern is matched against the model's name, against the part
    /// after its last slash, and against `provider/model`; of two that match, the last one wins.
    ///
    /// # Errors
    /// [`TableError::EmptyPattern`].
    pub fn with_override(mut self, pattern: &str, price: Price) -> Result<Self, TableError> {
        let pattern =
            ModelPattern::try_from(pattern.to_owned()).map_err(|_| TableError::EmptyPattern)?;
        self.overrides.push((pattern, price));
        Ok(self)
    }

    /// Returns the price of a model; `None` if it is unknown. The shipped prices are those of the
    /// models' makers. They match the model's whole name only, so that a model with a similar name
    /// on a router or a local server has none.
    #[must_use]
    pub fn find(&self, provider: &str, model: &str) -> Option<Price> {
        let names = ModelNames::new(provider, model);
        let own = self.overrides.iter().rev().find(|(pattern, _)| names.any_match(pattern));
        let shipped = || {
            self.table.iter().find(|(models, _)| models.iter().any(|p| p.matches(names.model())))
        };
        own.map(|(_, price)| *price).or_else(|| shipped().map(|(_, price)| *price))
    }

    /// Returns the estimated cost of a request; `None` if the price or the usage is unknown.
    #[must_use]
    pub fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Option<Money> {
        self.find(provider, model)?.cost(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(input: u64, output: u64, read: u64, written: u64) -> Usage {
        Usage {
            input: Some(input),
            output: Some(output),
            cache_read: Some(read),
            cache_write: Some(written),
            reasoning: None,
        }
    }

    fn check(model: &str, usage: Usage, expected: Option<u64>) {
        let prices = Prices::builtin().unwrap();
        assert_eq!(prices.cost("p", model, &usage), expected.map(Money), "{model}");
    }

    #[test]
    fn costs() {
        // 4 $ in, 20 $ out, 0.20 $ read, 5 $ written.
        check("claude-opus-5-5", used(1_000_000, 0, 0, 0), Some(4_000_000));
        check("claude-opus-5-5", used(1_000_000, 100_000, 500_000, 250_000), Some(4_350_000));
        check("claude-opus-5-5-20260922", used(0, 1, 0, 0), Some(20));
        check("claude-haiku-5-5", used(1, 0, 0, 0), Some(1));
        check("gpt-6-sol", used(272_000, 1_000, 0, 0), Some(554_000));
        check("gpt-6-sol", used(272_001, 1_000, 0, 0), Some(1_103_004));
        check("gpt-5.2", used(1_000_000, 0, 0, 1_000_000), Some(1_750_000));
    }

    #[test]
    fn what_is_not_known_is_not_nothing() {
        check("unheard-of", used(1, 1, 0, 0), None);
        check("anthropic/claude-opus-5", used(1, 1, 0, 0), None);
        check("claude-opus-5-5", Usage { input: Some(1), ..Usage::default() }, None);
        check("claude-opus-5-5", Usage::default(), None);
    }

    #[test]
    fn the_user_knows_better() {
        let rates = Rates { input: 1_000_000, output: 0, cache_read: None, cache_write: None };
        let prices = Prices::builtin().unwrap();
        let prices = prices.with_override("router/*", Price::flat(rates)).unwrap();
        let usage = used(30, 7, 10, 0);
        assert_eq!(prices.cost("router", "anthropic/claude-opus-5", &usage), Some(Money(30)));
        assert_eq!(prices.cost("other", "anthropic/claude-opus-5", &usage), None);
        assert!(prices.with_override("", Price::flat(rates)).is_err());
    }

    #[test]
    fn numbers_that_do_not_add_up_do_not_wrap() {
        check("claude-opus-5-5", used(10, 0, 100, 100), Some(2));
        let rates =
            Rates { input: u64::MAX, output: u64::MAX, cache_read: None, cache_write: None };
        let most = Price::flat(rates).cost(&used(u64::MAX, u64::MAX, 0, 0));
        assert_eq!(most, Some(Money(u64::MAX)));
        assert_eq!(Money(u64::MAX) + Money(1), Money(u64::MAX));
    }

    #[test]
    fn money_is_labelled() {
        for (micros, text) in [
            (0, "$0.0000 (estimate)"),
            (7, "$0.000007 (estimate)"),
            (12_345, "$0.0123 (estimate)"),
            (99_999_960, "$100.0000 (estimate)"),
            (u64::MAX, "$18446744073709.5516 (estimate)"),
        ] {
            assert_eq!(Money(micros).to_string(), text);
        }
    }

    #[test]
    fn bad_tables_are_refused() {
        assert!(Prices::parse("[[price]]\nmodels=[]\ninput=1\noutput=1").is_err());
        assert!(Prices::parse("[[price]]\nmodels=[\"a\"]\ninput=-1\noutput=1").is_err());
        assert!(Prices::parse("[[price]]\nmodels=[\"a\"]\ninput=1\noutput=1\nx=1").is_err());
        assert!(Prices::parse("").unwrap().find("p", "a").is_none());
    }
}
