//! Runs a script step by step: each tool call is deferred until the script awaits it, and then all
//! awaited calls are sent together.
#![deny(clippy::indexing_slicing)]

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use monty::{Dump, FunctionCall, MontyRun, ResolveFutures, RunProgress, Session, SessionRef, dump};
use monty_types::{
    CompileOptions, ExcType, ExtFunctionResult, MontyClassInstance, MontyClassType, MontyException,
    MontyObject, MontyUuid, NameLookupResult, PrintWriter, ResourceLimits, ResourceTracker,
};
use toolcrib_core::similar_names;

use super::exceptions::{self, ErrorPhase};
use super::json_values;
use super::print_output::PrintOutput;
use super::run_expression::{DEPTH, MAX_EXTERNAL_CALLS, NAME};
use super::value_repr::repr;
use super::watchdog::Watchdog;
use crate::framing;
use crate::worker_protocol::{
    ErrorKind, Reply, RequestedCall, ResumeScript, RunResult, Script, ToolQuery, VALUE_BYTES,
    WorkerCommand, WorkerMessage,
};

/// The object whose methods are the tools.
const TOOLS: &str = "tools";

/// Class id of that object, the same in every script.
const TOOLS_ID: u128 = 0x746f_6f6c_6372_6962_746f_6f6c_7300_0001;

/// Functions that are not tools: they are answered immediately and need no `await`.
const QUESTIONS: [&str; 3] = ["search", "describe", "materialize"];

/// Runs a script until it ends or is suspended.
///
/// # Errors
/// The parent has ended or sent an invalid message.
pub(super) fn run(
    script: Script,
    watchdog: &Watchdog,
    from: &mut impl Read,
    to: &mut impl Write,
) -> io::Result<()> {
    let Script { code, time_ms, memory, names, args, check, .. } = script;
    let inputs = args.iter().map(|_| "args".to_owned()).collect();
    let args = args.into_iter().map(json_values::value).collect();
    let compiled = MontyRun::new(code, NAME, inputs, CompileOptions::default());
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => {
            let raised = Some(exceptions::to_exception(&error, ErrorPhase::Compiling));
            return framing::write(
                to,
                &WorkerMessage::Done(RunResult { raised, ..RunResult::default() }),
            );
        }
    };
    if check {
        return framing::write(to, &WorkerMessage::Done(RunResult::default()));
    }
    let mut limits = ResourceLimits::default()
        .max_duration(Duration::from_millis(time_ms))
        .max_recursion_depth(DEPTH);
    limits.max_memory = usize::try_from(memory).ok();
    let tracker = ResourceTracker::new(limits);
    let mut desk =
        ScriptHost { names: KnownTools::new(names), unsent: Vec::new(), stops: 0, watchdog, from };
    let mut output = PrintOutput::new(to);
    let begun = compiled.start(args, tracker, PrintWriter::Callback(&mut output));
    desk.go_on(begun, output)
}

/// Continues a suspended script.
///
/// # Errors
/// As for [`run`], and if the snapshot cannot be read.
pub(super) fn resume(
    thaw: ResumeScript,
    watchdog: &Watchdog,
    from: &mut impl Read,
    to: &mut impl Write,
) -> io::Result<()> {
    let no_snapshot = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
    let bytes = STANDARD.decode(thaw.snapshot).map_err(|error| no_snapshot(error.to_string()))?;
    let loaded = Dump::load(&bytes).map_err(|error| no_snapshot(error.to_string()))?;
    let Session::Running(progress) = loaded.state else {
        return Err(no_snapshot("it is not a running script".to_owned()));
    };
    let mut desk = ScriptHost {
        names: KnownTools::new(thaw.names),
        unsent: Vec::new(),
        stops: 0,
        watchdog,
        from,
    };
    desk.go_on(Ok(*progress), PrintOutput::new(to))
}

/// The functions that a script may call.
struct KnownTools {
    listed: Vec<String>,
    known: HashSet<String>,
}

impl KnownTools {
    fn new(listed: Vec<String>) -> Self {
        let known = listed.iter().cloned().collect();
        Self { listed, known }
    }

    fn has(&self, name: &str) -> bool {
        self.known.contains(name) || QUESTIONS.contains(&name)
    }

    /// Returns the error message for an unknown tool.
    fn unknown(&self, name: &str) -> String {
        let near = similar_names::similar_names(name, self.listed.iter().map(String::as_str));
        let advice = match near.is_empty() {
            true => "search(\"words\") finds tools.".to_owned(),
            false => format!("Did you mean {}?", near.join(", ")),
        };
        format!("Unknown tool: '{name}'. {advice}")
    }
}

/// Handles the external calls of a script.
struct ScriptHost<'a, R> {
    names: KnownTools,
    /// Calls that the script has made and does not await yet.
    unsent: Vec<RequestedCall>,
    stops: usize,
    watchdog: &'a Watchdog,
    from: &'a mut R,
}

