//! A script, run step by step: each call of a tool is put off until the script waits for it, and then all that it waits for are told at once.
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
use toolcrib_core::near;

use super::fault::{self, When};
use super::interpret::{DEPTH, NAME, STOPS};
use super::output::Output;
use super::show::shown;
use super::values;
use super::watchdog::Watchdog;
use crate::frame;
use crate::protocol::{Asks, Done, Kind, Order, Reply, Said, Script, Thaw, VALUE_BYTES, Wanted};

/// The object whose methods are the tools.
const TOOLS: &str = "tools";

/// Its class, in every script.
const TOOLS_ID: u128 = 0x746f_6f6c_6372_6962_746f_6f6c_7300_0001;

/// Functions that are no tools: they are answered at once, and need no `await`.
const QUESTIONS: [&str; 3] = ["search", "describe", "materialize"];

/// Runs a script to its end, or until it is frozen.
///
/// # Errors
/// Whoever listens is gone, or speaks nonsense.
pub(super) fn run(
    script: Script,
    watchdog: &Watchdog,
    from: &mut impl Read,
    to: &mut impl Write,
) -> io::Result<()> {
    let Script { code, time_ms, memory, names, args, check, .. } = script;
    let inputs = args.iter().map(|_| "args".to_owned()).collect();
    let args = args.into_iter().map(values::value).collect();
    let compiled = MontyRun::new(code, NAME, inputs, CompileOptions::default());
    let compiled = match compiled {
        Ok(compiled) => compiled,
        Err(error) => {
            let raised = Some(fault::raised(&error, When::Compiling));
            return frame::write(to, &Said::Done(Done { raised, ..Done::default() }));
        }
    };
    if check {
        return frame::write(to, &Said::Done(Done::default()));
    }
    let mut limits = ResourceLimits::default()
        .max_duration(Duration::from_millis(time_ms))
        .max_recursion_depth(DEPTH);
    limits.max_memory = usize::try_from(memory).ok();
    let tracker = ResourceTracker::new(limits);
    let mut desk = Desk { names: Names::of(names), unsent: Vec::new(), stops: 0, watchdog, from };
    let mut output = Output::new(to);
    let begun = compiled.start(args, tracker, PrintWriter::Callback(&mut output));
    desk.go_on(begun, output)
}

/// Goes on with a script that was frozen.
///
/// # Errors
/// As [`run`], and when it cannot be read.
pub(super) fn thaw(
    thaw: Thaw,
    watchdog: &Watchdog,
    from: &mut impl Read,
    to: &mut impl Write,
) -> io::Result<()> {
    let no_snapshot = |error: String| io::Error::new(io::ErrorKind::InvalidData, error);
    let bytes = STANDARD.decode(thaw.snapshot).map_err(|error| no_snapshot(error.to_string()))?;
    let loaded = Dump::load(&bytes).map_err(|error| no_snapshot(error.to_string()))?;
    let Session::Running(progress) = loaded.state else {
        return Err(no_snapshot("it is no running script".to_owned()));
    };
    let mut desk =
        Desk { names: Names::of(thaw.names), unsent: Vec::new(), stops: 0, watchdog, from };
    desk.go_on(Ok(*progress), Output::new(to))
}

/// The functions that a script may call.
struct Names {
    listed: Vec<String>,
    known: HashSet<String>,
}

impl Names {
    fn of(listed: Vec<String>) -> Self {
        let known = listed.iter().cloned().collect();
        Self { listed, known }
    }

    fn has(&self, name: &str) -> bool {
        self.known.contains(name) || QUESTIONS.contains(&name)
    }

    /// The words for a name that is no tool's.
    fn unknown(&self, name: &str) -> String {
        let near = near::nearest(name, self.listed.iter().map(String::as_str));
        let advice = match near.is_empty() {
            true => "search(\"words\") finds tools.".to_owned(),
            false => format!("Did you mean {}?", near.join(", ")),
        };
        format!("Unknown tool: '{name}'. {advice}")
    }
}

