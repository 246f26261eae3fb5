//! Cost of masking: 20 secrets over a text of 1 MB, whole and as a stream. `cargo run --release
//! --example masking`.
#![expect(clippy::print_stdout, reason = "it is for people")]

use std::time::Instant;

use toolcrib_engine::Secrets;

const TIMES: u32 = 20;

fn main() {
    let mut values: Vec<String> =
        (0..19).map(|n| format!("canary-{n:02}-\"quoted\" and ünicode/{n}")).collect();
    values.push((0..512).map(|n: u32| format!("{:08x}", n.wrapping_mul(2_654_435_761))).collect());
    let secrets = Secrets::default();
    let begun = Instant::now();
    secrets.add(values.iter().map(String::as_str));
    println!("learned 20 secrets in {:?}", begun.elapsed());
    let line = "The quick brown fox {\"jumps\": \"over\"} the lazy dog, 12 times; Zm94IGRvZw== 0xdeadbeef\n";
    let clean = line.repeat(1_048_576 / line.len());
    let mut some = clean.clone();
    for at in (0..100).map(|n| n * (line.len() * 100)).rev() {
        some.insert_str(at, &values[at % values.len()]);
    }
    for (what, text) in [("none", &clean), ("100", &some)] {
        let begun = Instant::now();
        for _ in 0..TIMES {
            std::hint::black_box(secrets.mask(text.clone()));
        }
        report(&format!("text with {what}"), begun, text.len());
        let begun = Instant::now();
        for _ in 0..TIMES {
            let mut stream = secrets.stream();
            for piece in text.as_bytes().chunks(8192) {
                std::hint::black_box(stream.pass(piece));
            }
            std::hint::black_box(stream.finish());
        }
        report(&format!("stream with {what}"), begun, text.len());
    }
}

fn report(what: &str, begun: Instant, bytes: usize) {
    let seconds = begun.elapsed().as_secs_f64() / f64::from(TIMES);
    println!("{what}: {:.2} ms, {:.0} MB/s", seconds * 1e3, bytes as f64 / 1e6 / seconds);
}
