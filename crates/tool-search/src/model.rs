//! Static embedding model: one vector per word piece, so that the vector of a text is a weighted
//! sum.
//!
//! The format is that of model2vec: `model.safetensors` with a table and a weight per token, and
//! `tokenizer.json` with a BERT WordPiece vocabulary. One model is part of the binary (its origin
//! is in `model/NOTICE.md`); another one can be loaded from a folder.

mod tensors;
mod vocabulary;

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tensors::Table;
use vocabulary::Vocabulary;

use crate::text::fold_into;

/// Maximum bytes of an embedded text: beyond about a thousand words a mean vector carries no
/// information.
const LONGEST_TEXT: usize = 8 * 1024;
/// Maximum dimensions of a model; more only cost time.
const MOST_DIMENSIONS: usize = 4096;
/// Maximum bytes of a model file; a folder may contain anything.
const LARGEST_FILE: u64 = 1 << 30;

static TENSORS: &[u8] = include_bytes!("../model/model.safetensors");
static TOKENIZER: &[u8] = include_bytes!("../model/tokenizer.json");

/// The reasons why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file cannot be read.
    #[error("cannot read {file}: {error}")]
    Read {
        /// Name of the file in the model's folder.
        file: &'static str,
        /// The system's error.
        error: std::io::Error,
    },
    /// `model.safetensors` is invalid.
    #[error("model.safetensors: {0}")]
    Tensors(String),
    /// `tokenizer.json` is invalid.
    #[error("tokenizer.json: {0}")]
    Tokenizer(String),
}

/// A loaded model.
pub struct Model {
    vocabulary: Vocabulary,
    table: Table,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("tokens", &self.table.rows())
            .field("dimensions", &self.dimensions())
            .finish_non_exhaustive()
    }
}

impl Model {
    /// Returns the model in the binary; loaded once and shared.
    ///
    /// # Errors
    /// [`ModelError`] if the files were damaged when the binary was built.
    pub fn builtin() -> Result<Arc<Self>, ModelError> {
        static MADE: OnceLock<Arc<Model>> = OnceLock::new();
        if let Some(model) = MADE.get() {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(Self::load_builtin()?);
        Ok(Arc::clone(MADE.get_or_init(|| model)))
    }

    /// Loads the model in the binary again, unshared.
    ///
    /// # Errors
    /// See [`Model::builtin`].
    pub fn load_builtin() -> Result<Self, ModelError> {
        Self::from_parts(Cow::Borrowed(TENSORS), TOKENIZER)
    }

    /// Loads a model from a folder with `model.safetensors` and `tokenizer.json`: a table named
    /// `embeddings` of `I8`, `F16` or `F32` rows, and optionally `weights` of `F32`, one per row.
    ///
    /// # Errors
    /// [`ModelError`] if a file is missing, larger than 1 GiB or invalid.
    pub fn open(folder: &Path) -> Result<Self, ModelError> {
        let tensors = read(folder, "model.safetensors")?;
        Self::from_parts(Cow::Owned(tensors), &read(folder, "tokenizer.json")?)
    }

    fn from_parts(tensors: Cow<'static, [u8]>, tokenizer: &[u8]) -> Result<Self, ModelError> {
        let table = Table::read(tensors).map_err(ModelError::Tensors)?;
        if table.dimensions() > MOST_DIMENSIONS {
            return Err(ModelError::Tensors(format!(
                "{} dimensions are more than {MOST_DIMENSIONS}",
                table.dimensions()
            )));
        }
        let vocabulary =
            Vocabulary::read(tokenizer, table.rows()).map_err(ModelError::Tokenizer)?;
        Ok(Self { vocabulary, table })
    }

    /// Returns the length of every vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    /// Returns the unit vector of a text; all zeros if it has no known token.
    #[must_use]
    pub fn embed(&self, text: &str) -> Vec<f32> {
        let mut vector = self.sum(text);
        normalise(&mut vector);
        vector
    }

    /// Returns the weighted sum of a text's tokens. It is additive over the parts of a text.
    pub(crate) fn sum(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.dimensions()];
        let mut folded = String::with_capacity(text.len().min(LONGEST_TEXT));
        fold_into(crate::text::truncate(text, LONGEST_TEXT), &mut folded);
        self.vocabulary.each_token(&folded, |token| self.table.add_row(token, &mut sum));
        sum
    }
}

/// Scales to length 1; a zero vector is unchanged.
pub(crate) fn normalise(vector: &mut [f32]) {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    if length > f32::MIN_POSITIVE && length.is_finite() {
        let scale = length.recip();
        vector.iter_mut().for_each(|x| *x *= scale);
    } else {
        vector.fill(0.0);
    }
}

fn read(folder: &Path, file: &'static str) -> Result<Vec<u8>, ModelError> {
    use std::io::Read as _;
    let fail = |error| ModelError::Read { file, error };
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(folder.join(file)).map_err(fail)?;
    // Reading one byte more than allowed detects a file that is too large.
    opened.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(fail(std::io::Error::other("it is larger than 1 GiB")));
    }
    Ok(bytes)
}
