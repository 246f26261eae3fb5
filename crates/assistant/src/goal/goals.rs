//! The goals of all owners.

use std::sync::Arc;

use tokio::sync::Mutex;
use toolcrib_core::{
    AssistantRowStore, Author, ConversationId, RowKind, RunId, Surroundings, TaskId,
};

use super::error::GoalError;
use super::model::{Goal, GoalBudget, GoalEnd, GoalStatus, MAX_GOAL_CHARS};
use crate::SecretCheck;
use crate::rows::{RowError, TypedRows, Writer};
use crate::secret_shapes;

/// Maximum open goals of one owner.
pub const MAX_OPEN: usize = 10;
/// Maximum number of goals and tasks that start one another before a goal.
pub const MAX_DEPTH: u32 = 1;
/// Maximum goals that models may start for one owner within an hour: a person who delegates work
/// all day starts a few an hour, and each may use half a million tokens.
pub const MAX_MODEL_GOALS_PER_HOUR: usize = 20;
/// An hour in milliseconds.
const HOUR_MS: i64 = 3_600_000;
/// Maximum stored goals of one owner; the oldest ended ones are removed.
const KEPT: usize = 200;

/// A goal to start.
#[derive(Debug, Clone, Default)]
pub struct NewGoal {
    /// The aim.
    pub goal: String,
    /// The agent of its run; empty for the configured one.
    pub agent: String,
    /// The tools that the run is limited to.
    pub tools: Option<Vec<String>>,
    /// The conversation in which it is started; empty for a person.
    pub started_in: String,
    /// Number of goals and tasks that started one another before the run that starts this goal.
    pub depth: u32,
    /// The budget of its run.
    pub budget: GoalBudget,
    /// Information about the person, for its run.
    pub surroundings: Surroundings,
}

/// The goals of all owners. Clones share them.
#[derive(Clone)]
pub struct Goals {
    rows: TypedRows<Goal>,
    is_secret: SecretCheck,
    /// Held while limits are checked, because the calls of a batch run concurrently.
    starting: Arc<Mutex<()>>,
}

impl Goals {
    /// Creates goals in this store.
    #[must_use]
    pub fn new(store: Arc<dyn AssistantRowStore>, is_secret: SecretCheck) -> Self {
        Self { rows: TypedRows::new(store, RowKind::Goal), is_secret, starting: Arc::default() }
    }

    /// Starts a goal: a daemon starts its run within a second. A goal with untrusted text waits
    /// until a person lets it start.
    ///
    /// # Errors
    /// [`GoalError`] if it cannot be started.
    pub async fn start(&self, writer: &Writer, new: NewGoal) -> Result<Goal, GoalError> {
        let text = new.goal.trim();
        if text.is_empty() || text.chars().count() > MAX_GOAL_CHARS {
            return Err(GoalError::BadText);
        }
        if (self.is_secret)(text) || secret_shapes::occur_in(text) {
            return Err(GoalError::Secret);
        }
        let _starting = self.starting.lock().await;
        let all = self.list(&writer.owner).await?;
        if all.iter().filter(|goal| goal.status.is_open()).count() >= MAX_OPEN {
            return Err(GoalError::Full);
        }
        if writer.author.call.is_some() {
            self.check_model(&all, new.depth)?;
        }
        // Task ids are unique and sort by time; goals use the same form with their own prefix.
        let id = TaskId::fresh().to_string().replacen("task_", "goal_", 1);
        let is_outside = writer.untrusted.is_some();
        let goal = Goal {
            id: id.clone(),
            goal: text.to_owned(),
            status: if is_outside { GoalStatus::Waiting } else { GoalStatus::Pending },
            budget: new.budget,
            agent: new.agent,
            tools: new.tools,
            run: None,
            conversation: None,
            started_in: new.started_in,
            depth: new.depth,
            surroundings: new.surroundings,
            result: None,
            result_source: None,
            untrusted: writer.untrusted.clone(),
            delivered: false,
            author: writer.author.clone(),
            created_at: self.rows.now(),
            ended_at: None,
        };
        let row = goal.clone();
        self.rows
            .change(writer, &id, |_| {
                Ok::<_, GoalError>((Some(row.clone()), "started".to_owned(), ()))
            })
            .await?;
        self.remove_oldest(writer, &all).await?;
        Ok(goal)
    }

    /// Checks that a model may start a goal at this depth now.
    fn check_model(&self, all: &[Goal], depth: u32) -> Result<(), GoalError> {
        if depth > MAX_DEPTH {
            return Err(GoalError::TooDeep);
        }
        let since = self.rows.now() - HOUR_MS;
        let is_recent = |goal: &&Goal| goal.author.call.is_some() && goal.created_at > since;
        if all.iter().filter(is_recent).count() >= MAX_MODEL_GOALS_PER_HOUR {
            return Err(GoalError::TooManyPerHour);
        }
        Ok(())
    }

    /// Lists all goals of an owner, the newest first.
    ///
    /// # Errors
    /// [`GoalError::Row`].
    pub async fn list(&self, owner: &str) -> Result<Vec<Goal>, GoalError> {
        let mut all: Vec<Goal> =
            self.rows.all(owner).await?.into_iter().map(|row| row.body).collect();
        all.sort_by(|a, b| (b.created_at, &b.id).cmp(&(a.created_at, &a.id)));
        Ok(all)
    }

