//! One queued write: the work inside a transaction, and the callback for its result after the
//! commit.

use rusqlite::Connection;
use toolcrib_core::StoreError;

use crate::error::{Failure, stopped};

/// Durability of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Durability {
    /// The death of the process.
    ProcessCrash,
    /// Power loss too.
    PowerLoss,
}

/// Result of a job before the commit.
pub(super) enum WorkResult {
    /// Its changes remain.
    Written,
    /// Its changes are rolled back.
    RolledBack,
    /// Its changes are rolled back because the disk is full.
    DiskFull,
    /// The disk failed.
    Broken(StoreError),
}

/// Whether a job is finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Completion {
    /// Written, or refused permanently.
    Done,
    /// A retry may succeed.
    Retry,
}

/// Work with its result, type-erased.
trait Task: Send {
    fn run(&mut self, conn: &Connection) -> WorkResult;
    fn answer(&mut self, committed: Result<(), StoreError>) -> Completion;
}

struct TypedTask<T, W, A> {
    work: W,
    result: Option<Result<T, StoreError>>,
    /// `None` if the caller was answered already and the work is only retried.
    answer: Option<A>,
}

impl<T, W, A> Task for TypedTask<T, W, A>
where
    T: Send,
    W: FnMut(&Connection) -> Result<T, Failure> + Send,
    A: FnOnce(Result<T, StoreError>) + Send,
{
    fn run(&mut self, conn: &Connection) -> WorkResult {
        let done = (self.work)(conn);
        let is_of_disk = done.as_ref().is_err_and(Failure::is_disk_error);
        let result = done.map_err(StoreError::from);
        let ran = match &result {
            Ok(_) => WorkResult::Written,
            Err(StoreError::Full(_)) => WorkResult::DiskFull,
            Err(error) if is_of_disk => WorkResult::Broken(error.clone()),
            Err(_) => WorkResult::RolledBack,
        };
        self.result = Some(result);
        ran
    }

    fn answer(&mut self, committed: Result<(), StoreError>) -> Completion {
        // A job that never ran has no result of its own.
        let (result, closed) = match (self.result.take(), committed) {
            (Some(Err(own @ (StoreError::Full(_) | StoreError::Busy(_)))), _) => {
                (Err(own), Completion::Retry)
            }
            (Some(Err(own)), _) => (Err(own), Completion::Done),
            (_, Err(error)) => (Err(error), Completion::Retry),
            (Some(Ok(value)), Ok(())) => (Ok(value), Completion::Done),
            (None, Ok(())) => (Err(stopped()), Completion::Done),
        };
        if let Some(answer) = self.answer.take() {
            answer(result);
        }
        closed
    }
}

/// Handling of a write while the disk is full.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OnFullDisk {
    /// It is refused.
    Refuse,
    /// It is written into the reserved space. For small writes that reading and ending calls depend
    /// on: claims and recovery.
    UseReserve,
    /// It is written into the reserved space, and retried if that is used up: it ends running work.
    Keep,
}

/// One write.
pub(crate) struct Job {
    pub(super) survives: Durability,
    pub(super) on_full_disk: OnFullDisk,
    /// Whether the job is unawaited: it then waits briefly to share a commit.
    pub(super) is_patient: bool,
    task: Box<dyn Task>,
}

impl Job {
    /// Creates a job from work inside a transaction, with a callback for its result after the
    /// commit.
    pub(crate) fn new<T: Send + 'static>(
        survives: Durability,
        work: impl FnOnce(&Connection) -> Result<T, Failure> + Send + 'static,
        answer: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) -> Self {
        let mut work = Some(work);
        let once = move |conn: &Connection| match work.take() {
            Some(work) => work(conn),
            None => Err(stopped().into()),
        };
        Self {
            survives,
            on_full_disk: OnFullDisk::Refuse,
            is_patient: false,
            task: Box::new(TypedTask { work: once, result: None, answer: Some(answer) }),
        }
    }

    /// Creates a job that is also written on a full disk, so that its work may run more than once.
    pub(crate) fn reserved<T: Send + 'static>(
        on_full_disk: OnFullDisk,
        survives: Durability,
        work: impl Fn(&Connection) -> Result<T, Failure> + Send + 'static,
        answer: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) -> Self {
        Self {
            survives,
            on_full_disk,
            is_patient: false,
            task: Box::new(TypedTask { work, result: None, answer: Some(answer) }),
        }
    }

    /// Marks the job as unawaited.
    pub(crate) fn patient(self) -> Self {
        Self { is_patient: true, ..self }
    }

    pub(super) fn run(&mut self, conn: &Connection) -> WorkResult {
        self.task.run(conn)
    }

    /// Sends the answer after the commit. Only the first answer is sent.
    pub(super) fn answer(&mut self, committed: Result<(), StoreError>) -> Completion {
        self.task.answer(committed)
    }

    /// Refuses the job.
    pub(super) fn refuse(mut self, error: &StoreError) {
        self.task.answer(Err(error.clone()));
    }
}
