//! Document readers, tested without the worker process.

#[path = "../../tests/it/document_fixtures.rs"]
mod made;

use super::page_ranges::PageRanges;
use super::worker::{PartWriter, read};
use super::worker_protocol::{FailureReason, WorkerMessage, WorkerRequest};
use super::*;
use made::{docx, line, pdf, pdf_of, pdf_with, stream, xlsx, zipped};

fn frames(format: Format, bytes: &[u8], pages: &str) -> Vec<WorkerMessage> {
    let pages = if pages.is_empty() { PageRanges::default() } else { pages.parse().unwrap() };
    let mut sink = PartWriter::new(Vec::new());
    read(bytes, &WorkerRequest { format, pages }, &mut sink).unwrap();
    let text = String::from_utf8(sink.out).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn parts(format: Format, bytes: &[u8], pages: &str) -> Vec<Part> {
    let frames = frames(format, bytes, pages);
    assert!(matches!(frames.last(), Some(WorkerMessage::Done { .. })), "{frames:?}");
    let part = |frame| if let WorkerMessage::Part(part) = frame { Some(part) } else { None };
    frames.into_iter().filter_map(part).collect()
}

fn failure(format: Format, bytes: &[u8]) -> ReadFailure {
    match frames(format, bytes, "").pop() {
        Some(WorkerMessage::Failed(failure)) => failure,
        other => panic!("{other:?}"),
    }
}

/// Returns the text of a one-page document with this content stream.
fn page(content: &[u8]) -> String {
    parts(Format::Pdf, &pdf(&[content]), "").pop().unwrap().text
}

#[test]
fn pages_of_a_pdf() {
    let bytes = pdf(&[&line("one"), &line("two"), &line("three")]);
    let texts = |pages: &str| -> Vec<(u32, String)> {
        parts(Format::Pdf, &bytes, pages).into_iter().map(|p| (p.number, p.text)).collect()
    };
    assert_eq!(texts("2-"), [(2, "two\n".to_owned()), (3, "three\n".to_owned())]);
    assert_eq!(texts("").len(), 3);
    assert_eq!(texts("9"), []);
    let opened = WorkerMessage::Opened { format: Format::Pdf, parts: 3 };
    assert_eq!(frames(Format::Pdf, &bytes, "9")[0], opened);
}

#[test]
fn bytes_before_the_mark_are_passed_over() {
    let bytes = [b"HTTP junk\r\n\r\n".to_vec(), pdf(&[&line("one")])].concat();
    assert_eq!(parts(Format::Pdf, &bytes, "")[0].text, "one\n");
}

#[test]
fn operators_of_text() {
    let check = |content: &str, expected: &str| {
        let content = format!("BT /F1 12 Tf 14 TL 72 700 Td {content} ET");
        assert_eq!(page(content.as_bytes()), expected, "{content}");
    };
    check("(a) Tj T* (b) Tj", "a\nb\n");
    check("(a) Tj (b) '", "a\nb\n");
    check("(a) Tj 1 2 (b) \"", "a\nb\n");
    check("[(Generativ) -20 (e artif) 15 (icial)] TJ", "Generative artificial\n");
    check("[(two) -400 (words)] TJ", "two words\n");
    // Letters with wide spacing are still one word.
    check("1.5 Tc (wide) Tj (r) Tj", "wider\n");
    check("(\\(caf\\351\\) \\200) Tj", "(café) €\n");
    check("(left) Tj 200 0 Td (right) Tj", "left\tright\n");
    check("0 -40 TD (a) Tj 0 -40 TD (b) Tj", "a\n\nb\n");
}

#[test]
fn what_a_page_may_hold_beside_text_does_no_harm() {
    let check = |content: &str| {
        let content = format!("{content} BT /F1 12 Tf 72 700 Td (text) Tj ET");
        assert_eq!(page(content.as_bytes()), "text\n", "{content}");
    };
    check("/Pattern cs /P1 scn 1 2 3 re f");
    check("(x) cm [1] Tm /F1 Td");
    check("/Nothing gs /Nothing Do /I1 Do");
    check("Q Q Q EMC");
    check("BT (no font yet) Tj ET");
    check("BT /F9 12 Tf (no such font) Tj ET");
    check("1 0 0 1 0 0 cm 0 0 m 10 10 l S");
}

#[test]
fn forms_are_read_and_may_not_name_themselves() {
    assert_eq!(page(b"/X1 Do"), "from a form\n");
    let itself = pdf_with(&[b"/X1 Do"], b"BT /F1 12 Tf 1 0 0 1 72 500 Tm (once) Tj ET");
    assert_eq!(parts(Format::Pdf, &itself, "")[0].text, "once\n");
}

#[test]
fn pages_of_images_are_told() {
    let bytes = pdf(&[b"q 612 0 0 792 0 0 cm /I1 Do Q", b"", &line("x")]);
    let images: Vec<bool> = parts(Format::Pdf, &bytes, "").iter().map(|p| p.image_only).collect();
    assert_eq!(images, [true, false, false]);
}

#[test]
fn a_page_that_cannot_be_read_costs_no_other() {
    let bytes = pdf(&[&line("one"), b"BT /F1 12 Tf (unfinished", &line("three")]);
    let parts = parts(Format::Pdf, &bytes, "");
    let texts: Vec<&str> = parts.iter().map(|part| part.text.trim()).collect();
    assert_eq!((texts[0], texts[2]), ("one", "three"));
    let fonts = pdf_of(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_vec(),
        stream("", &line("x")),
        b"<< /Type /Font /Subtype /Type0 /BaseFont /Broken >>".to_vec(),
    ]);
    assert!(super::tests::parts(Format::Pdf, &fonts, "")[0].damaged);
}

