//! Documents and code through the binary.

use serde_json::{Value, json};

use crate::support::TestEnv;

/// Returns a PDF with one page that shows this line.
pub(crate) fn pdf(line: &str) -> Vec<u8> {
    let content = format!("BT /F1 12 Tf 72 700 Td ({line}) Tj ET");
    let objects = [
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>".to_owned(),
        format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    let (mut out, mut places) = ("%PDF-1.4\n".to_owned(), String::new());
    for (number, object) in (1..).zip(&objects) {
        places += &format!("{:010} 00000 n \n", out.len());
        out += &format!("{number} 0 obj\n{object}\nendobj\n");
    }
    let start = out.len();
    out += &format!(
        "xref\n0 6\n0000000000 65535 f \n{places}trailer\n<< /Size 6 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    );
    out.into_bytes()
}

fn deny(env: &TestEnv, rule: &str) {
    env.own("rules.toml", &format!("[[rules]]\neffect = \"deny\"\nrule = \"{rule}\"\n"));
}

#[track_caller]
fn denied(env: &TestEnv, tool: &str, args: &Value, rule: &str) {
    deny(env, rule);
    let (reply, code) = env.call(tool, args, &["--policy", "auto"]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("denied"), 5), "{rule}: {reply}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_pdf_is_read_by_the_binary_in_its_other_role() {
    let env = TestEnv::new();
    env.write("a.pdf", pdf("The text of the page"));
    let (reply, code) = env.call("pdf_read", &json!({"path": "a.pdf"}), &[]);
    assert_eq!((reply["outcome"].as_str(), code), (Some("succeeded"), 0), "{reply}");
    let text = reply["result"].to_string();
    assert!(text.contains("a.pdf: PDF, 1 page."), "{text}");
    assert!(text.contains("--- Page 1 of 1 ---\\nThe text of the page"), "{text}");
    let (reply, _) = env.call("read_document", &json!({"file": "notes.md"}), &[]);
    assert_eq!(reply["error_type"], "execution_error", "{reply}");
    assert!(reply["result"].to_string().contains("read_file"), "{reply}");
}

#[test]
fn rules_about_reading_hold_for_documents_and_code() {
    let env = TestEnv::new();
    env.write("a.pdf", pdf("x"));
    env.write("src/main.go", "package main\n");
    for rule in ["Read(a.pdf)", "Read", "pdf_read", "read_document"] {
        denied(&env, "pdf_read", &json!({"path": "a.pdf"}), rule);
        denied(&env, "read_document", &json!({"file": "a.pdf"}), rule);
    }
    let hover = json!({"action": "hover", "path": "src/main.go", "line": 0});
    for rule in ["Read(src/main.go)", "Read(src/**)", "lsp_manager", "lsp_manager.hover"] {
        denied(&env, "lsp_manager", &hover, rule);
    }
    deny(&env, "lsp_manager.rename");
    let (reply, code) = env.call("lsp_manager", &hover, &[]);
    assert_eq!((reply["error_type"].as_str(), code), (Some("not_configured"), 3), "{reply}");
    assert!(reply["result"].to_string().contains("gopls"), "{reply}");
}
