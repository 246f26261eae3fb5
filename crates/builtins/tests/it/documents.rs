//! Documents through the sandboxed worker: results, and the cost of hostile files.

use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use toolcrib_builtins::Builtins;
use toolcrib_builtins::fs::{Journal, Roots, Workspace};
use toolcrib_core::{Block, CallCtx, ErrorType, Handler, ToolError};

use super::document_fixtures::{docx, line, pdf, pdf_of, pdf_with, stream, xlsx, zipped};
use super::support::{Bench, WORKER, call_of};

/// A bench with the tool.
struct Shop {
    bench: Bench,
    tool: Arc<dyn Handler>,
}

fn shop() -> Shop {
    let bench = Bench::new();
    let roots = Roots::open([bench.path("ws")]).unwrap();
    let journal = Journal::open(bench.path("state").join("undo")).unwrap();
    let tools = Builtins::new()
        .with_workspace(Arc::new(Workspace::new(roots, journal)))
        .with_program_runner(Arc::clone(&bench.workbench))
        .with_document_worker(WORKER)
        .handlers();
    let tool = tools.into_iter().find(|tool| tool.spec().name.as_str() == "pdf_read").unwrap();
    Shop { bench, tool }
}

impl Shop {
    fn put(&self, path: &str, content: impl AsRef<[u8]>) {
        fs::write(self.bench.path("ws").join(path), content).unwrap();
    }

    /// Returns the text of a call's parts.
    async fn call(&self, ctx: &CallCtx, args: Value) -> Result<String, ToolError> {
        self.tool.assess(&args)?;
        let output = self.tool.call(ctx, &args).await?;
        let text = |block| match block {
            Block::Text { text, .. } => Some(text),
            _ => None,
        };
        let texts: Vec<String> = output.content.into_iter().filter_map(text).collect();
        Ok(texts.join("\n"))
    }
}

/// Creates a call with this time limit.
fn context(time: Duration) -> CallCtx {
    CallCtx { deadline: Instant::now() + time, ..call_of("documents") }
}

async fn read(shop: &Shop, args: Value) -> String {
    shop.call(&context(Duration::from_secs(60)), args).await.unwrap()
}

async fn refused(shop: &Shop, args: Value) -> (ErrorType, String) {
    let error = shop.call(&context(Duration::from_secs(60)), args).await.unwrap_err();
    (error.error_type, error.message)
}

#[tokio::test]
async fn documents_are_read_with_markers() {
    let shop = shop();
    shop.put("a.pdf", pdf(&[&line("one"), b"q /I1 Do Q", &line("three")]));
    let text = read(&shop, json!({"path": "a.pdf"})).await;
    assert_eq!(
        text,
        "a.pdf: PDF, 3 pages. 2 of these pages have no text but images, such as scans; reading them needs text recognition (for example ocrmypdf in.pdf out.pdf).\n--- Page 1 of 3 ---\none\n\n--- Page 2 of 3 ---\n(no text: this page is an image)\n\n--- Page 3 of 3 ---\nthree\n\n"
    );
    let text = read(&shop, json!({"path": "a.pdf", "pages": "3"})).await;
    assert_eq!(text, "a.pdf: PDF, 3 pages.\n--- Page 3 of 3 ---\nthree\n\n");
    shop.put("b.docx", docx("<w:p><w:r><w:t>words</w:t></w:r></w:p>"));
    let text = read(&shop, json!({"path": "b.docx", "pages": "2"})).await;
    assert_eq!(text, "b.docx: Word document. It has no pages, so all of it was read.\nwords\n");
    let row = "<row r=\"1\"><c r=\"A1\"><v>1</v></c></row>";
    shop.put("e.xlsx", xlsx(&[("Costs", row), ("None", "")]));
    let text = read(&shop, json!({"path": "e.xlsx"})).await;
    assert_eq!(
        text,
        "e.xlsx: Excel workbook, 2 sheets.\n--- Sheet 1 of 2: Costs ---\n1\n\n--- Sheet 2 of 2: None ---\n(empty)\n\n"
    );
    shop.put("c.csv", "a;b\n1;2\n");
    assert_eq!(read(&shop, json!({"path": "c.csv"})).await, "c.csv: CSV file.\na\tb\n1\t2\n");
    shop.put("d.html", "<h1>Hi</h1><script>x</script>");
    assert_eq!(read(&shop, json!({"path": "d.html"})).await, "d.html: web page.\n# Hi");
}

#[tokio::test]
async fn a_scan_says_so() {
    let shop = shop();
    shop.put("scan.pdf", pdf(&[b"/I1 Do", b"/I1 Do"]));
    let text = read(&shop, json!({"path": "scan.pdf"})).await;
    assert!(text.contains("All of these pages have no text but images"), "{text}");
}