/// Where a script's calls are taken.
struct Desk<'a, R> {
    names: Names,
    /// Calls that the script has made and does not wait for yet.
    unsent: Vec<Wanted>,
    stops: usize,
    watchdog: &'a Watchdog,
    from: &'a mut R,
}

impl<R: Read> Desk<'_, R> {
    /// The next order. Waiting for it is no computing.
    fn order(&mut self) -> io::Result<Option<Order>> {
        self.watchdog.rest();
        let order = frame::read(self.from);
        self.watchdog.go_on();
        order
    }

    fn go_on<W: Write>(
        &mut self,
        begun: Result<RunProgress, MontyException>,
        mut output: Output<'_, W>,
    ) -> io::Result<()> {
        let mut progress = begun;
        let done = loop {
            let stopped = match progress {
                Ok(RunProgress::Complete(value)) => break self.complete(&value),
                Ok(stopped) => stopped,
                Err(error) => {
                    let raised = Some(fault::raised(&error, When::Running));
                    break Done { raised, ..Done::default() };
                }
            };
            progress = match self.step(stopped, &mut output)? {
                Ok(Some(next)) => Ok(next),
                Ok(None) => return Ok(()),
                Err(error) => Err(error),
            };
        };
        // What cannot be sent is not wanted any more.
        let _ = output.send();
        frame::write(output.writer(), &Said::Done(done))
    }

    fn complete(&self, value: &MontyObject) -> Done {
        let data = values::argument(value).ok().filter(|data| !data.is_null());
        let data = data.filter(|data| data.to_string().len() <= VALUE_BYTES).map(Box::new);
        Done { value: shown(value), data, ..Done::default() }
    }

    /// Answers a script that has stopped; `None` = it was frozen, and nothing more is said. The outer errors are those of the wire, the inner ones those of the script.
    fn step<W: Write>(
        &mut self,
        stopped: RunProgress,
        output: &mut Output<'_, W>,
    ) -> io::Result<Result<Option<RunProgress>, MontyException>> {
        let next = match stopped {
            RunProgress::Complete(_) => Ok(stopped),
            RunProgress::FunctionCall(call) => self.called(call, output)?,
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
                if self.stops > STOPS {
                    return Ok(call.abort(too_often(), PrintWriter::Callback(output)).map(Some));
                }
                let error = fault::nothing_outside(&call.function_call.to_string());
                call.resume(ExtFunctionResult::Error(error), PrintWriter::Callback(output))
            }
            RunProgress::ResolveFutures(waits) => return self.wait(waits, output),
        };
        Ok(next.map(Some))
    }

    fn called<W: Write>(
        &mut self,
        call: FunctionCall,
        output: &mut Output<'_, W>,
    ) -> io::Result<Result<RunProgress, MontyException>> {
        self.stops += 1;
        if self.stops > STOPS {
            return Ok(call.abort(too_often(), PrintWriter::Callback(output)));
        }
        let name = call.function_name.clone();
        let is_tool = self.names.known.contains(&name);
        if call.object_id.is_none() && !is_tool && QUESTIONS.contains(&&*name) {
            return self.question(call, output);
        }
        let raise = |kind, text| ExtFunctionResult::Error(MontyException::new(kind, Some(text)));
        let refused = if is_tool {
            match wanted(&call) {
                Ok(wanted) => {
                    self.unsent.push(wanted);
                    return Ok(call.resume_pending(PrintWriter::Callback(output)));
                }
                Err(text) => raise(ExcType::TypeError, text),
            }
        } else if call.object_id.is_some() {
            raise(ExcType::AttributeError, self.names.unknown(&name))
        } else if near::nearest(&name, self.names.listed.iter().map(String::as_str)).is_empty() {
            ExtFunctionResult::NotFound(name)
        } else {
            raise(ExcType::NameError, self.names.unknown(&name))
        };
        Ok(call.resume(refused, PrintWriter::Callback(output)))
    }

    /// Something that is answered while the script stands still.
    fn question<W: Write>(
        &mut self,
        call: FunctionCall,
        output: &mut Output<'_, W>,
    ) -> io::Result<Result<RunProgress, MontyException>> {
        let values = call.args.iter().chain(call.kwargs.iter().map(|(_, value)| value));
        let args: Result<Vec<_>, String> = values.map(values::argument).collect();
        let answer = match args {
            Err(text) => {
                Reply::Raise { kind: Kind::Arguments, text: format!("The argument {text}.") }
            }
            Ok(args) => {
                let asks = Asks { what: call.function_name.clone(), args };
                frame::write(output.writer(), &Said::Asks(asks))?;
                match self.order()? {
                    Some(Order::Told(reply)) => reply,
                    _ => return Err(unexpected()),
                }
            }
        };
        Ok(match answered(answer) {
            Ok(result) => call.resume(result, PrintWriter::Callback(output)),
            Err(end) => call.abort(end, PrintWriter::Callback(output)),
        })
    }

    fn wait<W: Write>(
        &mut self,
        waits: ResolveFutures,
        output: &mut Output<'_, W>,
    ) -> io::Result<Result<Option<RunProgress>, MontyException>> {
        if output.send().is_err() {
            return Err(unexpected());
        }
        let pending: HashSet<u32> = waits.pending_call_ids().iter().copied().collect();
        let (calls, later) = std::mem::take(&mut self.unsent)
            .into_iter()
            .partition(|wanted| pending.contains(&wanted.id));
        self.unsent = later;
        frame::write(output.writer(), &Said::Waits { calls })?;
        let replies = match self.order()? {
            Some(Order::Replies { replies }) => replies,
            Some(Order::Freeze) => {
                let frozen = frozen(waits)?;
                return frame::write(output.writer(), &frozen).map(|()| Ok(None));
            }
            _ => return Err(unexpected()),
        };
        let mut results = Vec::with_capacity(replies.len());
        for (id, reply) in replies {
            match answered(reply) {
                Ok(result) => results.push((id, result)),
                Err(end) => {
                    return Ok(waits.abort(end, PrintWriter::Callback(output)).map(Some));
                }
            }
        }
        Ok(waits.resume(results, PrintWriter::Callback(output)).map(Some))
    }
}

