//! The tools of the assistant as a source for the registry.

use std::sync::Arc;

use toolcrib_core::entry::FixedSource;
use toolcrib_core::{Entry, Handler, ToolSpec, TypedHandler};

use super::assistant_tools::AssistantTools;
use super::definition::SOURCE;
use super::{
    cancel_task, create_calendar_event, document, goal_pursuit, goals, list, list_tasks,
    memory_forget, memory_learn, memory_recall, memory_reinforce, memory_store, promote_learning,
    rich_render, schedule_task, send_notification, set_alarm,
};

impl AssistantTools {
    /// Returns the tools in declaration order.
    #[must_use]
    pub fn handlers(&self) -> Vec<Arc<dyn Handler>> {
        let tools = || self.clone();
        vec![
            TypedHandler::handler(memory_store::MemoryStore(tools())),
            TypedHandler::handler(memory_forget::MemoryForget(tools())),
            TypedHandler::handler(memory_learn::MemoryLearn(tools())),
            TypedHandler::handler(memory_reinforce::MemoryReinforce(tools())),
            TypedHandler::handler(memory_recall::MemoryRecall(tools())),
            TypedHandler::handler(schedule_task::ScheduleTask(tools())),
            TypedHandler::handler(list_tasks::ListTasks(tools())),
            TypedHandler::handler(cancel_task::CancelTask(tools())),
            TypedHandler::handler(promote_learning::PromoteLearning(tools())),
            TypedHandler::handler(send_notification::SendNotification(tools())),
            TypedHandler::handler(set_alarm::SetAlarm(tools())),
            TypedHandler::handler(create_calendar_event::CreateCalendarEvent(tools())),
            TypedHandler::handler(list::ListTool(tools())),
            TypedHandler::handler(rich_render::RichRender(tools())),
            TypedHandler::handler(document::DocumentTool(tools())),
            TypedHandler::handler(goal_pursuit::GoalPursuit(tools())),
            TypedHandler::handler(goals::GoalsTool(tools())),
        ]
    }

    /// Returns the tools as a source for the registry.
    #[must_use]
    pub fn source(&self) -> FixedSource {
        FixedSource::new(SOURCE, self.handlers().into_iter().map(Entry::Local).collect())
    }
}

/// Returns the definitions of all tools in order, for documentation.
#[must_use]
pub fn specs() -> Vec<ToolSpec> {
    vec![
        memory_store::spec(),
        memory_forget::spec(),
        memory_learn::spec(),
        memory_reinforce::spec(),
        memory_recall::spec(),
        schedule_task::spec(),
        list_tasks::spec(),
        cancel_task::spec(),
        promote_learning::spec(),
        send_notification::spec(),
        set_alarm::spec(),
        create_calendar_event::spec(),
        list::spec(),
        rich_render::spec(),
        document::spec(),
        goal_pursuit::spec(),
        goals::spec(),
    ]
}
