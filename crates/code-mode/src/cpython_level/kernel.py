"""A kernel: runs pieces of code one after another in one namespace, and says how each ended.

Orders and answers go through descriptor 3, as four bytes with the length and JSON. What the code prints goes to standard output, errors too.
"""

import ast
import inspect
import json
import linecache
import os
import platform
import signal
import socket
import struct
import sys
import traceback
import types
import warnings

PROTOCOL = 2
FRAME_BYTES = 4 << 20
VALUE_BYTES = 256 << 10
TRACE_BYTES = 8 << 10
FILES = 50
WALKED = 2000
PASSES = 100


class Kernel:
    def __init__(self):
        self.channel = socket.socket(fileno=3)
        self.channel.set_inheritable(False)
        # One stream, in the order in which things were printed.
        os.dup2(1, 2)
        sys.stdout.reconfigure(line_buffering=True)
        sys.stderr.reconfigure(line_buffering=True)
        self.own = os.getpid()
        self.keeper = os.getppid()
        self.space = types.ModuleType("__main__")
        sys.modules["__main__"] = self.space
        self.running = False
        self.loop = None
        self.plots = 0
        self.value = None
        self.mark = ""
        self.seen = self.files()
        # The line that a plot cannot be shown: it is saved instead.
        warnings.filterwarnings("ignore", message=".*non-interactive.*")
        signal.signal(signal.SIGINT, self.interrupted)

    def interrupted(self, *_):
        if self.running:
            raise KeyboardInterrupt

    def serve(self):
        engine = f"{platform.python_implementation()} {platform.python_version()}"
        self.say({"say": "ready", "protocol": PROTOCOL, "engine": engine})
        while True:
            order = self.hear()
            if order is None:
                return
            self.say(self.script(order) if order["do"] == "script" else self.answer(order))

    def script(self, order):
        """Runs code that may call tools."""
        if order.get("check"):
            return self.checked(order["code"], "<script>")
        self.mark = order["mark"]
        bridge = Bridge(self, order["names"])
        self.loop = bridge.loop
        self.space.__dict__.update(bridge.functions())
        if order.get("args") is not None:
            self.space.args = order["args"]
        answer = self.answer({"id": 0, "code": order["code"], "mark": order["mark"]})
        try:
            data = plain(self.value, "The value")
            if len(json.dumps(data)) <= VALUE_BYTES:
                answer["data"] = data
        except (TypeError, ValueError, RecursionError):
            pass
        return answer

    def over(self, text):
        """Ends a script from outside of it."""
        sys.stdout.flush()
        os.write(1, self.mark.encode())
        raised = {"kind": "RuntimeError", "message": text, "trace": f"RuntimeError: {text}"}
        self.say({"say": "done", "id": 0, "raised": raised})
        os._exit(0)

    def hear(self):
        head = self.exactly(4)
        if head is None:
            return None
        (length,) = struct.unpack(">I", head)
        body = self.exactly(length) if length <= FRAME_BYTES else None
        return None if body is None else json.loads(body)

    def exactly(self, count):
        data = b""
        while len(data) < count:
            more = self.channel.recv(count - len(data))
            if not more:
                return None
            data += more
        return data

    def say(self, message):
        body = json.dumps(message).encode()
        self.channel.sendall(struct.pack(">I", len(body)) + body)

    def answer(self, order):
        value = raised = None
        name = f"<call {order['id']}>"
        signal.signal(signal.SIGINT, self.interrupted)
        try:
            self.running = True
            try:
                value = self.shown(self.run(order["code"], name))
                self.plot()
            finally:
                self.running = False
        except BaseException as error:
            raised = self.raised(error, name)
            try:
                self.plot()
            except Exception:
                pass
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except Exception:
                pass
        if os.getpid() != self.own:
            # A copy that the code made of all this: it has nothing to say.
            os._exit(0)
        self.end_children()
        try:
            # The end of the output: what comes before it was printed by this call.
            os.write(1, order["mark"].encode())
        except OSError:
            pass
        before, self.seen = self.seen, self.files()
        files = [
            {"path": path, "bytes": size}
            for path, (size, time) in self.seen.items()
            if before.get(path) != (size, time)
        ]
        return {"say": "done", "id": order["id"], "value": value, "raised": raised, "files": files[:FILES]}

    def checked(self, code, name):
        """Whether code could run; nothing of it does."""
        raised = None
        try:
            compile(self.parsed(code, name), name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        except BaseException as error:
            raised = self.raised(error, name)
        return {"say": "done", "id": 0, "raised": raised}

    def parsed(self, code, name):
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        tree = ast.parse(code, name)
        if returns(tree.body):
            whole = ast.parse("async def script(): pass\nawait script()", name)
            whole.body[0].body, tree = tree.body, whole
        return tree

    def run(self, code, name):
        tree = self.parsed(code, name)
        last = None
        if tree.body and isinstance(tree.body[-1], ast.Expr):
            last = ast.Expression(tree.body.pop().value)
        self.step(tree, name, "exec")
        return None if last is None else self.step(last, name, "eval")

    def step(self, tree, name, how):
        code = compile(tree, name, how, flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        result = eval(code, self.space.__dict__)
        if code.co_flags & inspect.CO_COROUTINE:
            import asyncio

            if self.loop is None:
                self.loop = asyncio.new_event_loop()
            result = self.loop.run_until_complete(result)
        return result

    def shown(self, value):
        if value is None:
            return None
        self.space._ = self.value = value
        text = repr(value)
        data = text.encode("utf-8", "replace")
        kind = type(value)
        kind = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
        return {"text": data[:VALUE_BYTES].decode("utf-8", "ignore"), "bytes": len(data), "kind": kind[:200]}

    def raised(self, error, name):
        line = error.lineno if isinstance(error, SyntaxError) else None
        frames = list(traceback.extract_tb(error.__traceback__))
        own = [place for place, frame in enumerate(frames) if frame.filename == name]
        # What comes before is this program.
        frames = [frame for frame in frames[own[0]:] if not is_bridge(frame)] if own else []
        for frame in frames:
            if frame.filename == name:
                line = frame.lineno
        try:
            shown = traceback.TracebackException.from_exception(error)
            shown.stack = traceback.StackSummary.from_list(frames)
            trace = "".join(shown.format()).rstrip("\n")
            message = str(error)
        except Exception:
            trace = message = "(the exception cannot be shown)"
        half = TRACE_BYTES // 4
        if len(trace) > 2 * half:
            trace = f"{trace[:half]}\n...\n{trace[-half:]}"
        message = message[:half]
        lacks = "module" if isinstance(error, ModuleNotFoundError) else None
        return {
            "kind": type(error).__name__[:200],
            "message": message.encode("utf-8", "replace").decode(),
            "trace": trace.encode("utf-8", "replace").decode(),
            "line": line,
            "lacks": lacks,
        }

    def plot(self):
        """Saves the open figures as files."""
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is None:
            return
        try:
            for number in pyplot.get_fignums():
                self.plots += 1
                while os.path.exists(f"plot-{self.plots}.png"):
                    self.plots += 1
                pyplot.figure(number).savefig(f"plot-{self.plots}.png", bbox_inches="tight")
        finally:
            pyplot.close("all")

    def files(self):
        """Files in this folder with size and time."""
        found = {}
        for folder, folders, names in os.walk("."):
            folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
            for name in sorted(names):
                path = os.path.join(folder, name)
                try:
                    about = os.lstat(path)
                except OSError:
                    continue
                shown = os.path.relpath(path)
                found[shown.encode("utf-8", "replace").decode()] = (about.st_size, about.st_mtime_ns)
                if len(found) >= WALKED:
                    return found
        return found

    def end_children(self):
        """Ends the processes that the code left behind, those that they make meanwhile too."""
        for _ in range(PASSES):
            if not self.ended_some():
                return

    def ended_some(self):
        """Kills all that descend from what keeps this sandbox, but for this one."""
        some = False
        parents = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", "rb") as file:
                        state, parent = file.read().rsplit(b")", 1)[1].split()[:2]
                    if state != b"Z":
                        parents[int(name)] = int(parent)
                except (OSError, ValueError, IndexError):
                    pass
        for number in parents:
            at = parents.get(number)
            while at is not None and at not in (0, self.keeper):
                at = parents.get(at)
            if at == self.keeper and number != self.own:
                some = True
                try:
                    os.kill(number, signal.SIGKILL)
                except OSError:
                    pass
        return some

