//! Tests of the embedding model: reference vectors, and models of other formats.

use std::fs;
use std::path::Path;

use toolcrib_tool_search::{Model, ModelError};

fn cosine(model: &Model, a: &str, b: &str) -> f32 {
    model.embed(a).iter().zip(model.embed(b)).map(|(a, b)| a * b).sum()
}

/// Reference cosines computed with the Hugging Face `tokenizers` library and NumPy from the same
/// files.
#[test]
fn vectors_are_those_of_the_reference() {
    let model = Model::builtin().unwrap();
    for (a, b, expected) in [
        ("weather forecast for a city", "will it rain in Oslo tomorrow?", 0.43456),
        ("Send an e-mail", "write to my boss", 0.14256),
        ("Éclair à la crème, s'il vous plaît!", "cream cake", 0.11257),
        ("get_http_headers(url)", "HTTP-Header lesen", 0.53296),
        ("supercalifragilisticexpialidocious", "extraordinary", 0.16093),
        ("天气 weather", "weather", 1.0),
        ("“quoted” – text…", "quoted text", 1.0),
    ] {
        let got = cosine(&model, a, b);
        assert!((got - expected).abs() < 1e-4, "{a} / {b}: {got} instead of {expected}");
    }
}

#[test]
fn a_text_without_a_known_piece_is_zero() {
    let model = Model::builtin().unwrap();
    for text in ["", "   ", "天气", "\u{0}\u{200b}"] {
        assert!(model.embed(text).iter().all(|x| *x == 0.0), "{text:?}");
    }
}

#[test]
fn embedding_a_huge_text_looks_at_its_beginning() {
    let model = Model::builtin().unwrap();
    let long = "weather ".repeat(1_000_000);
    assert!((cosine(&model, &long, "weather") - 1.0).abs() < 1e-4);
}

const TOKENIZER: &str = r###"{"model":{"type":"WordPiece","unk_token":"[UNK]","vocab":{"[UNK]":0,"rain":1,"sun":2,"##s":3}}}"###;

/// Writes a model with one tensor of rows and optional weights.
fn write(folder: &Path, dtype: &str, rows: &[u8], weights: Option<&[f32]>, tokenizer: &str) {
    let weight_bytes: Vec<u8> =
        weights.into_iter().flatten().flat_map(|w| w.to_le_bytes()).collect();
    let mut header = serde_json::json!({
        "__metadata__": {"format": "pt"},
        "embeddings": {"dtype": dtype, "shape": [4, 2], "data_offsets": [0, rows.len()]},
    });
    if weights.is_some() {
        let end = rows.len() + weight_bytes.len();
        header["weights"] =
            serde_json::json!({"dtype": "F32", "shape": [4], "data_offsets": [rows.len(), end]});
    }
    let header = header.to_string();
    let length = (header.len() as u64).to_le_bytes();
    let file = [&length[..], header.as_bytes(), rows, &weight_bytes].concat();
    fs::write(folder.join("model.safetensors"), file).unwrap();
    fs::write(folder.join("tokenizer.json"), tokenizer).unwrap();
}

#[test]
fn a_model_of_a_folder_may_have_other_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let floats = [0f32, 0.0, 3.0, 4.0, -1.0, 0.0, 0.0, 2.0];
    let wide: Vec<u8> = floats.iter().flat_map(|x| x.to_le_bytes()).collect();
    // The same in half precision.
    let halves = [0u16, 0, 0x4200, 0x4400, 0xbc00, 0, 0, 0x4000];
    let narrow: Vec<u8> = halves.iter().flat_map(|x| x.to_le_bytes()).collect();
    for (dtype, rows) in [("F32", wide), ("F16", narrow)] {
        write(folder.path(), dtype, &rows, None, TOKENIZER);
        let model = Model::open(folder.path()).unwrap();
        assert_eq!(model.dimensions(), 2);
        let rain = model.embed("Rain");
        assert!((rain[0] - 0.6).abs() < 0.01 && (rain[1] - 0.8).abs() < 0.01, "{dtype}: {rain:?}");
        assert_eq!(model.embed("sun"), [-1.0, 0.0], "{dtype}");
        assert!(model.embed("suns")[1] > 0.8, "{dtype}: the piece of the plural counts");
    }
    write(folder.path(), "I8", &[0, 0, 1, 0, 0, 1, 0, 0], Some(&[1.0, 3.0, 4.0, 1.0]), TOKENIZER);
    let both = Model::open(folder.path()).unwrap().embed("rain sun");
    assert!((both[0] - 0.6).abs() < 1e-6 && (both[1] - 0.8).abs() < 1e-6, "{both:?}");
}

#[test]
fn what_is_no_model_is_refused_in_clear_words() {
    let folder = tempfile::tempdir().unwrap();
    let open = || Model::open(folder.path()).unwrap_err();
    assert!(matches!(open(), ModelError::Read { file: "model.safetensors", .. }));
    let eight = [0u8; 8];
    let nan = [f32::NAN; 4];
    for (dtype, rows, weights, tokenizer, expected) in [
        ("I8", &eight[..7], None, TOKENIZER, "does not lie inside"),
        ("I4", &eight[..], None, TOKENIZER, "I8, F16 and F32 can be read"),
        ("I8", &eight[..], Some(&nan[..]), TOKENIZER, "not a number"),
        ("I8", &eight[..], Some(&nan[..3]), TOKENIZER, "does not lie inside"),
        ("I8", &eight[..], None, "{}", "missing field"),
        ("I8", &eight[..], None, r#"{"model":{"type":"BPE","vocab":{}}}"#, "only WordPiece"),
        ("I8", &eight[..], None, r#"{"model":{"type":"WordPiece","vocab":{"a":4}}}"#, "no row"),
    ] {
        write(folder.path(), dtype, rows, weights, tokenizer);
        let error = open().to_string();
        assert!(error.contains(expected), "{error}");
    }
    for bytes in [
        &b""[..],
        b"1234567",
        &u64::MAX.to_le_bytes(),
        b"\x02\0\0\0\0\0\0\0{}",
        b"\x02\0\0\0\0\0\0\0[]",
    ] {
        fs::write(folder.path().join("model.safetensors"), bytes).unwrap();
        assert!(matches!(open(), ModelError::Tensors(_)), "{bytes:?}");
    }
}
