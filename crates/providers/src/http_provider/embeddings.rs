//! Embeddings: OpenAI's `POST /embeddings`, which Ollama and most local servers support too.
#![deny(clippy::indexing_slicing)]

use serde::Deserialize;
use serde_json::json;
use toolcrib_net::{Bytes, Method};

use super::attempt_failure::AttemptFailure;
use super::endpoint::EndpointState;
use crate::model::FailureKind;

/// Size limit of an answer: 256 vectors of 4,096 numbers as text.
const MAX_ANSWER: usize = 32_000_000;

#[derive(Deserialize)]
struct Answer {
    data: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    index: usize,
    embedding: Vec<f32>,
}

/// Requests the embeddings of these texts, without retries.
pub(super) async fn embed(
    shared: &EndpointState,
    model: &str,
    texts: &[String],
) -> Result<Vec<Vec<f32>>, AttemptFailure> {
    let about = shared.error_context(model);
    let Some(url) = shared.address.embeddings() else {
        let message = format!("{} has no embeddings.", about.provider());
        return Err(AttemptFailure::new(FailureKind::BadRequest, message));
    };
    let mut request = shared.request(Method::POST, url);
    let body = json!({"model": model, "input": texts, "encoding_format": "float"}).to_string();
    request.body = Bytes::from(body);
    let body = shared.fetch(&request, shared.settings.timeout, MAX_ANSWER, &about).await?;
    vectors(&body, texts.len()).ok_or_else(|| {
        let message = format!("The answer of {} is not a list of vectors.", about.provider());
        AttemptFailure::new(FailureKind::Unreadable, message)
    })
}

/// Returns one vector per text, all of one length, sorted by index.
fn vectors(body: &[u8], count: usize) -> Option<Vec<Vec<f32>>> {
    let answer: Answer = serde_json::from_slice(body).ok()?;
    let mut vectors: Vec<Vec<f32>> = vec![Vec::new(); count];
    for Row { index, embedding } in answer.data {
        *vectors.get_mut(index)? = embedding;
    }
    let length = vectors.first().map_or(0, Vec::len);
    let is_whole =
        |v: &Vec<f32>| !v.is_empty() && v.len() == length && v.iter().all(|x| x.is_finite());
    vectors.iter().all(is_whole).then_some(vectors)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn only_a_whole_answer_counts() {
        let row = |index: usize, numbers: &[f32]| json!({"index": index, "embedding": numbers});
        let body = |rows: Vec<Value>| json!({"object": "list", "data": rows}).to_string();
        let both = body(vec![row(1, &[0.5, 1.0]), row(0, &[2.0, 3.0])]);
        assert_eq!(vectors(both.as_bytes(), 2), Some(vec![vec![2.0, 3.0], vec![0.5, 1.0]]));
        for (body, count) in [
            (body(vec![row(0, &[1.0])]), 2),
            (body(vec![row(0, &[1.0]), row(1, &[1.0, 2.0])]), 2),
            (body(vec![row(0, &[1.0]), row(5, &[1.0])]), 2),
            (body(vec![row(0, &[])]), 1),
            ("{}".to_owned(), 1),
            ("<html>".to_owned(), 1),
        ] {
            assert_eq!(vectors(body.as_bytes(), count), None, "{body}");
        }
    }
}
