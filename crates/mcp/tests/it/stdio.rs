//! Stdio fast path: calls that are handled without rmcp.

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use toolcrib_mcp::server::ToolListMode;

use crate::mcp_server::{Client, serve_gated};

/// Removes the ids from a response, which differ in each.
fn plain(mut answer: Value) -> Value {
    answer["id"] = Value::Null;
    if let Some(about) = answer.pointer_mut("/result/_meta/dev.toolcrib~1call") {
        about["id"] = Value::Null;
    }
    answer
}

/// Responses of the fast path and of rmcp must not differ for a client.
#[tokio::test]
async fn calls_over_pipes_are_answered_as_by_the_library() {
    for mut client in [
        Client::with_hands(ToolListMode::Direct, json!({})).await,
        Client::of_today(json!({})).await,
        Client::of_today(json!({"elicitation": {}})).await,
    ] {
        let own = client.meta.clone();
        for (tool, args) in [
            ("easy", json!({"x": 1})),
            ("easy", json!({"x": "one"})),
            ("careful", json!({})),
            ("nothing", json!({})),
        ] {
            let params = json!({"name": tool, "arguments": args});
            let quick = client.ask("tools/call", params.clone(), &Value::Null).await;
            // A progress token sends the request to rmcp.
            let mut meta = own.clone().unwrap_or_else(|| json!({}));
            meta["progressToken"] = json!(1);
            client.meta = Some(meta);
            let library = client.ask("tools/call", params, &Value::Null).await;
            client.meta.clone_from(&own);
            let ours = plain(quick);
            if ours["result"]["requestState"].is_string() {
                // Request states differ in each response.
                assert_eq!(library["result"]["resultType"], ours["result"]["resultType"]);
                continue;
            }
            assert_eq!(ours, plain(library), "{tool} {own:?}");
        }
    }
}

fn call(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "gated"}})
}

/// Creates a client with a handshake that cannot be asked questions.
async fn gated() -> (Client, std::sync::Arc<tokio::sync::Notify>) {
    let (serve, gate) = serve_gated().await;
    let mut client = Client::of(serve).shaking(json!({})).await;
    // The server knows the client from now on.
    client.ask("ping", json!({}), &Value::Null).await;
    (client, gate)
}

#[tokio::test]
async fn a_running_call_does_not_delay_other_clients() {
    let (mut client, gate) = gated().await;
    client.send(&call(100)).await;
    client.ask("ping", json!({}), &Value::Null).await;
    let unknown = client.ask("tools/call", json!({"name": "nothing"}), &Value::Null).await;
    assert_eq!(unknown["error"]["code"], -32602);
    gate.notify_one();
    let answer = client.next().await;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(100), &json!(false)));
}

#[tokio::test]
async fn a_call_that_is_taken_back_is_given_up() {
    let (mut client, gate) = gated().await;
    client.send(&call(100)).await;
    let back = json!({"requestId": 100, "reason": "changed my mind"});
    client
        .send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": back}))
        .await;
    client.ask("ping", json!({}), &Value::Null).await;
    client.send(&call(101)).await;
    client.ask("ping", json!({}), &Value::Null).await;
    // The gate opens for one call: for the first, if it still waited there.
    gate.notify_one();
    let answer = client.next().await;
    assert_eq!((&answer["id"], &answer["result"]["isError"]), (&json!(101), &json!(false)));
}

#[tokio::test]
async fn a_call_at_work_is_answered_after_the_last_word_of_its_client() {
    let (mut client, gate) = gated().await;
    client.send(&call(100)).await;
    client.input.shutdown().await.unwrap();
    gate.notify_one();
    assert_eq!(client.next().await["id"], 100);
}
