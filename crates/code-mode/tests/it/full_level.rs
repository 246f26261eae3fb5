//! Tests of the level `full`.

use serde_json::{Value, json};
use toolcrib_core::{ErrorType, RunId};

use crate::support::World;

#[tokio::test]
async fn what_a_model_is_shown_of_a_value_of_output_and_of_exceptions() {
    let world = World::new().await;
    let check = async |code: &str, expected: &str, is_error: bool| {
        let said = world.full(code).await;
        assert_eq!(said.text(), expected, "{code}");
        assert_eq!(said.output().is_error, is_error, "{code}");
        assert_ne!(said.data("/sandbox"), "none");
    };
    check("1 + 1", "2", false).await;
    check("print('a')\n'b'", "a\nValue: 'b'", false).await;
    check(
        "import sys\nprint('out')\nprint('err', file=sys.stderr)\nprint('end')",
        "out\nerr\nend",
        false,
    )
    .await;
    check(
        "import subprocess\n_ = subprocess.run(['echo', 'from a program'])",
        "from a program",
        false,
    )
    .await;
    check("import asyncio\nawait asyncio.sleep(0, 'later')", "'later'", false).await;
    check("class A:\n    def __repr__(self): return 'an A'\nA()", "an A", false).await;
    check("_", "an A", false).await;
    check("import pickle\npickle.loads(pickle.dumps(A()))", "an A", false).await;
    check("x = 1", "(The code printed nothing, and its last line has no value.)", false).await;
    check("import sys\nsys.stdin.read()", "''", false).await;
    let error = world.full("def f():\n    return 1 / 0\n\nf()").await;
    assert!(error.output().is_error);
    assert!(
        error.text().starts_with(
            "Traceback (most recent call last):\n  File \"<call 11>\", line 4, in <module>\n    f()"
        ),
        "{}",
        error.text()
    );
    assert!(
        error.text().contains("return 1 / 0")
            && error.text().ends_with("ZeroDivisionError: division by zero")
    );
    assert_eq!(
        error.data("/error"),
        json!({"type": "ZeroDivisionError", "message": "division by zero", "line": 2})
    );
    let error = world.full("x = (\n").await;
    assert!(error.text().contains("SyntaxError: '(' was never closed"), "{}", error.text());
    assert_eq!(error.data("/error/line"), 1);
    assert!(world.full("raise SystemExit(3)").await.text().ends_with("SystemExit: 3"));
    check("x", "1", false).await;
}

#[tokio::test]
async fn variables_stay_in_a_run_and_only_there() {
    let mut world = World::new().await;
    world.full("import math\nx = 40").await;
    assert_eq!(world.full("x + math.floor(2.5)").await.text(), "42");
    let reset = world.call(json!({"code": "x", "level": "full", "reset": true})).await;
    assert!(reset.text().ends_with("NameError: name 'x' is not defined"));
    world.full("x = 1").await;
    world.run = Some(RunId::fresh());
    assert!(world.full("x").await.output().is_error, "another run has variables of its own");
    world.run = None;
    world.full("y = 1").await;
    assert!(world.full("y").await.output().is_error, "outside of a run nothing is kept");
}

#[tokio::test]
async fn a_kernel_ends_with_its_run() {
    let world = World::new().await;
    world.full("x = 40").await;
    assert_eq!(world.full("x").await.text(), "40");
    world.kernels.end(RunId::fresh());
    assert_eq!(world.full("x").await.text(), "40", "another run's end is none of its business");
    for end in [
        |world: &World| world.kernels.end(world.run.unwrap()),
        |world: &World| {
            world.kernels.end_all();
        },
    ] {
        world.full("x = 40").await;
        end(&world);
        let scratch = std::fs::read_dir(world.folder.path().join("scratch")).unwrap();
        assert_eq!(scratch.count(), 0, "its files are gone with it");
        assert!(world.full("x").await.text().ends_with("NameError: name 'x' is not defined"));
    }
}

#[tokio::test]
async fn without_a_level_code_goes_where_it_can_run() {
    let world = World::new().await;
    let check = async |code: &str, level: &str, text: &str| {
        let said = world.call(json!({"code": code})).await;
        assert_eq!(said.data("/level"), level, "{code}: {}", said.text());
        assert_eq!(said.text(), text, "{code}");
    };
    check("1 + 1", "expression", "2").await;
    check("import random\nrandom.seed(1)\nrandom.randint(5, 5)", "full", "5").await;
    check("print('once')\nimport statistics\nstatistics.mean([1, 3])", "full", "once\nValue: 2")
        .await;
    check("class A(Exception): pass\nA.__name__", "full", "'A'").await;
    let said = world.call(json!({"code": "1 / 0"})).await;
    assert_eq!(said.data("/level"), "expression", "an error is not a lack");
}