#[tokio::test]
async fn what_cannot_be_read_says_what_to_do() {
    let shop = shop();
    let check = async |name: &str, bytes: &[u8], pages: &str, kind: ErrorType, text: &str| {
        shop.put(name, bytes);
        let (error, message) = refused(&shop, json!({"path": name, "pages": pages})).await;
        assert_eq!(error, kind, "{name}: {message}");
        assert!(message.contains(text), "{name}: {message}");
    };
    use ErrorType::{ExecutionError, ValidationError};
    let one = pdf(&[&line("one")]);
    check("a.pdf", &one, "0", ValidationError, "\"0\" selects no pages").await;
    check("a.pdf", &one, "2-5", ValidationError, "has 1 page; none of those").await;
    check("b.pdf", b"<html>404", "1", ExecutionError, "a web page").await;
    check("c.pdf", b"%PDF-1.7 ...", "1", ExecutionError, "is damaged or no PDF").await;
    let slides = zipped(&[("ppt/presentation.xml", b"x")]);
    check("d.pptx", &slides, "1", ExecutionError, "PowerPoint").await;
    let (error, _) = refused(&shop, json!({"path": "none.pdf"})).await;
    assert_eq!(error, ErrorType::FileNotFound);
    let (error, _) = refused(&shop, json!({"path": "../out.pdf"})).await;
    assert_eq!(error, ErrorType::PathNotAllowed);
    let huge = fs::File::create(shop.bench.path("ws").join("huge.pdf")).unwrap();
    huge.set_len(65 << 20).unwrap();
    let (error, message) = refused(&shop, json!({"path": "huge.pdf"})).await;
    assert_eq!(error, ErrorType::FileTooLarge, "{message}");
}

#[tokio::test]
async fn a_document_that_crashes_the_reader_costs_only_itself() {
    let shop = shop();
    // Two forms that show each other overflow any stack.
    let forms = pdf_of(&[
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /Contents 5 0 R /Resources << /Font << /F1 9 0 R >> >> >>"
            .to_vec(),
        b"<< /Type /Page /Parent 2 0 R /Contents 6 0 R /Resources << /XObject << /A 7 0 R >> >> >>"
            .to_vec(),
        stream("", &line("before")),
        stream("", b"/A Do"),
        stream("/Subtype /Form /Resources << /XObject << /B 8 0 R >> >>", b"/B Do"),
        stream("/Subtype /Form /Resources << /XObject << /A 7 0 R >> >>", b"/A Do"),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_vec(),
    ]);
    shop.put("loop.pdf", forms);
    let text = read(&shop, json!({"path": "loop.pdf"})).await;
    assert!(text.contains("--- Page 1 of 2 ---\nbefore"), "{text}");
    assert!(text.contains("It ends here because the document made the reader"), "{text}");
    assert!(text.contains("Go on with pages \"2-\"."), "{text}");
    let (error, message) = refused(&shop, json!({"path": "loop.pdf", "pages": "2"})).await;
    assert_eq!(error, ErrorType::ExecutionError, "{message}");
    assert!(message.contains("Nothing of loop.pdf could be read as a PDF"), "{message}");
}

#[tokio::test]
async fn a_document_that_takes_forever_is_stopped_in_time() {
    let shop = shop();
    let content = b"/X1 Do ".repeat(2000);
    let form = b"BT /F1 1 Tf ET ".repeat(60_000);
    shop.put("slow.pdf", pdf_with(&[&line("first"), &content], &form));
    let ctx = context(Duration::from_secs(4));
    let text = shop.call(&ctx, json!({"path": "slow.pdf"})).await.unwrap();
    assert!(text.contains("first"), "{text}");
    assert!(text.contains("the time for this call was over"), "{text}");
}

#[tokio::test]
async fn a_document_that_unpacks_to_gigabytes_is_stopped() {
    let shop = shop();
    let words = vec![b'a'; 40 << 20];
    let body = [b"<w:document><w:p><w:r><w:t>".as_slice(), &words, b"</w:t>"].concat();
    shop.put("bomb.docx", zipped(&[("word/document.xml", &body)]));
    // Its single word exceeds the limit; the returned text is bounded.
    let text = shop.call(&context(Duration::from_secs(60)), json!({"path": "bomb.docx"})).await;
    match text {
        Ok(text) => assert!(text.len() < 1_100_000, "{}", text.len()),
        Err(error) => assert_eq!(error.error_type, ErrorType::ExecutionError, "{}", error.message),
    }
}

#[tokio::test]
async fn a_stopped_call_ends_at_once() {
    let shop = shop();
    shop.put("a.pdf", pdf(&[&line("one")]));
    let ctx = context(Duration::from_secs(60));
    ctx.cancel.cancel();
    let error = shop.call(&ctx, json!({"path": "a.pdf"})).await.unwrap_err();
    assert_eq!(error.error_type, ErrorType::Cancelled);
}