    /// Returns one goal.
    ///
    /// # Errors
    /// [`GoalError::Unknown`], [`GoalError::Row`].
    pub async fn get(&self, owner: &str, id: &str) -> Result<Goal, GoalError> {
        let found = self.rows.get(owner, id.trim()).await?;
        found.map(|row| row.body).ok_or_else(|| unknown(id))
    }

    /// Closes a goal: an open one is cancelled, and the daemon stops its run.
    ///
    /// # Errors
    /// [`GoalError::Unknown`], [`GoalError::State`] if it has ended, [`GoalError::Row`].
    pub async fn close(&self, writer: &Writer, id: &str) -> Result<Goal, GoalError> {
        let at = self.rows.now();
        self.change(writer, id, "closed", |goal| {
            if !goal.status.is_open() {
                let status = goal.status.as_str();
                return Err(GoalError::State(format!("The goal {id} is {status} already.")));
            }
            Ok(Goal { status: GoalStatus::Cancelled, ended_at: Some(at), ..goal })
        })
        .await
    }

    /// Lets a waiting goal start. The person who does so takes responsibility for its text.
    ///
    /// # Errors
    /// [`GoalError::Unknown`], [`GoalError::State`] if it does not wait, [`GoalError::Row`].
    pub async fn resume(&self, writer: &Writer, id: &str) -> Result<Goal, GoalError> {
        self.change(writer, id, "resumed", |goal| {
            if goal.status != GoalStatus::Waiting {
                return Err(GoalError::State(format!("The goal {id} does not wait.")));
            }
            Ok(Goal { status: GoalStatus::Pending, untrusted: None, ..goal })
        })
        .await
    }

    /// Returns the goals of all owners whose runs a daemon must start, follow or stop.
    ///
    /// # Errors
    /// [`GoalError::Row`].
    pub async fn to_pursue(&self) -> Result<Vec<(String, Goal)>, GoalError> {
        let mut found = Vec::new();
        for owner in self.rows.owners().await? {
            for row in self.rows.all(&owner).await? {
                let is_stopping = row.body.status == GoalStatus::Cancelled
                    && row.body.run.is_some()
                    && row.body.result.is_none();
                let goes_on = matches!(row.body.status, GoalStatus::Pending | GoalStatus::Running);
                if goes_on || is_stopping {
                    found.push((owner.clone(), row.body));
                }
            }
        }
        Ok(found)
    }

    /// Records that the run of a goal has started.
    ///
    /// # Errors
    /// [`GoalError::Row`].
    pub async fn started(
        &self,
        owner: &str,
        id: &str,
        run: RunId,
        conversation: Option<ConversationId>,
    ) -> Result<Goal, GoalError> {
        self.change(&daemon(owner), id, "began", |goal| {
            let is_new = goal.status == GoalStatus::Pending;
            let status = if is_new { GoalStatus::Running } else { goal.status };
            let conversation = conversation.or(goal.conversation);
            Ok(Goal { status, run: Some(run), conversation, ..goal })
        })
        .await
    }

    /// Records the result of a goal's run.
    ///
    /// # Errors
    /// [`GoalError::Row`].
    pub async fn ended(&self, owner: &str, id: &str, end: &GoalEnd) -> Result<Goal, GoalError> {
        let at = self.rows.now();
        self.change(&daemon(owner), id, "ended", |goal| Ok(goal.ended(end, at))).await
    }

    /// Returns the goals that ended since the last delivery to this conversation, and marks them as
    /// delivered.
    ///
    /// # Errors
    /// [`GoalError::Row`].
    pub async fn deliver(&self, owner: &str, conversation: &str) -> Result<Vec<Goal>, GoalError> {
        if conversation.is_empty() {
            return Ok(Vec::new());
        }
        let is_news = |goal: &Goal| {
            goal.started_in == conversation && !goal.delivered && !goal.status.is_open()
        };
        let all = self.list(owner).await?;
        let mut news = Vec::new();
        for goal in all.into_iter().filter(is_news) {
            let heard = |goal: Goal| Ok(Goal { delivered: true, ..goal });
            news.push(self.change(&daemon(owner), &goal.id, "delivered", heard).await?);
        }
        Ok(news)
    }

    async fn change(
        &self,
        writer: &Writer,
        id: &str,
        note: &str,
        next: impl Fn(Goal) -> Result<Goal, GoalError>,
    ) -> Result<Goal, GoalError> {
        self.rows
            .change(writer, id.trim(), |before| {
                let after = next(before.ok_or_else(|| unknown(id))?)?;
                Ok((Some(after.clone()), note.to_owned(), after))
            })
            .await
    }

    async fn remove_oldest(&self, writer: &Writer, all: &[Goal]) -> Result<(), GoalError> {
        let ended = all.iter().filter(|goal| !goal.status.is_open());
        for goal in ended.skip(KEPT) {
            let gone = |_| Ok::<_, RowError>((None, "removed".to_owned(), ()));
            self.rows.change(writer, &goal.id, gone).await?;
        }
        Ok(())
    }
}

/// Returns the writer for the daemon that pursues a goal.
fn daemon(owner: &str) -> Writer {
    Writer { owner: owner.to_owned(), author: Author::person("pursuit"), untrusted: None }
}

fn unknown(id: &str) -> GoalError {
    GoalError::Unknown(id.chars().filter(|c| !c.is_control()).take(60).collect())
}
