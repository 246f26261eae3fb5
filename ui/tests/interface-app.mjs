// An app that can be paired, as docs/apps.md describes it, on a free port of this machine.
import { createHash, createPublicKey, generateKeyPairSync, randomBytes, sign, verify } from "node:crypto";
import http from "node:http";

const sha = (body) => createHash("sha256").update(body).digest("hex");
const lines = (...parts) => Buffer.from(parts.join("\n"));
const SPKI = Buffer.from("302a300506032b6570032100", "hex");

/** `tools` may be changed while the app is paired. */
export async function interfaceApp(name, tools) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const app = { tools, signals: [], fingerprint: null, calls: [] };
  let daemonKey = null;
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = Buffer.concat(chunks);
    const [time, nonce, signature] = ["timestamp", "nonce", "signature"].map((one) => `${request.headers[`x-toolcrib-${one}`] ?? ""}`);
    const signed = lines("toolcrib-request-v1", request.method, request.url, time, nonce, sha(body));
    if (!daemonKey || !verify(null, signed, daemonKey, Buffer.from(signature, "base64"))) return response.writeHead(401).end();
    let said = { text: "Done." };
    if (request.url === "/health") said = { status: "ok", name, version: "1.0" };
    else if (request.url === "/capabilities") said = app.tools;
    else app.calls.push(JSON.parse(body.toString()));
    const json = JSON.stringify(said);
    const own = sign(null, lines("toolcrib-response-v1", 200, nonce, sha(json)), privateKey);
    response.writeHead(200, { "x-toolcrib-signature": own.toString("base64") }).end(json);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));

  /** Uses a code, and returns the status. */
  app.claim = async (daemon, code) => {
    const ed25519 = publicKey.export({ type: "spki", format: "der" }).subarray(-32).toString("base64");
    const body = JSON.stringify({ code, name, address: `http://127.0.0.1:${server.address().port}`, key: { ed25519 }, capabilities: app.tools, signals: app.signals });
    const [path, time, nonce] = ["/api/v1/pairings/claim", `${Math.floor(Date.now() / 1000)}`, randomBytes(16).toString("hex")];
    const signature = sign(null, lines("toolcrib-request-v1", "POST", path, time, nonce, sha(body)), privateKey).toString("base64");
    const headers = { "content-type": "application/json", "x-toolcrib-timestamp": time, "x-toolcrib-nonce": nonce, "x-toolcrib-signature": signature };
    const answer = await fetch(daemon.url + path, { method: "POST", body, headers });
    const made = await answer.json();
    if (answer.ok) {
      app.fingerprint = made.fingerprint;
      daemonKey = createPublicKey({ key: Buffer.concat([SPKI, Buffer.from(made.daemon_key.ed25519, "base64")]), type: "spki", format: "der" });
    }
    return answer.status;
  };
  app.close = () => {
    server.closeAllConnections();
    server.close();
  };
  return app;
}
