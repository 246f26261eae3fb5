//! Tests of hostile code: endless loops and exhausted resources are stopped, and the next call
//! works.

use serde_json::json;
use toolcrib_core::ErrorType;

use crate::support::World;

/// The test passes whether the processes are counted first, the system refuses one first, or the
/// time ends first.
#[tokio::test]
async fn a_kernel_that_breeds_is_stopped() {
    let world = World::new().await;
    let args = json!({"code": "import os\nwhile True: os.fork()", "level": "full", "timeout": 2});
    let said = world.call(args).await;
    assert!(said.0.as_ref().map_or(true, |output| output.is_error), "{said:?}");
    assert_eq!(world.full("1 + 1").await.text(), "2");
}

fn short(text: &str) -> &str {
    text.get(..text.floor_char_boundary(500)).unwrap()
}

#[tokio::test]
async fn hostile_expressions_are_stopped() {
    let world = World::new().await;
    let check = async |code: &str, expected: &str| {
        let said = world.call(json!({"code": code, "level": "expression", "timeout": 1})).await;
        let words = match &said.0 {
            Ok(_) => said.text(),
            Err(error) => error.message.clone(),
        };
        assert!(words.contains(expected), "{}: {}", short(code), short(&words));
        assert_eq!(world.expression("1 + 1").await.text(), "2", "after {}", short(code));
    };
    let late = "timed out after 1s";
    let memory = "more memory than it may have";
    check("while True: pass", late).await;
    check("while True:\n    try:\n        while True: pass\n    except BaseException: pass", late)
        .await;
    check("x = 7\nwhile True: x = x * x", late).await;
    check("2 ** 10 ** 8", late).await;
    check("int('1' * 10 ** 8, 2)", late).await;
    check("while True: print('x' * 1000)", late).await;
    check("sum(x for x in range(10 ** 12))", late).await;
    check("x = 'a' * 10 ** 10", "MemoryError").await;
    check("x = []\nwhile True: x.append('a' * 1000000)", memory).await;
    check("x = 'a'\nwhile True: x = x + x", "emory").await;
    check("def f(): f()\nf()", "RecursionError").await;
    let deep = ["1"; 100_000].join("+");
    let said = world.call(json!({"code": deep, "level": "expression", "timeout": 60})).await;
    assert!(said.error().1.contains("nested too deeply"), "{}", short(&said.error().1));
    check(&"(".repeat(100_000), "too").await;
    check("x = [1]\nfor i in range(100000): x = [x]\nx", "").await;
    check("import re\nre.search('(a|a)+$', 'a' * 100000 + 'b')", "").await;
    check("import re\nre.search(r'(?:(a+)+)+\\1$', 'a' * 5000 + 'b')", "").await;
}

#[tokio::test]
async fn hostile_code_in_a_kernel_is_stopped() {
    let world = World::with(|setup| setup.memory = 256 << 20).await;
    let check = async |code: &str, kind: ErrorType, expected: &str| {
        let said = world.call(json!({"code": code, "level": "full", "timeout": 2})).await;
        let (found, words) = said.error();
        assert_eq!(found, kind, "{code}: {words}");
        assert!(words.contains(expected), "{code}: {words}");
        assert_eq!(world.full("1 + 1").await.text(), "2", "after {code}");
    };
    let (kept, gone) = ("are still there", "are gone, too");
    let (late, broken) = (ErrorType::Timeout, ErrorType::ExecutionError);
    check("while True: pass", late, kept).await;
    check("import time\ntime.sleep(1000)", late, kept).await;
    check("while True: print('x' * 1000)", late, kept).await;
    check(
        "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
        late,
        "",
    )
    .await;
    check("import signal\nsignal.signal(2, signal.SIG_IGN)\nwhile True: pass", late, gone).await;
    check("9 ** 9 ** 9", late, "").await;
    check("x = []\nwhile True: x.append(bytearray(10 ** 6))", broken, "more memory").await;
    check("import os\nos._exit(3)", broken, "its process ended").await;
    check("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)", broken, gone).await;
    check("import os\nos.close(3)", broken, gone).await;
    check("import os\nos.write(3, b'\\xff' * 100)", broken, gone).await;
    check("import os\nos.write(3, b'\\0\\0\\0\\2{}')", broken, gone).await;
    check("import ctypes\nctypes.string_at(0)", broken, gone).await;
}