impl<R: Read> ScriptHost<'_, R> {
    /// Reads the next command. Waiting for it does not count as computing time.
    fn read_command(&mut self) -> io::Result<Option<WorkerCommand>> {
        self.watchdog.pause();
        let order = framing::read(self.from);
        self.watchdog.resume();
        order
    }

    fn go_on<W: Write>(
        &mut self,
        begun: Result<RunProgress, MontyException>,
        mut output: PrintOutput<'_, W>,
    ) -> io::Result<()> {
        let mut progress = begun;
        let done = loop {
            let stopped = match progress {
                Ok(RunProgress::Complete(value)) => break self.complete(&value),
                Ok(stopped) => stopped,
                Err(error) => {
                    let raised = Some(exceptions::to_exception(&error, ErrorPhase::Running));
                    break RunResult { raised, ..RunResult::default() };
                }
            };
            progress = match self.step(stopped, &mut output)? {
                Ok(Some(next)) => Ok(next),
                Ok(None) => return Ok(()),
                Err(error) => Err(error),
            };
        };
        // If the output cannot be sent, the reader has ended.
        let _ = output.send();
        framing::write(output.writer(), &WorkerMessage::Done(done))
    }

    fn complete(&self, value: &MontyObject) -> RunResult {
        let data = json_values::argument(value).ok().filter(|data| !data.is_null());
        let data = data.filter(|data| data.to_string().len() <= VALUE_BYTES).map(Box::new);
        RunResult { value: repr(value), data, ..RunResult::default() }
    }

    /// Answers an external call; `None` if the script was suspended. Outer errors are those of the
    /// stream, inner ones those of the script.
    fn step<W: Write>(
        &mut self,
        stopped: RunProgress,
        output: &mut PrintOutput<'_, W>,
    ) -> io::Result<Result<Option<RunProgress>, MontyException>> {
        let next = match stopped {
            RunProgress::Complete(_) => Ok(stopped),
            RunProgress::FunctionCall(call) => self.handle_call(call, output)?,
            RunProgress::NameLookup(lookup) => {
                self.stops += 1;
                let found = match &*lookup.name {
                    _ if lookup.object_id().is_some() => {
                        let name = lookup.name.clone();
                        match self.names.known.contains(&name) {
                            true => NameLookupResult::Value(MontyObject::Function {
                                name,
                                docstring: None,
                            }),
                            false => NameLookupResult::Error(MontyException::new(
                                ExcType::AttributeError,
                                Some(self.names.unknown(&name)),
                            )),
                        }
                    }
                    TOOLS => NameLookupResult::Value(tools()),
                    name if self.names.has(name) => {
                        let name = name.to_owned();
                        NameLookupResult::Value(MontyObject::Function { name, docstring: None })
                    }
                    _ => NameLookupResult::Undefined,
                };
                lookup.resume(found, PrintWriter::Callback(output))
            }
            RunProgress::OsCall(call) => {
                self.stops += 1;
                if self.stops > MAX_EXTERNAL_CALLS {
                    return Ok(call.abort(too_often(), PrintWriter::Callback(output)).map(Some));
                }
                let error = exceptions::not_available(&call.function_call.to_string());
                call.resume(ExtFunctionResult::Error(error), PrintWriter::Callback(output))
            }
            RunProgress::ResolveFutures(waits) => return self.wait(waits, output),
        };
        Ok(next.map(Some))
    }

    fn handle_call<W: Write>(
        &mut self,
        call: FunctionCall,
        output: &mut PrintOutput<'_, W>,
    ) -> io::Result<Result<RunProgress, MontyException>> {
        self.stops += 1;
        if self.stops > MAX_EXTERNAL_CALLS {
            return Ok(call.abort(too_often(), PrintWriter::Callback(output)));
        }
        let name = call.function_name.clone();
        let is_tool = self.names.known.contains(&name);
        if call.object_id.is_none() && !is_tool && QUESTIONS.contains(&&*name) {
            return self.handle_query(call, output);
        }
        let raise = |kind, text| ExtFunctionResult::Error(MontyException::new(kind, Some(text)));
        let refused = if is_tool {
            match to_requested_call(&call) {
                Ok(wanted) => {
                    self.unsent.push(wanted);
                    return Ok(call.resume_pending(PrintWriter::Callback(output)));
                }
                Err(text) => raise(ExcType::TypeError, text),
            }
        } else if call.object_id.is_some() {
            raise(ExcType::AttributeError, self.names.unknown(&name))
        } else if similar_names::similar_names(&name, self.names.listed.iter().map(String::as_str))
            .is_empty()
        {
            ExtFunctionResult::NotFound(name)
        } else {
            raise(ExcType::NameError, self.names.unknown(&name))
        };
        Ok(call.resume(refused, PrintWriter::Callback(output)))
    }

    /// Handles a query, which is answered while the script is stopped.
    fn handle_query<W: Write>(
        &mut self,
        call: FunctionCall,
        output: &mut PrintOutput<'_, W>,
    ) -> io::Result<Result<RunProgress, MontyException>> {
        let values = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
        let args: Result<Vec<_>, String> = values.map(json_values::argument).collect();
        let answer = match args {
            Err(text) => {
                Reply::Raise { kind: ErrorKind::Arguments, text: format!("The argument {text}.") }
            }
            Ok(args) => {
                let asks = ToolQuery { what: call.function_name.clone(), args };
                framing::write(output.writer(), &WorkerMessage::Asks(asks))?;
                match self.read_command()? {
                    Some(WorkerCommand::QueryReply(reply)) => reply,
                    _ => return Err(unexpected()),
                }
            }
        };
        Ok(match to_call_result(answer) {
            Ok(result) => call.resume(result, PrintWriter::Callback(output)),
            Err(end) => call.abort(end, PrintWriter::Callback(output)),
        })
    }

    fn wait<W: Write>(
        &mut self,
        waits: ResolveFutures,
        output: &mut PrintOutput<'_, W>,
    ) -> io::Result<Result<Option<RunProgress>, MontyException>> {
        if output.send().is_err() {
            return Err(unexpected());
        }
        let pending: HashSet<u32> = waits.pending_call_ids().iter().copied().collect();
        let (calls, later) = std::mem::take(&mut self.unsent)
            .into_iter()
            .partition(|wanted| pending.contains(&wanted.id));
        self.unsent = later;
        framing::write(output.writer(), &WorkerMessage::Waits { calls })?;
        let replies = match self.read_command()? {
            Some(WorkerCommand::Replies { replies }) => replies,
            Some(WorkerCommand::Suspend) => {
                let frozen = suspended_message(waits)?;
                return framing::write(output.writer(), &frozen).map(|()| Ok(None));
            }
            _ => return Err(unexpected()),
        };
        let mut results = Vec::with_capacity(replies.len());
        for (id, reply) in replies {
            match to_call_result(reply) {
                Ok(result) => results.push((id, result)),
                Err(end) => {
                    return Ok(waits.abort(end, PrintWriter::Callback(output)).map(Some));
                }
            }
        }
        Ok(waits.resume(results, PrintWriter::Callback(output)).map(Some))
    }
}

