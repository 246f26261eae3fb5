// An MCP server with its authorization server, on one loopback port: the standard's discovery,
// registration, code flow with PKCE, and one tool for who has a token.
import crypto from "node:crypto";
import http from "node:http";

const body = async (request) => {
  let text = "";
  for await (const piece of request) text += piece;
  return text;
};

export async function authorizationServer() {
  const known = { codes: new Map(), tokens: new Set(), refused: 0, redirects: [], pages: 0 };
  const server = http.createServer((request, response) => void answer(request, response));
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${server.address().port}`;
  const json = (response, status, value, headers = {}) => {
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(value === undefined ? "" : JSON.stringify(value));
  };
  async function answer(request, response) {
    const url = new URL(request.url, origin);
    if (url.pathname.startsWith("/.well-known/oauth-protected-resource")) return json(response, 200, { resource: `${origin}/mcp`, authorization_servers: [origin], scopes_supported: ["notes.read"] });
    if (url.pathname.startsWith("/.well-known/")) {
      return json(response, 200, {
        issuer: origin, authorization_endpoint: `${origin}/authorize`, token_endpoint: `${origin}/token`, registration_endpoint: `${origin}/register`,
        response_types_supported: ["code"], grant_types_supported: ["authorization_code", "refresh_token"], code_challenge_methods_supported: ["S256"], token_endpoint_auth_methods_supported: ["none"],
      });
    }
    if (url.pathname === "/register") {
      const asked = JSON.parse(await body(request));
      known.redirects = asked.redirect_uris;
      return json(response, 201, { ...asked, client_id: "client-1", token_endpoint_auth_method: "none" });
    }
    if (url.pathname === "/authorize") {
      known.pages += 1;
      const ask = url.searchParams;
      const code = crypto.randomUUID();
      known.codes.set(code, ask.get("code_challenge"));
      const back = (values) => `${ask.get("redirect_uri")}?${new URLSearchParams({ ...values, state: ask.get("state") })}`.replaceAll("&", "&amp;");
      response.writeHead(200, { "content-type": "text/html" });
      return response.end(`<title>Notes</title><a href="${back({ code })}">Agree</a> <a href="${back({ error: "access_denied", error_description: "not <b>today</b>" })}">Refuse</a>`);
    }
    if (url.pathname === "/token") {
      const form = new URLSearchParams(await body(request));
      const proof = crypto.createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
      const isGood = known.codes.get(form.get("code")) === proof && known.redirects.includes(form.get("redirect_uri"));
      known.codes.delete(form.get("code"));
      if (!isGood) return json(response, 400, { error: "invalid_grant" });
      const token = crypto.randomUUID();
      known.tokens.add(token);
      return json(response, 200, { access_token: token, token_type: "Bearer", expires_in: 3600, scope: "notes.read" });
    }
    if (!known.tokens.has(request.headers.authorization?.replace(/^Bearer /, ""))) {
      known.refused += 1;
      return json(response, 401, { error: "unauthorized" }, { "www-authenticate": `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="notes.read"` });
    }
    if (request.method !== "POST") return json(response, 405, {});
    const message = JSON.parse(await body(request));
    if (message.id === undefined) return json(response, 202, undefined);
    const results = {
      initialize: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "Notes", version: "1" } },
      "tools/list": { tools: [{ name: "read_note", description: "Reads a note.", inputSchema: { type: "object", properties: {} } }] },
      "tools/call": { content: [{ type: "text", text: "A note." }] },
    };
    const result = results[message.method];
    return json(response, 200, { jsonrpc: "2.0", id: message.id, ...(result ? { result } : { error: { code: -32601, message: "no such method" } }) });
  }
  return { origin, known, close: () => server.close() };
}
