//! `toolcrib task`: scheduled tasks, and the times of schedules.

use serde_json::json;
use toolcrib_assistant::task::When;
use toolcrib_assistant::time;
use toolcrib_core::{Clock as _, MailFilter, SystemClock, TaskId};
use toolcrib_ops::tasks::{
    self, AddTaskRequest, ChangeTaskRequest, ListTasksRequest, ShowTaskRequest, TaskChange,
    TaskExecutionReply, TaskReply,
};
use toolcrib_ops::{OpContext, Resource, id_prefix};

use super::library_snapshot;
use crate::clap_args::{AddTask, Task, WorkspaceArgs};
use crate::output::{self, Failure};
use crate::{bootstrap, op_context, terminal, time_format};

pub(crate) fn run(command: Task, json: bool) -> Result<u8, Failure> {
    if let Task::Next { .. } = command {
        return next();
    }
    bootstrap::block_on(async {
        let toolcrib = bootstrap::build_with_stores(&WorkspaceArgs::default()).await?;
        let ctx = op_context::for_toolcrib(&toolcrib, None);
        match command {
            Task::Add(new) => print_task(&tasks::add(&ctx, request(*new)).await?, json),
            Task::List { all } => list(&ctx, all, json).await,
            Task::Show { id } => print_task(&find(&ctx, &id).await?, json),
            Task::Run { id } => change(&ctx, &id, TaskChange::Run, json).await,
            Task::Pause { id } => change(&ctx, &id, TaskChange::Pause, json).await,
            Task::Resume { id } => change(&ctx, &id, TaskChange::Resume, json).await,
            Task::Cancel { id } => change(&ctx, &id, TaskChange::Cancel, json).await,
            Task::Dismiss { id } => change(&ctx, &id, TaskChange::Dismiss, json).await,
            Task::History { id } => print_history(&find(&ctx, &id).await?, json),
            Task::Next { .. } => next(),
        }
    })
}

fn request(new: AddTask) -> AddTaskRequest {
    AddTaskRequest {
        description: new.description,
        prompt: new.prompt,
        is_alarm: new.alarm,
        is_notification: new.notify,
        when: When {
            execute_at: new.at,
            cron: new.cron,
            recurrence: new.every,
            window_start: new.between.as_ref().map(|hours| hours.0.clone()),
            window_end: new.between.map(|hours| hours.1),
            on_heartbeat: new.on_heartbeat,
            hook: new.hook,
            on_change: new.on_change,
            on_mail: new.on_mail.then_some(MailFilter {
                account: new.mail_account,
                from: new.mail_from,
                subject: new.mail_subject,
            }),
        },
        zone: new.zone,
        surroundings: bootstrap::surroundings(),
        agent: new.agent,
    }
}

async fn find_id(ctx: &OpContext<'_>, text: &str) -> Result<TaskId, Failure> {
    let all = tasks::list(ctx, ListTasksRequest { only_open: false }).await?;
    let ids: Vec<TaskId> = all.iter().filter_map(|task| task.task.parse().ok()).collect();
    Ok(id_prefix::resolve(Resource::Task, text, &ids)?)
}

async fn find(ctx: &OpContext<'_>, text: &str) -> Result<TaskReply, Failure> {
    let id = find_id(ctx, text).await?;
    Ok(tasks::show(ctx, ShowTaskRequest { id }).await?)
}

async fn change(
    ctx: &OpContext<'_>,
    text: &str,
    change: TaskChange,
    json: bool,
) -> Result<u8, Failure> {
    let id = find_id(ctx, text).await?;
    print_task(&tasks::change(ctx, ChangeTaskRequest { id, change }).await?, json)
}

async fn list(ctx: &OpContext<'_>, all: bool, json: bool) -> Result<u8, Failure> {
    let rows = tasks::list(ctx, ListTasksRequest { only_open: !all }).await?;
    if json {
        output::print_json(&json!(rows), true)?;
        return Ok(0);
    }
    if rows.is_empty() {
        // Without --all, finished tasks are not listed.
        let is_any =
            !all && !tasks::list(ctx, ListTasksRequest { only_open: false }).await?.is_empty();
        output::eprint_line(if is_any {
            "toolcrib: no task will run; `toolcrib task list --all` shows those that are over"
        } else {
            "toolcrib: no tasks; `toolcrib task add` creates one"
        });
        return Ok(0);
    }
    let head = ["TASK", "STATUS", "NEXT", "SCHEDULE", "DESCRIPTION"].map(str::to_owned).to_vec();
    let row = |task: &TaskReply| {
        vec![
            task.task.clone(),
            task.status.to_lowercase(),
            task.next.first().cloned().unwrap_or_else(|| "-".to_owned()),
            terminal::escape_to_line(&task.schedule),
            terminal::escape_to_line(&task.description),
        ]
    };
    let rows: Vec<_> = std::iter::once(head).chain(rows.iter().map(row)).collect();
    output::print_line(&library_snapshot::table(&rows))?;
    Ok(0)
}

fn print_task(task: &TaskReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(task), true)?;
        return Ok(0);
    }
    let mut text = format!(
        "{}  {}  {}\n{} ({})\n",
        task.task,
        task.status.to_lowercase(),
        terminal::escape_to_line(&task.description),
        terminal::escape_to_line(&task.schedule),
        task.zone,
    );
    for next in &task.next_in_words {
        text += &format!("  next: {next}\n");
    }
    if task.rings > 0 {
        text += &format!("it rings; `toolcrib task dismiss {}` stops it\n", task.task);
    }
    if let Some(source) = &task.untrusted {
        text += &format!(
            "made from text from outside ({}); it is paused until you resume it\n",
            terminal::escape_to_line(source)
        );
    }
    if let Some(conversation) = &task.conversation {
        text += &format!("conversation: {conversation}\n");
    }
    let prompt = task.prompt.as_deref().unwrap_or_default();
    text += &format!("\n{}\n", terminal::escape_controls(prompt));
    output::print_line(&text)?;
    Ok(0)
}

fn print_history(task: &TaskReply, json: bool) -> Result<u8, Failure> {
    if json {
        output::print_json(&json!(task.history), true)?;
        return Ok(0);
    }
    if task.history.is_empty() {
        output::eprint_line("toolcrib: this task has not run yet");
        return Ok(0);
    }
    let text: String = task.history.iter().map(execution_text).collect();
    output::print_line(&text)?;
    Ok(0)
}

fn execution_text(one: &TaskExecutionReply) -> String {
    let missed = match one.missed {
        0 => String::new(),
        missed => format!(", {missed} later times were missed"),
    };
    format!(
        "{}  {}  due {}{missed}{}\n    {}\n",
        if one.ok { "OK  " } else { "FAIL" },
        time_format::format_local(one.started_at),
        time_format::format_local(one.due_at),
        one.run.as_ref().map(|run| format!(", {run}")).unwrap_or_default(),
        terminal::escape_to_line(one.result.as_deref().unwrap_or_default()),
    )
}

fn next() -> Result<u8, Failure> {
    let input = output::read_stdin()
        .map_err(|error| Failure::usage(format!("standard input cannot be read: {error}")))?;
    let now = jiff::Timestamp::from_millisecond(SystemClock.now_ms())
        .map_err(|error| Failure::run(format!("the clock of this machine is wrong: {error}")))?;
    let text = String::from_utf8_lossy(&input);
    let mut answers = String::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        answers += &format!("{}\n", time::next_line(line, now));
    }
    output::print_raw(&answers)?;
    Ok(0)
}
