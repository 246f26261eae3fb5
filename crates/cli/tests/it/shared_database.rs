//! `toolcrib db migrate`, and the daemons of a shared database, on a real Postgres.

use toolcrib_testkit::postgres_server::PostgresServer;

use crate::support::{DaemonProcess, Ended, TestEnv, end, json as parsed};

/// The test is not about power failures, so the disk need not sync.
const FAST: &[&str] = &["-c", "fsync=off"];

/// Runs the binary with this database.
fn run_on(env: &TestEnv, url: &str, migrations: &str, args: &[&str]) -> Ended {
    let mut command = env.command(args);
    command.env("TOOLCRIB_DATABASE_URL", url).env("TOOLCRIB_DATABASE_MIGRATIONS", migrations);
    end(command, b"")
}

#[test]
fn operators_migrate_a_shared_database_and_see_its_daemons() {
    let server = PostgresServer::start_with(FAST);
    migrations_are_a_step_of_their_own(&server);
    every_daemon_lists_all_daemons(&server);
    a_result_stored_by_one_machine_is_read_by_another(&server);
}

fn migrations_are_a_step_of_their_own(server: &PostgresServer) {
    let env = TestEnv::new();
    let url = server.database("steps");
    let check = ["db", "migrate", "--check"];
    let said = run_on(&env, &url, "refuse", &check).code(1).stdout;
    assert!(said.contains("no tables yet"), "{said}");
    let refused = run_on(&env, &url, "refuse", &["history"]).code(3);
    refused.says(&["apply the missing migrations with `toolcrib db migrate`"]);
    let served = run_on(&env, &url, "refuse", &["serve", "--listen", "127.0.0.1:0"]).code(3);
    served.says(&["toolcrib db migrate"]);
    let said = run_on(&env, &url, "refuse", &["db", "migrate"]).code(0).stdout;
    assert!(said.contains("the tables were created"), "{said}");
    run_on(&env, &url, "refuse", &check).code(0);
    run_on(&env, &url, "refuse", &["history"]).code(0);
    let row = parsed(&run_on(&env, &url, "refuse", &["db", "migrate", "--json"]).code(0).stdout);
    assert_eq!((&row["before"], &row["pending"]), (&row["known"], &false.into()), "{row}");
    server.sql("steps", "UPDATE toolcrib_schema SET version = version - 1");
    let said = run_on(&env, &url, "apply", &check).code(1).stdout;
    assert!(said.contains("1 migrations are missing"), "{said}");
    run_on(&env, &url, "sometimes", &["history"]).code(3).says(&["must be `apply` or `refuse`"]);
}

fn every_daemon_lists_all_daemons(server: &PostgresServer) {
    let url = server.database("shared");
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let first = DaemonProcess::start_on(&one, &url);
    let second = DaemonProcess::start_on(&two, &url);
    // A daemon is listed after it has claimed work, which it does when it scans for abandoned runs.
    let daemons = loop {
        let row = parsed(&one.run(&["status", "--json"]).code(0).stdout);
        let daemons = row["daemons"].as_array().cloned().unwrap_or_default();
        if daemons.len() == 2 {
            break daemons;
        }
    };
    let mut pids: Vec<u64> = daemons.iter().map(|row| row["pid"].as_u64().unwrap()).collect();
    pids.sort_unstable();
    let mut expected = [u64::from(first.pid()), u64::from(second.pid())];
    expected.sort_unstable();
    assert_eq!(pids, expected, "{daemons:?}");
    for row in &daemons {
        assert_eq!(
            (&row["alive"], &row["version"]),
            (&true.into(), &env!("CARGO_PKG_VERSION").into())
        );
        assert!(!row["host"].as_str().unwrap().is_empty(), "{row}");
    }
    let text = two.run(&["status"]).code(0).stdout;
    assert_eq!(text.lines().filter(|line| line.starts_with("daemon ")).count(), 2, "{text}");
    let token = one.run(&["token", "show"]).code(0).stdout;
    let metrics = first.raw(&format!(
        "GET /metrics HTTP/1.1\r\nHost: {{host}}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        token.trim()
    ));
    for line in [
        "toolcrib_database_pool_limit 4",
        "toolcrib_database_fenced_writes_total 0",
        "toolcrib_database_seconds_bucket{le=\"+Inf\",operation=\"commit\"}",
        "toolcrib_database_seconds_count{operation=\"read\"}",
    ] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    first.stop(&one);
    second.stop(&two);
}

/// Each environment has a separate state folder, as on separate machines.
fn a_result_stored_by_one_machine_is_read_by_another(server: &PostgresServer) {
    let url = server.database("artifacts");
    let (one, two) = (TestEnv::new(), TestEnv::new());
    let long: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    std::fs::write(one.root().join("long.txt"), long).unwrap();
    let call = ["tool", "call", "read_file", "--args", r#"{"path": "long.txt"}"#];
    run_on(&one, &url, "apply", &call).code(0);
    let listed = run_on(&two, &url, "apply", &["artifact", "list", "--json"]).code(0).stdout;
    let meta = parsed(&listed)[0].clone();
    let name = meta["artifact"].as_str().unwrap();
    let show = ["artifact", "show", name, "--content"];
    let content = run_on(&two, &url, "apply", &show).code(0).stdout;
    assert_eq!(meta["bytes"].as_u64(), Some(content.len() as u64));
    assert!(content.contains("line 7\n") && content.contains("line 3000\n"), "{}", content.len());
    run_on(&two, &url, "apply", &["artifact", "rm", name]).code(0);
    run_on(&one, &url, "apply", &show).code(4);
}
