// The part of Telegram's Bot API that a channel uses, on a free port of this machine.
import http from "node:http";

export const TOKEN = "110201543:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw";
const LONGEST_POLL_MS = 300;

export async function telegramServer() {
  const state = { updates: [], last: 0, sent: [] };
  const server = http.createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const answer = (status, body) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    const [, token, method] = /^\/bot([^/]+)\/(\w+)$/.exec(request.url) ?? [];
    if (token !== TOKEN) return answer(401, { ok: false, error_code: 401, description: "Unauthorized" });
    const body = JSON.parse(Buffer.concat(chunks).toString() || "{}");
    let result = true;
    if (method === "getMe") result = { id: 110201543, is_bot: true, first_name: "Crib", username: "crib_bot" };
    if (method === "getUpdates") {
      state.updates = state.updates.filter((one) => one.update_id >= (body.offset ?? 0));
      if (body.timeout && !state.updates.length) await new Promise((resolve) => setTimeout(resolve, LONGEST_POLL_MS));
      result = state.updates;
    }
    if (method === "sendMessage") {
      state.sent.push(body);
      result = { message_id: ++state.last, chat: { id: body.chat_id }, text: body.text };
    }
    answer(200, { ok: true, result });
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    sent: state.sent,
    writes(user, text, name = "Ann") {
      const at = ++state.last;
      const from = { id: user, is_bot: false, first_name: name };
      state.updates.push({ update_id: at, message: { message_id: at, date: 1_700_000_000, from, chat: { id: user, type: "private" }, text } });
    },
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
