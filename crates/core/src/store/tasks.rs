//! Task store.

use super::StoreError;
use crate::BoxFuture;
use crate::id::TaskId;
use crate::task::Task;

/// Stores tasks. A change names the revision that it is based on, so that only one of several
/// schedulers claims a due task, and a scheduler that lost its claim cannot settle the task.
pub trait TaskStore: Send + Sync {
    /// Adds a task; an existing id is a [`StoreError::Conflict`].
    fn add_task(&self, task: Task) -> BoxFuture<'_, Result<(), StoreError>>;

    /// Returns one task.
    fn task(&self, id: TaskId) -> BoxFuture<'_, Result<Option<Task>, StoreError>>;

    /// Returns all tasks of an owner, oldest first.
    fn tasks<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Task>, StoreError>>;

    /// Returns tasks of every owner whose [`Task::wake_at`] is at most `until`, the earliest first,
    /// at most `limit`.
    fn waking_tasks(
        &self,
        until: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Task>, StoreError>>;

    /// Returns the earliest [`Task::wake_at`] of all tasks.
    fn next_wake(&self) -> BoxFuture<'_, Result<Option<i64>, StoreError>>;

    /// Replaces a task that is at [`Task::revision`] and returns its new revision. Another revision
    /// is a [`StoreError::Conflict`], a removed task is [`StoreError::Missing`].
    fn put_task(&self, task: Task) -> BoxFuture<'_, Result<i64, StoreError>>;

    /// Removes a task; `false` if it does not exist.
    fn remove_task(&self, id: TaskId) -> BoxFuture<'_, Result<bool, StoreError>>;
}