#[tokio::test]
async fn files_come_back_and_are_only_in_the_folder() {
    let world = World::new().await;
    let said = world
        .full("import base64, pathlib\npathlib.Path('sub').mkdir()\npathlib.Path('sub/a.csv').write_text('1,2')\nopen('p.png', 'wb').write(base64.b64decode('iVBORw0KGgo='))\nopen('.hidden', 'w').close()\nNone")
        .await;
    let paths: Vec<Value> =
        (0..3).map(|place| said.data(&format!("/files/{place}/path"))).collect();
    assert!(paths.contains(&json!("p.png")) && paths.contains(&json!("sub/a.csv")), "{paths:?}");
    assert_eq!(said.pictures(), 1);
    assert_eq!(world.kept("text/csv"), [b"1,2"]);
    assert!(
        said.text().contains("File p.png: 8 bytes, image/png, stored as art_"),
        "{}",
        said.text()
    );
    let again = world.full("open('p.png', 'rb').read(4)").await;
    assert_eq!(again.text(), r"b'\x89PNG'", "what was there before is not told again");
    let check = async |code: &str| {
        let said = world.full(code).await;
        assert!(said.output().is_error, "{code}: {}", said.text());
    };
    let secret = world.folder.path().join("secret");
    std::fs::write(&secret, "SECRET").unwrap();
    check(&format!("open({:?}).read()", secret.display().to_string())).await;
    // In its folder for temporary files it may write under any name.
    world.full(&format!("open({:?}, 'w').write('changed')", secret.display().to_string())).await;
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "SECRET");
    check("import os\nos.mkdir('/usr/x')").await;
    check("import urllib.request\nurllib.request.urlopen('http://192.0.2.1/', timeout=3)").await;
    check("import socket\nsocket.create_connection(('192.0.2.1', 80), 3)").await;
    check("import os\nos.environ['PATH_OF_SECRETS']").await;
    let folder = world.full("import os\nos.getcwd()").await.text();
    let folder = std::path::PathBuf::from(folder.trim_matches('\''));
    assert!(folder.join("p.png").exists());
    world.call(json!({"code": "1", "level": "full", "reset": true})).await;
    assert!(!folder.exists(), "the folder goes with the kernel");
}

/// Returns a Python with matplotlib: one that the tests were given, or that of the machine.
#[expect(clippy::print_stderr, reason = "what was not tried is said")]
fn with_matplotlib() -> Option<std::path::PathBuf> {
    let beside = std::path::Path::new(crate::support::WORKER).ancestors().nth(2)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [beside.join("python/bin")].into_iter().chain(std::env::split_paths(&path));
    let has_it = |program: &std::path::PathBuf| {
        let mut command = std::process::Command::new(program);
        command.args(["-c", "import matplotlib.pyplot"]).env("MPLBACKEND", "Agg");
        command.output().is_ok_and(|output| output.status.success())
    };
    let found = folders.map(|folder| folder.join("python3")).find(has_it);
    if found.is_none() {
        eprintln!("NOT TRIED: no Python of this machine has matplotlib");
    }
    found
}

#[tokio::test]
async fn plots_come_back_as_pictures_and_artifacts() {
    let Some(program) = with_matplotlib() else { return };
    let world = World::with(|setup| setup.program = Some(program)).await;
    let plot = "import matplotlib.pyplot as plt\nplt.plot([1, 2], [3, 4])\nplt.figure()\nplt.bar(['a'], [1])\nNone";
    let said = world.full(plot).await;
    assert_eq!(said.pictures(), 2, "{}", said.text());
    assert_eq!(
        [said.data("/files/0/path"), said.data("/files/1/path")],
        ["plot-1.png", "plot-2.png"]
    );
    let kept = world.kept("image/png");
    assert!(kept.len() == 2 && kept.iter().all(|bytes| bytes.starts_with(b"\x89PNG\r\n")));
    // Shown once: the next call has none, and a new one has a new name.
    assert_eq!(world.full("1").await.pictures(), 0);
    let said = world.full("plt.plot([1], [1])\nplt.show()").await;
    assert_eq!(
        (said.pictures(), said.data("/files/0/path")),
        (1, json!("plot-3.png")),
        "{}",
        said.text()
    );
}

