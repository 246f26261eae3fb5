//! `toolcrib task`.

use clap::{Args, Subcommand};

pub(super) const TASK_HELP: &str = "\
Examples:
  toolcrib task add \"Project news\" \"Summarize what changed since yesterday.\" --cron \"0 9 * * MON-FRI\"
  toolcrib task add \"Call Mia\" \"Remind me to call Mia.\" --at 2026-12-24T17:00
  toolcrib task add Pasta \"Take the pasta out.\" --at 18:40 --alarm
  toolcrib task list
  echo '{\"id\": 1, \"cron\": \"0 9 * * *\", \"zone\": \"Europe/Berlin\"}' | toolcrib task next --lines

A daemon (`toolcrib serve`) runs what is due, in the channel background: a call that needs a person is denied and left in the inbox. \
`toolcrib tool disable --feature scheduling` switches all of that off.";

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Make a task.
    Add(AddTask),
    /// List the tasks, the oldest first.
    List {
        /// Also those that are over.
        #[arg(long)]
        all: bool,
    },
    /// Show one task with its next times.
    Show {
        /// The task; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Let the daemon run a task now.
    Run {
        /// The task; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Pause a task until it is resumed.
    Pause {
        /// The task; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Let a paused task run again, also one that a model made from text from outside.
    Resume {
        /// The task; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Stop the ringing of an alarm.
    Dismiss {
        /// The task; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Cancel a task: it does not run again.
    Cancel {
        /// The task; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Show the last executions of a task, the newest first.
    History {
        /// The task; a beginning of its id that no other has is enough.
        id: String,
    },
    /// Compute when schedules are due next; nothing is stored.
    #[command(
        after_help = "Each line of standard input is {id, cron | execute_at | recurrence with execute_at as its first time, zone, after, count}; each line of standard output is {id, next: [times with offsets]} or {id, error}. Without zone, times are in the zone of this machine; without after, from now on; count is 3 unless given, at most 1000.\n\nExit codes: 0 every line was answered, errors of single lines too; 2 standard input cannot be read."
    )]
    Next {
        /// Read schedules as lines of JSON from standard input.
        #[arg(long, required = true)]
        lines: bool,
    },
}

/// A task to make.
#[derive(Debug, Args)]
pub(crate) struct AddTask {
    /// What it is for, in a few words.
    pub(crate) description: String,
    /// What its runs are told, or what an alarm says.
    pub(crate) prompt: String,
    /// An alarm: it notifies you every minute until you dismiss it.
    #[arg(long)]
    pub(crate) alarm: bool,
    /// A notification, once at each of its times, with the prompt as its text. No agent runs.
    #[arg(long, conflicts_with = "alarm")]
    pub(crate) notify: bool,
    /// A time such as 2026-11-30T09:00, in the zone of the task unless it has an offset.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Five fields: minute, hour, day of month, month, day of week. Day of month and day of week
    /// must both match.
    #[arg(long, value_name = "FIELDS")]
    pub(crate) cron: Option<String>,
    /// daily, weekly, monthly, weekdays, hourly or interval:MINUTES, with --at as the first time.
    #[arg(long, value_name = "RECURRENCE")]
    pub(crate) every: Option<String>,
    /// With --every hourly or interval:MINUTES: only between these times of the day, such as
    /// 9:00-17:00.
    #[arg(long, value_name = "START-END", requires = "every", value_parser = daily_hours)]
    pub(crate) between: Option<(String, String)>,
    /// At every heartbeat, as part of its prompt.
    #[arg(long)]
    pub(crate) on_heartbeat: bool,
    /// When the daemon's address /api/v1/hooks/NAME is called, signed with the secret hook-NAME.
    #[arg(long, value_name = "NAME")]
    pub(crate) hook: Option<String>,
    /// When a file of the daemon's workspace changes that this glob matches.
    #[arg(long, value_name = "GLOB")]
    pub(crate) on_change: Option<String>,
    /// Time zone such as Europe/Berlin. Default: that of this machine.
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// The agent of its runs. Default: the configured one.
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
}

/// Two times of the day; whether they are times is checked with the rest of the schedule.
fn daily_hours(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('-').map(|(start, end)| (start.trim(), end.trim()));
    let parts = parts.filter(|(start, end)| !start.is_empty() && !end.is_empty());
    let (start, end) = parts.ok_or("write two times of the day, such as 9:00-17:00")?;
    Ok((start.to_owned(), end.to_owned()))
}
