//! `toolcrib task`.

use clap::{Args, Subcommand};

pub(super) const TASK_HELP: &str = "\
Examples:
  toolcrib task add \"Project news\" \"Summarize what changed since yesterday.\" --cron \"0 9 * * MON-FRI\"
  toolcrib task add \"Call Mia\" \"Remind me to call Mia.\" --at 2026-12-24T17:00
  toolcrib task add Pasta \"Take the pasta out.\" --at 18:40 --alarm
  toolcrib task list
  echo '{\"id\": 1, \"cron\": \"0 9 * * *\", \"zone\": \"Europe/Berlin\"}' | toolcrib task next --lines

The daemon (`toolcrib serve`) runs due tasks in the channel background: a call that needs a person is denied and put into the inbox. \
`toolcrib tool disable --feature scheduling` switches scheduling off.";

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Create a task.
    Add(Box<AddTask>),
    /// List tasks, oldest first.
    List {
        /// Include finished tasks.
        #[arg(long)]
        all: bool,
    },
    /// Show a task with its next times.
    Show {
        /// Id of the task; a unique prefix is enough.
        id: String,
    },
    /// Run a task now, in the daemon.
    Run {
        /// Id of the task; a unique prefix is enough.
        id: String,
    },
    /// Pause a task until it is resumed.
    Pause {
        /// Id of the task; a unique prefix is enough.
        id: String,
    },
    /// Resume a paused task, such as one that a model created from untrusted text.
    Resume {
        /// Id of the task; a unique prefix is enough.
        id: String,
    },
    /// Dismiss a ringing alarm.
    Dismiss {
        /// Id of the task; a unique prefix is enough.
        id: String,
    },
    /// Cancel a task: it does not run again.
    Cancel {
        /// Id of the task; a unique prefix is enough.
        id: String,
    },
    /// Show the last executions of a task, newest first.
    History {
        /// Id of the task; a unique prefix is enough.
        id: String,
    },
    /// Compute the next times of schedules without storing anything.
    #[command(
        after_help = "Each line of standard input is {id, cron | execute_at | recurrence with execute_at as its first time, zone, after, count}; each line of standard output is {id, next: [times with offsets]} or {id, error}. Defaults: zone is that of this machine, after is now, count is 3 (at most 1000).\n\nExit codes: 0 every line has an answer, even if it is an error; 2 standard input cannot be read."
    )]
    Next {
        /// Read schedules as JSON lines from standard input.
        #[arg(long, required = true)]
        lines: bool,
    },
}

/// The task to create.
#[derive(Debug, Args)]
pub(crate) struct AddTask {
    /// Short description of the task.
    pub(crate) description: String,
    /// Prompt of its runs, or the message of an alarm or a notification.
    pub(crate) prompt: String,
    /// Create an alarm: it notifies you every minute until you dismiss it.
    #[arg(long)]
    pub(crate) alarm: bool,
    /// Create a notification: it notifies you once at each of its times, and no agent runs.
    #[arg(long, conflicts_with = "alarm")]
    pub(crate) notify: bool,
    /// Time such as 2026-11-30T09:00, in the zone of the task unless it has an offset.
    #[arg(long, value_name = "TIME")]
    pub(crate) at: Option<String>,
    /// Cron expression of five fields: minute, hour, day of month, month, day of week. Day of month
    /// and day of week must both match.
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
    /// When a client calls the daemon's webhook /api/v1/hooks/NAME, signed with the secret
    /// hook-NAME.
    #[arg(long, value_name = "NAME")]
    pub(crate) hook: Option<String>,
    /// When a file of the daemon's workspace that matches this glob changes.
    #[arg(long, value_name = "GLOB")]
    pub(crate) on_change: Option<String>,
    /// When mail arrives; --mail-account, --mail-from and --mail-subject narrow it down.
    #[arg(long)]
    pub(crate) on_mail: bool,
    /// With --on-mail: id or address of the account. Default: all accounts.
    #[arg(long, value_name = "ACCOUNT", requires = "on_mail")]
    pub(crate) mail_account: Option<String>,
    /// With --on-mail: part of the sender's name or address.
    #[arg(long, value_name = "TEXT", requires = "on_mail")]
    pub(crate) mail_from: Option<String>,
    /// With --on-mail: part of the subject.
    #[arg(long, value_name = "TEXT", requires = "on_mail")]
    pub(crate) mail_subject: Option<String>,
    /// Time zone such as Europe/Berlin. Default: that of this machine.
    #[arg(long, value_name = "ZONE")]
    pub(crate) zone: Option<String>,
    /// Agent of its runs. Default: the configured one.
    #[arg(long, value_name = "AGENT")]
    pub(crate) agent: Option<String>,
}

/// Parses two times of the day; they are validated together with the rest of the schedule.
fn daily_hours(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('-').map(|(start, end)| (start.trim(), end.trim()));
    let parts = parts.filter(|(start, end)| !start.is_empty() && !end.is_empty());
    let (start, end) = parts.ok_or("write two times of the day, such as 9:00-17:00")?;
    Ok((start.to_owned(), end.to_owned()))
}
