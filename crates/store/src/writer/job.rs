//! One write: what is done inside a transaction, and who is told when that is committed.

use rusqlite::Connection;
use toolcrib_core::StoreError;

use crate::error::{Failure, stopped};

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Survives {
    /// The death of the process.
    Kill,
    /// The loss of power too.
    PowerLoss,
}

/// How the work of a job went, before the commit.
pub(super) enum Ran {
    /// What it wrote is kept.
    Well,
    /// What it wrote is taken back.
    Failed,
    /// The same, because there is no room.
    Full,
    /// The disk failed under it.
    Broken(StoreError),
}

/// Whether there is anything left to do about a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// It is written, or the store has said why it never will be.
    Yes,
    /// The next try may succeed.
    No,
}

/// Work with its result, whatever the type of that is.
trait Task: Send {
    fn run(&mut self, conn: &Connection) -> Ran;
    fn answer(&mut self, committed: Result<(), StoreError>) -> Closed;
}

struct Typed<T, W, A> {
    work: W,
    result: Option<Result<T, StoreError>>,
    /// `None` = it was told already, and the work is tried again for its own sake.
    answer: Option<A>,
}

impl<T, W, A> Task for Typed<T, W, A>
where
    T: Send,
    W: FnMut(&Connection) -> Result<T, Failure> + Send,
    A: FnOnce(Result<T, StoreError>) + Send,
{
    fn run(&mut self, conn: &Connection) -> Ran {
        let done = (self.work)(conn);
        let is_of_disk = done.as_ref().is_err_and(Failure::is_of_disk);
        let result = done.map_err(StoreError::from);
        let ran = match &result {
            Ok(_) => Ran::Well,
            Err(StoreError::Full(_)) => Ran::Full,
            Err(error) if is_of_disk => Ran::Broken(error.clone()),
            Err(_) => Ran::Failed,
        };
        self.result = Some(result);
        ran
    }

    fn answer(&mut self, committed: Result<(), StoreError>) -> Closed {
        // What never ran has no result of its own.
        let (result, closed) = match (self.result.take(), committed) {
            (Some(Err(own @ (StoreError::Full(_) | StoreError::Busy(_)))), _) => {
                (Err(own), Closed::No)
            }
            (Some(Err(own)), _) => (Err(own), Closed::Yes),
            (_, Err(error)) => (Err(error), Closed::No),
            (Some(Ok(value)), Ok(())) => (Ok(value), Closed::Yes),
            (None, Ok(())) => (Err(stopped()), Closed::Yes),
        };
        if let Some(answer) = self.answer.take() {
            answer(result);
        }
        closed
    }
}

/// One write.
pub(crate) struct Job {
    pub(super) survives: Survives,
    /// Whether it ends something that runs already: it is written out of the reserve when the disk is full.
    pub(super) is_outcome: bool,
    /// Whether nobody waits for it: then it waits a moment for what comes next, and shares its commit.
    pub(super) is_patient: bool,
    task: Box<dyn Task>,
}

impl Job {
    /// Work inside a transaction, and who is told its result after the commit.
    pub(crate) fn new<T: Send + 'static>(
        survives: Survives,
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
            is_outcome: false,
            is_patient: false,
            task: Box::new(Typed { work: once, result: None, answer: Some(answer) }),
        }
    }

    /// Work that ends something that runs already, so that it may be done again when the first try found no room.
    pub(crate) fn outcome<T: Send + 'static>(
        survives: Survives,
        work: impl Fn(&Connection) -> Result<T, Failure> + Send + 'static,
        answer: impl FnOnce(Result<T, StoreError>) + Send + 'static,
    ) -> Self {
        Self {
            survives,
            is_outcome: true,
            is_patient: false,
            task: Box::new(Typed { work, result: None, answer: Some(answer) }),
        }
    }

    /// The same, if nobody waits for it.
    pub(crate) fn patient(self) -> Self {
        Self { is_patient: true, ..self }
    }

    pub(super) fn run(&mut self, conn: &Connection) -> Ran {
        self.task.run(conn)
    }

    /// Says how it went, when it is known whether the commit succeeded. The first answer is the one that is heard.
    pub(super) fn answer(&mut self, committed: Result<(), StoreError>) -> Closed {
        self.task.answer(committed)
    }

    /// Says why it was not done.
    pub(super) fn refuse(mut self, error: &StoreError) {
        self.task.answer(Err(error.clone()));
    }
}