#[tokio::test]
async fn a_link_out_of_the_folder_brings_nothing_back() {
    let world = World::new().await;
    let secret = world.folder.path().join("secret.csv");
    std::fs::write(&secret, "SECRET").unwrap();
    let code = format!("import os\nos.symlink({:?}, 'a.csv')", secret.display().to_string());
    let said = world.full(&code).await;
    assert_eq!(said.data("/files/0/artifact"), Value::Null, "{}", said.text());
    assert!(world.kept("text/csv").is_empty());
}

#[tokio::test]
async fn what_code_leaves_behind_ends_with_the_call() {
    let world = World::new().await;
    let code = "import subprocess\nleft = subprocess.Popen(['setsid', 'sleep', '1000'])\nsubprocess.Popen(['sh', '-c', 'sleep 1000 & sleep 1000 &'])\nNone";
    world.full(code).await;
    assert_eq!(world.full("left.wait()").await.text(), "-9");
    let count = "import os\n[p for p in os.listdir('/proc') if p.isdigit() and open(f'/proc/{p}/stat').read().split()[1:3] in (['(sleep)', 'S'], ['(sh)', 'S'])]";
    assert_eq!(world.full(count).await.text(), "[]");
}

#[tokio::test]
async fn a_copy_of_the_kernel_says_nothing() {
    let world = World::new().await;
    let said = world.full("import os\nparent = os.getpid()\nchild = os.fork()\nif child: os.waitpid(child, 0)\nos.getpid() == parent").await;
    assert_eq!(said.text(), "True");
    assert_eq!(world.full("2").await.text(), "2");
}

#[tokio::test]
async fn the_calls_of_a_run_wait_for_each_other() {
    let world = World::new().await;
    world.full("n = 0").await;
    let code = "before = n\nimport time\ntime.sleep(0.01)\nn = before + 1";
    let all = tokio::join!(world.full(code), world.full(code), world.full(code));
    for said in [all.0, all.1, all.2] {
        assert!(!said.output().is_error);
    }
    assert_eq!(world.full("n").await.text(), "3");
}

#[tokio::test]
async fn without_a_python_the_fix_is_named() {
    let empty = |path: &str| vec![("PATH".into(), path.into())];
    let check = async |env: Vec<(std::ffi::OsString, std::ffi::OsString)>, expected: &str| {
        let world = World::with(|setup| setup.env = env).await;
        let (kind, words) = world.full("1").await.error();
        assert_eq!(kind, ErrorType::NotConfigured);
        assert!(words.contains(expected), "{words}");
        assert_eq!(world.expression("1").await.text(), "1");
        let (kind, _) = world.call(json!({"code": "import random"})).await.error();
        assert_eq!(kind, ErrorType::NotConfigured, "what falls through needs it too");
    };
    check(empty(""), "install Python 3.10 or newer").await;
    check(empty("/no/such/folder"), "install Python 3.10 or newer").await;
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("python3");
    let fake = |text: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    fake("#!/bin/sh\nexit 1\n");
    check(empty(&folder.path().display().to_string()), "does not work").await;
    fake(
        "#!/bin/sh\necho '{\"program\": \"/usr/bin/python3\", \"folders\": [\"/usr\"], \"version\": [3, 6, 1]}'\n",
    );
    check(empty(&folder.path().display().to_string()), "too old").await;
}

#[tokio::test]
async fn where_full_is_switched_off_nothing_reaches_it() {
    let world = World::with(|setup| setup.full = false).await;
    assert_eq!(world.full("1").await.error().0, ErrorType::ValidationError);
    let said = world.call(json!({"code": "import random"})).await;
    assert!(said.output().is_error && !said.text().contains("full"), "{}", said.text());
    let args = json!({"code": "1"});
    let assessment = world.tool.assess(&args).unwrap();
    assert_eq!(assessment.operation.as_deref(), Some("code_exec.expression"));
}

#[tokio::test]
async fn what_a_call_means_is_the_worst_that_it_may_become() {
    use toolcrib_core::{Effect, Risk};
    let world = World::new().await;
    let check = |level: Option<&str>, operation: &str, effect| {
        let mut args = json!({"code": "a = 1\n\nb = 2"});
        if let Some(level) = level {
            args["level"] = json!(level);
        }
        let found = world.tool.assess(&args).unwrap();
        assert_eq!(found.operation.as_deref(), Some(operation), "{level:?}");
        assert_eq!((found.effect, found.risk, found.reach.exec), (effect, Risk::High, false));
        assert_eq!(found.summary.as_deref(), Some("run Python: a = 1 … (1 more lines)"));
    };
    check(None, "code_exec.full", Effect::SideEffect);
    check(Some("auto"), "code_exec.full", Effect::SideEffect);
    check(Some("full"), "code_exec.full", Effect::SideEffect);
    check(Some("expression"), "code_exec.expression", Effect::Pure);
}