#[test]
fn what_is_no_pdf_is_told() {
    for bytes in [&b"%PDF-1.7\n"[..], b"%PDF-1.4\ntrailer << /Root 9 0 R >>", b"%PDF-garbage\0\x01"]
    {
        assert_eq!(failure(Format::Pdf, bytes).why, FailureReason::Broken, "{bytes:?}");
    }
    let mut cut = pdf(&[&line("one")]);
    cut.truncate(cut.len() / 2);
    let _ = frames(Format::Pdf, &cut, "");
}

#[test]
fn protected_pdfs_ask_for_another_copy() {
    use pdf_extract::{Document, EncryptionState, EncryptionVersion, Object, Permissions};
    let encrypted = |user: &str| {
        let mut document = Document::load_mem(&pdf(&[&line("secret")])).unwrap();
        let id = || Object::string_literal("0123456789abcdef");
        document.trailer.set("ID", vec![id(), id()]);
        let state = EncryptionState::try_from(EncryptionVersion::V2 {
            document: &document,
            owner_password: "owner",
            user_password: user,
            key_length: 128,
            permissions: Permissions::all(),
        });
        document.encrypt(&state.unwrap()).unwrap();
        let mut bytes = Vec::new();
        document.save_to(&mut bytes).unwrap();
        bytes
    };
    assert_eq!(failure(Format::Pdf, &encrypted("user")).why, FailureReason::Encrypted);
    // This file opens without a password; only changes are protected.
    assert_eq!(parts(Format::Pdf, &encrypted(""), "")[0].text, "secret\n");
}

#[test]
fn long_documents_end_at_a_page() {
    let long = "word ".repeat(20_000);
    let pages: Vec<Vec<u8>> = (0..15).map(|_| line(&long)).collect();
    let pages: Vec<&[u8]> = pages.iter().map(Vec::as_slice).collect();
    let frames = frames(Format::Pdf, &pdf(&pages), "");
    assert_eq!(frames.last(), Some(&WorkerMessage::Done { next: Some(11) }));
    assert_eq!(frames.len(), 12);
}

