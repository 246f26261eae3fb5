//! Several daemons on one Postgres, killed, stopped, paused and switched off under load
//! (reliability 3, L2, A2, A3, A5, R1).

use serde_json::Value;

use crate::single_process::report;

/// What must not be.
const FINDINGS: [&str; 5] = ["lost", "doubled", "stuck", "late_starts", "contradictions"];

#[test]
fn four_daemons_run_each_call_once_and_leave_none_behind() {
    let (is_clean, report) = report(&["--daemons", "4", "--calls", "400", "--hurry"], &[]);
    for finding in FINDINGS {
        assert_eq!(report[finding], 0, "{finding}: {report:#}");
    }
    assert!(is_clean, "{report:#}");
    // A trial in which nothing happened would find nothing either.
    let at_least = |figure: &str, least: u64| {
        assert!(report[figure].as_u64().is_some_and(|n| n >= least), "{figure}: {report:#}");
    };
    let figures =
        [("calls", 400), ("runs", 8), ("approvals", 50), ("executions", 200), ("denied", 5)];
    for (figure, least) in figures {
        at_least(figure, least);
    }
    for some in ["kills", "pauses", "races", "decisions_too_late", "sent_by_two", "audit_records"] {
        at_least(some, 1);
    }
    assert_eq!(report["words"], Value::Array(Vec::new()));
}

#[test]
fn a_due_time_is_run_once_or_said_to_be_missed_though_clocks_are_set_and_daemons_die() {
    let (is_clean, report) = report(&["--schedule", "6", "--seed", "3"], &[]);
    for finding in FINDINGS {
        assert_eq!(report[finding], 0, "{finding}: {report:#}");
    }
    assert!(is_clean, "{report:#}");
    // A trial in which nothing happened would find nothing either.
    let figures = [("rounds", 6), ("kills", 6), ("single_tasks", 12), ("due_times_run", 4)];
    for (figure, least) in figures.into_iter().chain([("effects", 20), ("clocks_set_ahead", 1)]) {
        assert!(report[figure].as_u64().is_some_and(|n| n >= least), "{figure}: {report:#}");
    }
}
