"""An app with two tools: python3 notes.py DAEMON_URL CODE PORT [KEY_FILE]. Standard library only."""
import base64, hashlib, hmac, json, os, sys, time, urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DAEMON, CODE, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
KEY_FILE = sys.argv[4] if len(sys.argv) > 4 else "notes-keys.json"
TEXT = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
TOOLS = [
    {"name": "add_note", "description": "Add a note.", "parameters": TEXT},
    {"name": "list_notes", "description": "List all notes.", "risk": "safe"},
]
NOTES, NONCES = [], set()

def sign(key, *parts):
    return base64.b64encode(hmac.digest(base64.b64decode(key), "\n".join(parts).encode(), "sha256")).decode()

def sha(body):
    return hashlib.sha256(body).hexdigest()

def post(path, data, key):
    body, stamp, nonce = json.dumps(data).encode(), str(int(time.time())), os.urandom(16).hex()
    headers = {"Content-Type": "application/json", "X-Toolcrib-Timestamp": stamp, "X-Toolcrib-Nonce": nonce,
               "X-Toolcrib-Signature": sign(key, "toolcrib-request-v1", "POST", path, stamp, nonce, sha(body))}
    return json.load(urllib.request.urlopen(urllib.request.Request(DAEMON + path, body, headers)))

class App(BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        stamp, nonce = self.headers.get("X-Toolcrib-Timestamp", "0"), self.headers.get("X-Toolcrib-Nonce", "")
        expected = sign(KEYS["daemon"], "toolcrib-request-v1", self.command, self.path, stamp, nonce, sha(body))
        is_new = abs(time.time() - int(stamp)) <= 60 and nonce not in NONCES
        if not is_new or not hmac.compare_digest(expected, self.headers.get("X-Toolcrib-Signature", "")):
            return self.send_error(401)
        NONCES.add(nonce)
        answer = json.dumps(self.answer(json.loads(body or b"{}"))).encode()
        self.send_response(200)
        self.send_header("X-Toolcrib-Signature", sign(KEYS["app"], "toolcrib-response-v1", "200", nonce, sha(answer)))
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)
    do_POST = do_GET

    def answer(self, call):
        if self.path == "/health": return {"status": "ok", "name": "notes", "version": "1.0"}
        if self.path == "/capabilities": return TOOLS
        if call.get("capability") == "add_note": NOTES.append(call["params"]["text"])
        return {"text": f"{len(NOTES)} notes", "data": {"notes": NOTES}}

server = ThreadingHTTPServer(("127.0.0.1", PORT), App)
if not os.path.exists(KEY_FILE):
    own = base64.b64encode(os.urandom(32)).decode()
    claim = {"code": CODE, "name": "notes", "address": f"http://127.0.0.1:{server.server_port}", "key": {"hmac": own},
             "capabilities": TOOLS, "signals": ["note_added"]}
    made = post("/api/v1/pairings/claim", claim, own)
    print("Fingerprint:", made["fingerprint"], flush=True)
    with open(os.open(KEY_FILE, os.O_CREAT | os.O_WRONLY, 0o600), "w") as file:
        json.dump({"id": made["id"], "app": own, "daemon": made["daemon_key"]["hmac"]}, file)
KEYS = json.load(open(KEY_FILE))
server.serve_forever()
