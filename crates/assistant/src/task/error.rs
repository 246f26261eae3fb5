//! Errors of operations on tasks.

use toolcrib_core::{StoreError, ToolError};

use super::new_task::{MAX_DESCRIPTION_CHARS, MAX_PROMPT_CHARS};
use super::tasks::{MAX_DEPTH, MAX_MODEL_TASKS, MAX_MODEL_TASKS_PER_HOUR, MAX_TASKS};
use crate::time::TimeError;

/// Why an operation on tasks failed. The texts are for models and people.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TaskError {
    /// No task has this id.
    #[error("There is no task {0}. List the tasks to see their ids.")]
    Unknown(String),
    /// The time or schedule is invalid.
    #[error(transparent)]
    Time(#[from] TimeError),
    /// A text is missing or too long.
    #[error(
        "A task needs a description of 1 to {MAX_DESCRIPTION_CHARS} characters on one line and a prompt of 1 to {MAX_PROMPT_CHARS} characters."
    )]
    BadText,
    /// The text contains a secret.
    #[error(
        "The text contains a secret, so no task was made: its prompt is shown to models. The person can keep it with `toolcrib secret set NAME`; tools then use it by its name."
    )]
    Secret,
    /// The owner has the maximum number of open tasks.
    #[error("There are {MAX_TASKS} open tasks, which is the maximum. Cancel one first.")]
    Full,
    /// Models have created the maximum number of open tasks.
    #[error(
        "Models have made {MAX_MODEL_TASKS} open tasks, which is the maximum. Cancel one that is no longer needed first."
    )]
    ModelsFull,
    /// Tasks and goals start each other too deeply.
    #[error(
        "This run belongs to a task or goal that others have started, {MAX_DEPTH} deep, so it cannot make another task. Finish the work in this run, or ask the person."
    )]
    TooDeep,
    /// Models have created the maximum number of tasks within an hour.
    #[error(
        "Models have made {MAX_MODEL_TASKS_PER_HOUR} tasks within the last hour, which is the maximum. Do the work in this run or in a task with a recurrence, or ask the person, who can make one with `toolcrib task add`."
    )]
    TooManyPerHour,
    /// The task's state does not allow the action.
    #[error("{0}")]
    State(String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<TaskError> for ToolError {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::Store(error) => {
                Self::execution("The tasks cannot be read or written now. Try again later.")
                    .with_detail(error.to_string())
            }
            TaskError::State(text) => Self::execution(text),
            error => Self::validation(error.to_string()),
        }
    }
}
