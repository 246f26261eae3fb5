//! Sections about an assistant's work besides answering: tasks, mail, cards.

use std::fmt::Write as _;

use super::sections::one_line;

/// Maximum number of tasks in a prompt: the list exists so that a model does not create a task
/// twice.
const MOST_TASKS: usize = 10;

/// Renders the instruction on when a request becomes a task, and on the purpose of the heartbeat.
pub(super) fn automation(tools: &[&str]) -> Option<String> {
    if !tools.contains(&"schedule_task") {
        return None;
    }
    let text = "## Automation\n\nWork for later, once or repeatedly, becomes a task (schedule_task). It does not see this conversation: its prompt must be complete.";
    Some(text.to_owned())
}

/// Renders the person's mail accounts, for a model that reads mail.
pub(super) fn mail_accounts(addresses: &[String], tools: &[&str]) -> Option<String> {
    if addresses.is_empty() || !tools.contains(&"check_email") {
        return None;
    }
    let mut text = "## E-Mail Accounts\n".to_owned();
    for address in addresses {
        let _ = write!(text, "\n- {}", one_line(address));
    }
    Some(text)
}

/// Renders the tasks that wait for their scheduled time, for a model that creates tasks.
pub(super) fn tasks(lines: &[String], tools: &[&str]) -> Option<String> {
    if lines.is_empty() || !tools.contains(&"schedule_task") {
        return None;
    }
    let mut text = "## Scheduled Tasks\n".to_owned();
    for line in lines.iter().take(MOST_TASKS) {
        let _ = write!(text, "\n- {}", one_line(line));
    }
    if lines.len() > MOST_TASKS {
        text.push_str("\n- and more, use list_tasks");
    }
    Some(text)
}

/// Renders the instruction on when an answer is a card.
pub(super) fn cards(tools: &[&str]) -> Option<String> {
    tools.contains(&"rich_render").then(|| {
        "## Cards\n\nUse rich_render for figures, comparisons, choices and forms; do not repeat them as text.".to_owned()
    })
}
