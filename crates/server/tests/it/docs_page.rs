//! The documentation as a page.

use toolcrib_server::operations;

use crate::support::TestDaemon;

#[tokio::test]
async fn the_page_shows_every_operation_and_loads_nothing() {
    let daemon = TestDaemon::start().await;
    let page = daemon.anybody().get("/docs").await;
    assert_eq!(page.status, 200);
    for operation in operations() {
        let path = operation.full_path().replace('/', "/<wbr>").replace('_', "_<wbr>");
        assert!(page.text.contains(&format!("<code>{path}</code>")), "{path}");
    }
    assert!(page.text.contains("role operator"));
    for foreign in ["<script", "src=", "@import", "url("] {
        assert!(!page.text.contains(foreign), "{foreign}");
    }
    let policy = page.headers["content-security-policy"].to_str().unwrap();
    assert!(
        policy.contains("default-src 'none'") && policy.contains("style-src 'sha256-"),
        "{policy}"
    );
    // The commands use the address of the request, and the index names every operation.
    let address = page.text.split("export TOOLCRIB=").nth(1).unwrap();
    assert!(address.starts_with(&format!("http://{} ", daemon.address)), "{address:.60}");
    let index = page.text.split("</nav>").next().unwrap();
    assert!(
        index.contains(">GET /<wbr>healthz</a>") && index.contains("/<wbr>runs</a>"),
        "{index}"
    );
    let tag = page.headers["etag"].to_str().unwrap();
    assert_eq!(daemon.anybody().with("if-none-match", tag).get("/docs").await.status, 304);
    daemon.stop().await;
}