fn suspended_message(waits: ResolveFutures) -> io::Result<WorkerMessage> {
    let progress = RunProgress::ResolveFutures(waits);
    let bytes = dump(NAME, None, SessionRef::Running(&progress));
    let bytes = bytes.map_err(|error| io::Error::other(error.to_string()))?;
    Ok(WorkerMessage::Suspended { snapshot: STANDARD.encode(bytes) })
}

/// Returns the interpreter's result for a reply; the error is one that no script can catch.
fn to_call_result(reply: Reply) -> Result<ExtFunctionResult, MontyException> {
    let raised = |kind, text| MontyException::new(kind, Some(text));
    match reply {
        Reply::Raise { kind, text } => {
            let kind = match kind {
                ErrorKind::Error => ExcType::RuntimeError,
                ErrorKind::Denied => ExcType::PermissionError,
                ErrorKind::TimedOut => ExcType::TimeoutError,
                ErrorKind::Unknown => ExcType::AttributeError,
                ErrorKind::Arguments => ExcType::TypeError,
            };
            Ok(ExtFunctionResult::Error(raised(kind, text)))
        }
        Reply::End { text } => Err(raised(ExcType::RuntimeError, text)),
        reply => {
            let value = json_values::result(reply).unwrap_or(MontyObject::None);
            Ok(ExtFunctionResult::Return(value))
        }
    }
}

fn to_requested_call(call: &FunctionCall) -> Result<RequestedCall, String> {
    let name = call.function_name.clone();
    let wrong = |what: &str, text: String| format!("{name}: {what} {text}.");
    let mut args = Vec::with_capacity(call.args.len());
    for (place, value) in call.args.iter().enumerate() {
        let text = |text| wrong(&format!("argument {}", place + 1), text);
        args.push(json_values::argument(value).map_err(text)?);
    }
    let mut named = serde_json::Map::new();
    for (key, value) in &call.kwargs {
        let key = key.to_string();
        let value = json_values::argument(value).map_err(|text| wrong(&key, text))?;
        named.insert(key, value);
    }
    Ok(RequestedCall { id: call.call_id, name: call.function_name.clone(), args, named })
}

/// Returns the object `tools`.
fn tools() -> MontyObject {
    MontyObject::ClassInstance(Box::new(MontyClassInstance {
        class_type: MontyClassType {
            name: "Tools".to_owned(),
            id: MontyUuid::from_u128(TOOLS_ID),
            host_defined: true,
            is_dataclass: false,
            attrs: Vec::new().into(),
        },
        instance_id: MontyUuid::from_u128(TOOLS_ID + 1),
        attrs: Vec::new().into(),
    }))
}

fn too_often() -> MontyException {
    let text = "the script asked too often for what is outside of it".to_owned();
    MontyException::new(ExcType::RuntimeError, Some(text))
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "an order that was not expected")
}