#[test]
fn word_documents() {
    let check = |body: &str, expected: &str| {
        let parts = parts(Format::Office, &docx(body), "");
        assert_eq!(parts[0].text, expected, "{body}");
    };
    let p = |text: &str| format!("<w:p><w:r><w:t>{text}</w:t></w:r></w:p>");
    check(&format!("{}{}", p("one"), p("two &amp; &#x33;")), "one\n\ntwo & 3\n");
    check(
        "<w:p><w:pPr><w:pStyle w:val=\"Heading2\"/></w:pPr><w:r><w:t>Title</w:t></w:r></w:p>",
        "## Title\n",
    );
    check(
        "<w:p><w:pPr><w:numPr/></w:pPr><w:r><w:t>item</w:t><w:tab/><w:t>x</w:t></w:r></w:p>",
        "- item\tx\n",
    );
    check(
        &format!(
            "<w:p><w:pPr><w:pStyle w:val=\"ListBullet\"/></w:pPr><w:r><w:t>item</w:t></w:r></w:p>{}",
            p("x")
        ),
        "- item\n\nx\n",
    );
    let row = format!("<w:tr><w:tc>{}</w:tc><w:tc>{}{}</w:tc></w:tr>", p("a"), p("b"), p("c"));
    check(&format!("<w:tbl>{row}</w:tbl>{}", p("after")), "| a | b c |\n\nafter\n");
    check("<w:p><w:r><w:drawing/><w:delText>gone</w:delText></w:r></w:p>", "[image]\n");
    let bad = failure(Format::Office, &docx("<w:p></w:x>"));
    assert_eq!(bad.why, FailureReason::Broken);
}

#[test]
fn workbooks() {
    let rows = "<row r=\"1\"><c r=\"A1\" t=\"inlineStr\"><is><t>name</t></is></c><c r=\"C1\"><v>2.5</v></c></row><row r=\"4\"><c r=\"A4\" s=\"1\"><v>45000</v></c><c r=\"B4\" t=\"b\"><v>1</v></c></row>";
    let far = "<row r=\"1048576\"><c r=\"XFD1048576\"><v>7</v></c></row>";
    let bytes = xlsx(&[("Costs", rows), ("Far", far)]);
    let parts = super::tests::parts(Format::Office, &bytes, "");
    assert_eq!((parts[0].name.as_str(), parts[1].name.as_str()), ("Costs", "Far"));
    assert_eq!(parts[0].text, "name\t\t2.5\n\n2023-03-15\ttrue\n");
    assert_eq!(parts[1].text.trim(), "7");
    assert_eq!(super::tests::parts(Format::Office, &bytes, "2").len(), 1);
}

#[test]
fn other_archives_are_named() {
    let check = |name: &str, why: FailureReason| {
        assert_eq!(failure(Format::Office, &zipped(&[(name, b"x")])).why, why, "{name}");
    };
    check("ppt/presentation.xml", FailureReason::OtherOffice);
    check("a.txt", FailureReason::OtherOffice);
    check("xl/workbook.xml", FailureReason::Broken);
    assert_eq!(failure(Format::Office, b"PK\x03\x04junk").why, FailureReason::Broken);
}

#[test]
fn answers_of_a_worker_that_was_taken_over_are_only_text() {
    let said = b"garbage\n{\"opened\":{\"format\":\"pdf\",\"parts\":4}}\n{\"part\":{\"number\":2,\"text\":\"x\"}}\n{\"part\":{\"numb";
    let answer = WorkerOutput::parse(said);
    assert_eq!((answer.opened, answer.after, answer.done), (Some((Format::Pdf, 4)), 3, false));
    assert_eq!(answer.parts.len(), 1);
    assert_eq!(WorkerOutput::parse(&[0xff; 300]).after, 1);
}

mod any {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn bytes_are_read_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            at in 0usize..2000,
        ) {
            let mut pdf = pdf(&[&line("one"), &line("two")]);
            let at = at.min(pdf.len());
            let end = (at + bytes.len()).min(pdf.len());
            pdf.splice(at..end, bytes.iter().copied());
            let _ = frames(Format::Pdf, &pdf, "");
            let _ = frames(Format::Html, &bytes, "");
            let mut docx = docx("<w:p><w:r><w:t>x</w:t></w:r></w:p>");
            let at = at.min(docx.len());
            docx.splice(at.., bytes);
            let _ = frames(Format::Office, &docx, "");
        }
    }
}
