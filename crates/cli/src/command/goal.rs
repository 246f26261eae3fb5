//! `toolcrib goal`: goals that background runs pursue.

use serde_json::json;
use toolcrib_app::Toolcrib;
use toolcrib_ops::goals::{
    self, ChangeGoalRequest, GoalChange, GoalReply, ListGoalsRequest, ShowGoalRequest,
    StartGoalRequest,
};

use super::library_snapshot;
use crate::clap_args::{Goal, WorkspaceArgs};
use crate::daemon::DaemonPaths;
use crate::output::{self, Failure};
use crate::terminal::{escape_controls, escape_to_line, truncate_to_width};
use crate::{bootstrap, op_context, time_format};

/// Number of columns of a text in the list.
const TEXT_WIDTH: usize = 60;

pub(crate) fn run(command: Goal, json: bool) -> Result<u8, Failure> {
    bootstrap::block_on(async {
        let toolcrib: Toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Goal::Add(new) => {
                let request = StartGoalRequest {
                    text: new.text,
                    agent: new.agent,
                    rounds: new.rounds,
                    tokens: new.tokens,
                    surroundings: bootstrap::surroundings(),
                };
                print_goal(&goals::start(&ctx, request).await?, json)
            }
            Goal::List => print_list(&goals::list(&ctx, ListGoalsRequest).await?, json),
            Goal::Show { goal } => {
                print_goal(&goals::show(&ctx, ShowGoalRequest { goal }).await?, json)
            }
            Goal::Cancel { goal } => {
                let request = ChangeGoalRequest { goal, change: GoalChange::Close };
                print_goal(&goals::change(&ctx, request).await?, json)
            }
            Goal::Resume { goal } => {
                let request = ChangeGoalRequest { goal, change: GoalChange::Resume };
                print_goal(&goals::change(&ctx, request).await?, json)
            }
        }
    })
}

fn print_list(all: &[GoalReply], json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(all), true)?;
        return Ok(0);
    }
    if all.is_empty() {
        output::eprint_line("toolcrib: no goals; `toolcrib goal add TEXT` starts one");
        return Ok(0);
    }
    let head = ["GOAL", "STATUS", "STARTED", "TEXT"].map(str::to_owned).to_vec();
    let row = |goal: &GoalReply| {
        let text = escape_to_line(goal.text.as_deref().unwrap_or_default());
        vec![
            goal.goal.clone(),
            goal.status.clone(),
            time_format::format_local(goal.created_at),
            truncate_to_width(&text, TEXT_WIDTH),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(all.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

fn print_goal(goal: &GoalReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(goal), true)?;
        return Ok(0);
    }
    let mut text = format!("{}  {}\n", goal.goal, goal.status);
    if let Some(run) = &goal.run {
        text += &format!("run {run}\n");
    }
    text += &format!("{}\n", escape_controls(goal.text.as_deref().unwrap_or_default()));
    if let Some(result) = &goal.result {
        text += &format!("\n{}\n", escape_controls(result));
    }
    if let Some(source) = &goal.result_source {
        text += &format!("(from outside: {})\n", escape_to_line(source));
    }
    output::print_line(text.trim_end())?;
    if goal.status == "pending" {
        let runs = DaemonPaths::current().and_then(|place| place.running_address());
        output::eprint_line(if matches!(runs, Ok(Some(_))) {
            "toolcrib: the daemon pursues it; `toolcrib goal show` shows its progress"
        } else {
            "toolcrib: no daemon is running; start one with `toolcrib serve` to pursue it"
        });
    }
    Ok(0)
}
