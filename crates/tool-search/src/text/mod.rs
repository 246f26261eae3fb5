//! Text normalization: truncating, splitting identifiers, folding, tokenizing and stemming.

mod case_folding;
mod compound_words;
mod split_identifiers;
mod split_query;
mod stemmer;
mod tokenize;
mod truncate;

pub(crate) use case_folding::{fold_into, is_ideograph};
pub(crate) use compound_words::{is_compound, runs};
pub(crate) use split_identifiers::{split, split_into};
pub(crate) use split_query::{MAX_NEEDS as MOST_NEEDS, QueryParts};
pub(crate) use stemmer::CachingStemmer;
pub(crate) use tokenize::{is_stop_word, words};
pub(crate) use truncate::truncate;
