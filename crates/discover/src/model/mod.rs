//! The static embedding model: a vector per word piece, so that a text becomes a vector by one weighted sum.
//!
//! The form is that of model2vec: `model.safetensors` with a table and a weight per token, and `tokenizer.json` with a BERT WordPiece
//! vocabulary. One model is part of the binary (`model/NOTICE.md` says where it comes from); a larger one of the same form can be
//! loaded from a folder.

mod tensors;
mod vocabulary;

use std::borrow::Cow;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use tensors::Table;
use vocabulary::Vocabulary;

use crate::text::fold_into;

/// Bytes of a text that are read: beyond about a thousand words a mean says nothing any more.
const LONGEST_TEXT: usize = 8 * 1024;
/// Dimensions that a model may have; more would only cost time.
const MOST_DIMENSIONS: usize = 4096;
/// Bytes of a model file; a folder somebody names may hold anything.
const LARGEST_FILE: u64 = 1 << 30;

static TENSORS: &[u8] = include_bytes!("../../model/model.safetensors");
static TOKENIZER: &[u8] = include_bytes!("../../model/tokenizer.json");

/// Why a model cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file of it cannot be read.
    #[error("cannot read {file}: {error}")]
    Read {
        /// Name of the file inside the model's folder.
        file: &'static str,
        /// What the system says.
        error: std::io::Error,
    },
    /// `model.safetensors` is not what it has to be.
    #[error("model.safetensors: {0}")]
    Tensors(String),
    /// `tokenizer.json` is not what it has to be.
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
    /// The model that is part of the binary; made once, then shared.
    ///
    /// # Errors
    /// [`ModelError`], if the files were damaged when the binary was built.
    pub fn builtin() -> Result<Arc<Self>, ModelError> {
        static MADE: OnceLock<Arc<Model>> = OnceLock::new();
        if let Some(model) = MADE.get() {
            return Ok(Arc::clone(model));
        }
        let model = Arc::new(Self::load_builtin()?);
        Ok(Arc::clone(MADE.get_or_init(|| model)))
    }

    /// The same anew, shared with nobody.
    ///
    /// # Errors
    /// As [`Model::builtin`].
    pub fn load_builtin() -> Result<Self, ModelError> {
        Self::from_parts(Cow::Borrowed(TENSORS), TOKENIZER)
    }

    /// The model of a folder with `model.safetensors` and `tokenizer.json`: a table named `embeddings` of `I8`, `F16` or `F32` rows, and,
    /// where there is one, `weights` of `F32`, one per row.
    ///
    /// # Errors
    /// [`ModelError`], when a file is missing, larger than 1 GiB, or not of this form.
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

    /// Length of every vector.
    #[must_use]
    pub fn dimensions(&self) -> usize {
        self.table.dimensions()
    }

    /// The unit vector of a text; all zeros when the model knows no piece of it.
    #[must_use]
    pub fn embed(&self, text: &str) -> Vec<f32> {
        let mut vector = self.sum(text);
        normalise(&mut vector);
        vector
    }

    /// The weighted sum of a text's tokens. The sum of a whole is the sum of its parts.
    pub(crate) fn sum(&self, text: &str) -> Vec<f32> {
        let mut sum = vec![0.0; self.dimensions()];
        let mut folded = String::with_capacity(text.len().min(LONGEST_TEXT));
        fold_into(crate::text::cut(text, LONGEST_TEXT), &mut folded);
        self.vocabulary.each_token(&folded, |token| self.table.add_row(token, &mut sum));
        sum
    }
}

/// Scales to length 1; a vector of zeros stays one.
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
    // One byte more than allowed tells a file that is too large from one that just fits.
    opened.take(LARGEST_FILE + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > LARGEST_FILE {
        return Err(fail(std::io::Error::other("it is larger than 1 GiB")));
    }
    Ok(bytes)
}
