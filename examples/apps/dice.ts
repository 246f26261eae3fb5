// An app with one tool: node dice.ts DAEMON_URL CODE PORT [KEY_FILE]. No packages. Before 22.18,
// Node.js needs: node --input-type=module - DAEMON_URL CODE PORT [KEY_FILE] < dice.ts
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, randomInt, sign, verify } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const [daemon, code, port, keyFile = "dice-keys.json"] = process.argv.slice(2);
const sides = { type: "integer", minimum: 2, maximum: 1000 };
const tools = [
  { name: "roll", description: "Roll a die.", risk: "safe", parameters: { type: "object", properties: { sides }, required: ["sides"] } },
];
const sha = (body) => createHash("sha256").update(body).digest("hex");
const text = (...parts) => Buffer.from(parts.join("\n"));
const nonces = new Set();

async function post(path, data, key) {
  const [body, time, nonce] = [JSON.stringify(data), `${Math.floor(Date.now() / 1000)}`, randomBytes(16).toString("hex")];
  const signature = sign(null, text("toolcrib-request-v1", "POST", path, time, nonce, sha(body)), createPrivateKey(key));
  const headers = {
    "content-type": "application/json", "x-toolcrib-timestamp": time, "x-toolcrib-nonce": nonce,
    "x-toolcrib-signature": signature.toString("base64"),
  };
  const response = await fetch(daemon + path, { method: "POST", body, headers });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

function answer(path, call) {
  if (path === "/health") return { status: "ok", name: "dice", version: "1.0" };
  if (path === "/capabilities") return tools;
  const rolled = randomInt(1, (call.params?.sides ?? 6) + 1);
  return { text: `Rolled ${rolled}.`, blocks: [{ type: "metric", label: "Die", value: `${rolled}` }] };
}

if (!existsSync(keyFile)) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const app = privateKey.export({ type: "pkcs8", format: "pem" });
  const ed25519 = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");
  const claim = { code, name: "dice", address: `http://127.0.0.1:${port}`, key: { ed25519 }, capabilities: tools };
  const made = await post("/api/v1/pairings/claim", claim, app);
  console.log("Fingerprint:", made.fingerprint);
  writeFileSync(keyFile, JSON.stringify({ id: made.id, app, daemon: made.daemon_key.ed25519 }), { mode: 0o600 });
}
const keys = JSON.parse(readFileSync(keyFile, "utf8"));
const spki = Buffer.concat([Buffer.from("302a300506032b6570032100", "hex"), Buffer.from(keys.daemon, "base64")]);
const daemonKey = createPublicKey({ key: spki, type: "spki", format: "der" });
createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray());
  const [time, nonce, signature] = ["timestamp", "nonce", "signature"].map((name) => `${request.headers[`x-toolcrib-${name}`] ?? ""}`);
  const signed = text("toolcrib-request-v1", request.method ?? "", request.url ?? "", time, nonce, sha(body));
  const isNew = Math.abs(Date.now() / 1000 - Number(time)) <= 60 && !nonces.has(nonce);
  if (!isNew || !verify(null, signed, daemonKey, Buffer.from(signature, "base64"))) return response.writeHead(401).end();
  nonces.add(nonce);
  const json = JSON.stringify(answer(request.url ?? "", JSON.parse(body.toString() || "{}")));
  const own = sign(null, text("toolcrib-response-v1", 200, nonce, sha(json)), createPrivateKey(keys.app));
  response.writeHead(200, { "x-toolcrib-signature": own.toString("base64") }).end(json);
}).listen(Number(port), "127.0.0.1");
