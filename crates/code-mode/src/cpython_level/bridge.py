

class ToolResult:
    """What a tool gave. Given to another tool, that gets the whole of it, by reference where it is long."""

    __slots__ = ("text", "structured", "ref", "media")

    def __init__(self, text, structured, ref, media):
        self.text, self.structured, self.ref, self.media = text, structured, ref, media

    def __repr__(self):
        return f"ToolResult(text={self.text!r}, structured={self.structured!r}, ref={self.ref!r}, media={self.media!r})"


class Tools:
    """The tools as methods."""

    def __init__(self, bridge):
        object.__setattr__(self, "_bridge", bridge)

    def __getattr__(self, name):
        bridge = object.__getattribute__(self, "_bridge")
        if name in bridge.names:
            return bridge.tool(name)
        raise AttributeError(bridge.unknown(name))


class Bridge:
    """Takes the calls of a script across when nothing else in it can go on, and brings back what became of them."""

    KINDS = {
        "error": RuntimeError,
        "denied": PermissionError,
        "timed_out": TimeoutError,
        "unknown": AttributeError,
        "arguments": TypeError,
    }

    def __init__(self, kernel, names):
        import asyncio
        import selectors

        self.kernel, self.names = kernel, names
        self.unsent, self.open, self.last = [], {}, 0
        bridge = self

        class Idle(selectors.DefaultSelector):
            def select(self, timeout=None):
                if (timeout is None or timeout > 0) and bridge.exchange():
                    timeout = 0
                return super().select(timeout)

        with warnings.catch_warnings():
            # Newer ones say that policies will go.
            warnings.simplefilter("ignore", DeprecationWarning)

            class Loops(asyncio.DefaultEventLoopPolicy):
                def new_event_loop(self):
                    return asyncio.SelectorEventLoop(Idle())

            # Those that a script makes too, as asyncio.run() does.
            asyncio.set_event_loop_policy(Loops())
        self.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)

    def functions(self):
        functions = {name: self.question(name) for name in ("search", "describe", "materialize")}
        functions.update((name, self.tool(name)) for name in self.names)
        functions.setdefault("tools", Tools(self))
        return functions

    def tool(self, name):
        import asyncio

        async def call(*args, **named):
            args = [plain(value, f"{name}: argument {place + 1}") for place, value in enumerate(args)]
            named = {key: plain(value, f"{name}: {key}") for key, value in named.items()}
            self.last += 1
            future = self.open[self.last] = asyncio.get_running_loop().create_future()
            self.unsent.append({"id": self.last, "name": name, "args": args, "named": named})
            return await future

        call.__name__ = call.__qualname__ = name
        return call

    def question(self, what):
        def ask(*args):
            args = [plain(value, "The argument") for value in args]
            self.kernel.say({"say": "asks", "what": what, "args": args})
            return self.value(self.order("query_reply"))

        ask.__name__ = ask.__qualname__ = what
        return ask

    def exchange(self):
        """Whether there was anything to wait for. What nobody waits for any more is not called."""
        self.open = {number: future for number, future in self.open.items() if not future.done()}
        calls, self.unsent = [call for call in self.unsent if call["id"] in self.open], []
        if not self.open:
            return False
        self.kernel.say({"say": "waits", "calls": calls})
        for number, reply in self.order("replies")["replies"]:
            future = self.open.pop(number, None)
            if future is None or future.done():
                continue
            try:
                future.set_result(self.value(reply))
            except Exception as error:
                future.set_exception(error)
        return True

    def order(self, expected):
        order = self.kernel.hear()
        if order is None or order.get("do") != expected:
            # Nobody listens any more.
            os._exit(1)
        return order

    def value(self, reply):
        kind = reply["as"]
        if kind == "result":
            return ToolResult(reply["text"], reply["data"], reply["reference"], reply["media"])
        if kind == "value":
            return reply["value"]
        if kind == "raise":
            raise self.KINDS[reply["kind"]](reply["text"])
        # Whatever it would catch: this is its end.
        self.kernel.over(reply["text"])

    def unknown(self, name):
        import difflib

        near = difflib.get_close_matches(name, self.names, 3)
        advice = f"Did you mean {', '.join(near)}?" if near else 'search("words") finds tools.'
        return f"Unknown tool: '{name}'. {advice}"


def plain(value, what, depth=64):
    """A value as JSON has it, for a tool."""
    if depth == 0:
        raise TypeError(f"{what} is nested too deeply for a tool.")
    if hasattr(value, "item") and type(value).__module__ == "numpy":
        value = value.tolist()
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise TypeError(f"{what} is a number that is too large for a tool; pass it as text.")
        return int(value)
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise TypeError(f"{what} is a number that JSON does not have.")
        return float(value)
    if isinstance(value, ToolResult):
        return {"$artifact": value.ref} if value.ref else value.text
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(item, what, depth - 1) for item in value]
    if isinstance(value, dict):
        if not all(isinstance(key, (str, int)) for key in value):
            raise TypeError(f"{what} has a key that is no text.")
        return {str(key): plain(item, what, depth - 1) for key, item in value.items()}
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "__fspath__"):
        return os.fspath(value)
    raise TypeError(f"{what} is of the type {type(value).__name__}, which no tool takes.")


def is_bridge(frame):
    """Whether a frame of a traceback is between a script and its tools."""
    names = ("__getattr__", "call", "plain", "ask", "value", "<listcomp>", "<dictcomp>")
    return frame.filename == plain.__code__.co_filename and frame.name in names


def returns(body):
    """Whether statements return, outside of functions in them."""
    functions = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    left = list(body)
    while left:
        node = left.pop()
        if isinstance(node, ast.Return):
            return True
        if not isinstance(node, functions):
            left.extend(ast.iter_child_nodes(node))
    return False


Kernel().serve()
