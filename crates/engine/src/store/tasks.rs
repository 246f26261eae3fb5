//! Tasks, in memory.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::future::ready;
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolcrib_core::{BoxFuture, StoreError, Task, TaskId, TaskStore};

/// A [`TaskStore`] that lives as long as the process.
#[derive(Default)]
pub struct MemoryTasks {
    tasks: Mutex<BTreeMap<TaskId, Task>>,
}

impl MemoryTasks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<TaskId, Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskStore for MemoryTasks {
    fn add_task(&self, task: Task) -> BoxFuture<'_, Result<(), StoreError>> {
        let added = match self.lock().entry(task.id) {
            Entry::Occupied(_) => Err(StoreError::Conflict(task.id.to_string())),
            Entry::Vacant(place) => {
                place.insert(Task { revision: 1, ..task });
                Ok(())
            }
        };
        Box::pin(ready(added))
    }

    fn task(&self, id: TaskId) -> BoxFuture<'_, Result<Option<Task>, StoreError>> {
        Box::pin(ready(Ok(self.lock().get(&id).cloned())))
    }

    fn tasks<'a>(&'a self, owner: &'a str) -> BoxFuture<'a, Result<Vec<Task>, StoreError>> {
        let of_owner = self.lock().values().filter(|task| task.owner == owner).cloned().collect();
        Box::pin(ready(Ok(of_owner)))
    }

    fn waking_tasks(
        &self,
        until: i64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Task>, StoreError>> {
        let tasks = self.lock();
        let mut waking: Vec<(i64, Task)> = tasks
            .values()
            .filter_map(|task| Some((task.wake_at().filter(|at| *at <= until)?, task.clone())))
            .collect();
        waking.sort_by_key(|(at, _)| *at);
        let first = waking.into_iter().take(limit).map(|(_, task)| task).collect();
        Box::pin(ready(Ok(first)))
    }

    fn next_wake(&self) -> BoxFuture<'_, Result<Option<i64>, StoreError>> {
        Box::pin(ready(Ok(self.lock().values().filter_map(Task::wake_at).min())))
    }

    fn put_task(&self, task: Task) -> BoxFuture<'_, Result<i64, StoreError>> {
        let mut tasks = self.lock();
        let put = match tasks.get_mut(&task.id) {
            None => Err(StoreError::Missing(task.id.to_string())),
            Some(there) if there.revision != task.revision => {
                Err(StoreError::Conflict(task.id.to_string()))
            }
            Some(there) => {
                let revision = task.revision + 1;
                *there = Task { revision, ..task };
                Ok(revision)
            }
        };
        Box::pin(ready(put))
    }

    fn remove_task(&self, id: TaskId) -> BoxFuture<'_, Result<bool, StoreError>> {
        Box::pin(ready(Ok(self.lock().remove(&id).is_some())))
    }
}