fn frozen(waits: ResolveFutures) -> io::Result<Said> {
    let progress = RunProgress::ResolveFutures(waits);
    let bytes = dump(NAME, None, SessionRef::Running(&progress));
    let bytes = bytes.map_err(|error| io::Error::other(error.to_string()))?;
    Ok(Said::Frozen { snapshot: STANDARD.encode(bytes) })
}

/// What the interpreter is given for a reply; the error is one that no script catches.
fn answered(reply: Reply) -> Result<ExtFunctionResult, MontyException> {
    let raised = |kind, text| MontyException::new(kind, Some(text));
    match reply {
        Reply::Raise { kind, text } => {
            let kind = match kind {
                Kind::Error => ExcType::RuntimeError,
                Kind::Denied => ExcType::PermissionError,
                Kind::TimedOut => ExcType::TimeoutError,
                Kind::Unknown => ExcType::AttributeError,
                Kind::Arguments => ExcType::TypeError,
            };
            Ok(ExtFunctionResult::Error(raised(kind, text)))
        }
        Reply::End { text } => Err(raised(ExcType::RuntimeError, text)),
        reply => {
            let value = values::result(reply).unwrap_or(MontyObject::None);
            Ok(ExtFunctionResult::Return(value))
        }
    }
}

fn wanted(call: &FunctionCall) -> Result<Wanted, String> {
    let name = call.function_name.clone();
    let wrong = |what: &str, text: String| format!("{name}: {what} {text}.");
    let mut args = Vec::with_capacity(call.args.len());
    for (place, value) in call.args.iter().enumerate() {
        let text = |text| wrong(&format!("argument {}", place + 1), text);
        args.push(values::argument(value).map_err(text)?);
    }
    let mut named = serde_json::Map::new();
    for (key, value) in &call.kwargs {
        let key = key.to_string();
        let value = values::argument(value).map_err(|text| wrong(&key, text))?;
        named.insert(key, value);
    }
    Ok(Wanted { id: call.call_id, name: call.function_name.clone(), args, named })
}

/// The object `tools`.
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
