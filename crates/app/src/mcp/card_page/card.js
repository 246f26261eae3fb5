// Draws a card of `rich_render` in a client of MCP (MCP Apps, SEP-1865). Every text becomes a text
// node, so nothing in a card is markup; addresses are opened and messages sent by the client, which
// asks the person. ui/src/parts/CardBlocks.svelte draws the same blocks on our own page.
"use strict";

const PROTOCOL = "2026-01-26";
/** How deep blocks are in blocks; a card has 4. */
const DEEPEST = 5;
const COLORS = 6;
const WIDTH = 320;
const HEIGHT = 140;
const TEXTS = {
  en: { values: "Values", untrusted: "Its words come from outside.", ask: "Send this as your message?", send: "Send", cancel: "Cancel", unsent: "It was not sent.", copied: "Copied.", copy: "Copy this text:", image: "Image from", done: "Done", current: "Now", open: "To come", info: "Note", success: "Success", warning: "Warning", error: "Error" },
  de: { values: "Werte", untrusted: "Der Text kommt von außen.", ask: "Als Ihre Nachricht senden?", send: "Senden", cancel: "Abbrechen", unsent: "Es wurde nicht gesendet.", copied: "Kopiert.", copy: "Diesen Text kopieren:", image: "Bild von", done: "Erledigt", current: "Jetzt", open: "Später", info: "Hinweis", success: "Erfolg", warning: "Warnung", error: "Fehler" },
};
const main = document.querySelector("main");
let host = {};
let locale = "en";
let isUntrusted = false;
let last = null;

const t = (key) => (TEXTS[locale.split("-")[0]] ?? TEXTS.en)[key];
const number = (value, digits) => new Intl.NumberFormat(locale, { maximumFractionDigits: digits }).format(value);
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;
/** A text with its hidden characters shown as their numbers. */
const visible = (text) => String(text ?? "").replace(/\r\n/g, "\n").replace(HIDDEN, (one) => `⟨${one.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
const pick = (table, key) => (Object.hasOwn(table, key) ? table[key] : undefined);
const list = (value) => (Array.isArray(value) ? value : []);

/** An element with attributes and children; a child that is no node is a text. */
function el(name, attributes = {}, ...children) {
  const isDrawing = ["svg", "rect", "path", "polyline"].includes(name);
  const made = isDrawing ? document.createElementNS("http://www.w3.org/2000/svg", name) : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key, value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) made.setAttribute(key, String(value));
  }
  made.append(...children.flat().filter((one) => one !== null && one !== undefined && one !== ""));
  return made;
}

/** The address of a link of the web; empty for every other. */
function webAddress(value) {
  try {
    const url = new URL(String(value));
    return ["https:", "http:"].includes(url.protocol) && !url.username && !url.password ? url.href : "";
  } catch {
    return "";
  }
}
const openLink = (url) => void ask("ui/open-link", { url }).catch(() => undefined);
function link(url, ...children) {
  return el("button", { type: "button", class: "link", title: url, click: () => openLink(url) }, ...children);
}

// Markdown: the forms that models use in cards.

/** Characters with which no form begins. */
const PLAIN = /^[^`*~_![\\h ]+/;
const INLINE = [
  [/^`([^`]+)`/, (m) => el("code", {}, visible(m[1]))],
  [/^\*\*(?=\S)([^]*?\S)\*\*/, (m) => el("strong", {}, inline(m[1]))],
  [/^~~(?=\S)([^]*?\S)~~/, (m) => el("s", {}, inline(m[1]))],
  [/^\*(?=[^\s*])([^*]*?[^\s*])\*/, (m) => el("em", {}, inline(m[1]))],
  [/^_(?=[^\s_])([^_]*?[^\s_])_(?!\w)/, (m) => el("em", {}, inline(m[1]))],
  [/^!\[([^\]]*)\]\(([^()\s]+)\)/, (m) => el("span", { class: "badge" }, `${t("image")} ${hostOf(m[2])} ${visible(m[1])}`)],
  [/^\[([^\]]+)\]\(([^()\s]+)\)/, (m) => (webAddress(m[2]) ? link(webAddress(m[2]), inline(m[1])) : el("bdi", {}, inline(m[1])))],
  [/^https?:\/\/[^\s<>"']*[^\s<>"'.,;:!?)]/, (m) => (webAddress(m[0]) ? link(webAddress(m[0]), visible(m[0])) : visible(m[0]))],
  [/^\\([\\`*_{}[\]()#+\-.!~])/, (m) => m[1]],
  [/^ {2,}\n/, () => el("br")],
];
function hostOf(address) {
  return webAddress(address) ? new URL(address).host : "?";
}
function inline(text) {
  const parts = [];
  let plain = "";
  for (let rest = text; rest; ) {
    const run = PLAIN.exec(rest)?.[0];
    if (run) {
      plain += run;
      rest = rest.slice(run.length);
      continue;
    }
    const before = plain.at(-1) ?? "";
    const found = INLINE.map(([form, make]) => [form.exec(rest), make]).find(([match]) => match && !(match[0][0] === "_" && /\w/.test(before)));
    if (!found) {
      plain += rest[0];
      rest = rest.slice(1);
      continue;
    }
    if (plain) parts.push(visible(plain));
    plain = "";
    parts.push(found[1](found[0]));
    rest = rest.slice(found[0][0].length);
  }
  if (plain) parts.push(visible(plain));
  return parts;
}

const ITEM = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;
function markdown(text) {
  const lines = String(text ?? "").replace(/\r\n?/g, "\n").split("\n");
  const out = el("div", { class: "md", dir: "auto" });
  while (lines.length) out.append(...block(lines));
  return out;
}
/** Takes the lines of one block. */
function block(lines) {
  const line = lines.shift();
  if (!line.trim()) return [];
  const fence = /^\s*(```+|~~~+)/.exec(line)?.[1];
  if (fence) {
    const code = takeWhile(lines, (one) => !one.trim().startsWith(fence));
    lines.shift();
    return [el("pre", { tabindex: 0 }, visible(code.join("\n")))];
  }
  const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
  if (heading) return [el(`h${Math.min(6, heading[1].length + 2)}`, {}, inline(heading[2]))];
  if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) return [el("hr")];
  if (line.startsWith(">")) {
    const quoted = [line, ...takeWhile(lines, (one) => one.startsWith(">"))];
    return [el("blockquote", {}, quoted.flatMap((one, at) => [...(at ? [el("br")] : []), ...inline(one.replace(/^>\s?/, ""))]))];
  }
  if (line.includes("|") && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[0] ?? "")) {
    lines.shift();
    const rows = takeWhile(lines, (one) => one.includes("|"));
    const cells = (one) => one.trim().replace(/^\||\|$/g, "").split("|").map((cell) => inline(cell.trim()));
    return [table(cells(line), rows.map(cells))];
  }
  const item = ITEM.exec(line);
  if (item) {
    const items = [item, ...takeWhile(lines, (one) => ITEM.test(one)).map((one) => ITEM.exec(one))];
    return [el(/\d/.test(item[2]) ? "ol" : "ul", {}, items.map((one) => el("li", { style: one[1].length > 1 ? "margin-inline-start: 20px" : null }, inline(one[3]))))];
  }
  const paragraph = [line, ...takeWhile(lines, (one) => one.trim() && !ITEM.test(one) && !/^(#{1,6}\s|>|\s*```)/.test(one))];
  return [el("p", {}, inline(paragraph.join("\n")))];
}
function takeWhile(lines, isPart) {
  const end = lines.findIndex((one) => !isPart(one));
  return lines.splice(0, end < 0 ? lines.length : end);
}

// Blocks of a card.

function table(columns, rows) {
  const head = el("tr", {}, columns.map((one) => el("th", {}, one)));
  const body = rows.map((row) => el("tr", {}, row.map((one) => el("td", {}, one))));
  return el("div", { class: "scroll", tabindex: 0 }, el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
}
const said = (word) => el("span", { class: "hidden" }, `${t(word)}: `);
const LEVELS = ["info", "success", "warning", "error"];
const levelOf = (block) => (LEVELS.includes(block.level) ? block.level : "info");
const STEPS = { done: "✓", current: "●", open: "○" };
const TRENDS = { up: "↑ ", down: "↓ ", flat: "→ " };

const DRAW = {
  text: (one) => markdown(one.text),
  metric: (one) => el("p", { class: "metric" }, el("span", { class: "dim" }, visible(one.label)), el("b", {}, visible(one.value), one.unit ? ` ${visible(one.unit)}` : ""),
    one.change ? el("span", { class: "dim" }, `${pick(TRENDS, one.trend) ?? ""}${visible(one.change)}`) : ""),
  card: (one, depth) => el("section", { class: "box" }, el("h3", {}, visible(one.title)), one.subtitle ? el("p", { class: "dim" }, visible(one.subtitle)) : "",
    one.text ? markdown(one.text) : "", one.blocks ? blocks(one.blocks, depth + 1) : "", one.buttons ? buttons(one.buttons) : ""),
  chart,
  progress(one) {
    const most = one.max > 0 ? one.max : 100;
    return el("label", {}, el("span", { class: "row" }, visible(one.label), el("span", { class: "dim" }, `${number(one.value, 1)} / ${number(most, 1)}`)), el("progress", { value: Math.max(0, one.value), max: most }));
  },
  timeline: (one) => el("ol", { class: "steps" }, list(one.items).map((step) => {
    const state = pick(STEPS, step.state) ? step.state : "open";
    return el("li", {}, el("span", { "aria-hidden": "true" }, STEPS[state]), el("span", {}, said(state), el("b", {}, visible(step.title)), step.time ? el("span", { class: "dim" }, ` ${visible(step.time)}`) : "", step.text ? el("p", { class: "dim" }, visible(step.text)) : ""));
  })),
  alert: (one) => el("div", { class: `alert ${levelOf(one)}` }, said(levelOf(one)), one.title ? el("b", {}, `${visible(one.title)}\n`) : "", visible(one.text)),
  badge: (one) => el("p", {}, el("span", { class: `badge ${levelOf(one)}` }, said(levelOf(one)), visible(one.label))),
  keyvalue: (one) => el("div", {}, one.title ? el("h3", {}, visible(one.title)) : "", el("dl", {}, list(one.items).flatMap((item) => [el("dt", {}, visible(item.key)), el("dd", {}, visible(item.value))]))),
  columns: (one, depth) => el("div", { class: "columns" }, list(one.columns).map((column) => blocks(column.blocks, depth + 1))),
  section: (one, depth) => el("details", { open: !one.collapsed, "data-id": one.id }, el("summary", {}, visible(one.title)), blocks(one.blocks, depth + 1)),
  table: (one) => table(list(one.columns).map(visible), list(one.rows).map((row) => list(row).map(visible))),
  buttons: (one) => buttons(one.buttons),
  form,
};

function blocks(given, depth) {
  return el("div", { class: "blocks", dir: "auto" }, list(given).map((one) => {
    try {
      const drawn = depth < DEEPEST && pick(DRAW, one.type)?.(one, depth);
      if (drawn) return drawn;
    } catch {
      // What cannot be drawn is shown as data.
    }
    return el("pre", { tabindex: 0 }, visible(JSON.stringify(one, null, 2)));
  }));
}

function buttons(given) {
  return el("div", { class: "row" }, list(given).map((one) => {
    const url = webAddress(one.value);
    if (one.action === "open_url") return url ? el("button", { type: "button", title: url, click: () => openLink(url) }, visible(one.label)) : el("span", { class: "dim" }, visible(one.label));
    const press = pick({ callback: () => offer(one.value), toggle: () => toggle(one.value), copy: () => copy(one.value) }, one.action);
    return press ? el("button", { type: "button", title: visible(one.value), "data-sends": one.action === "callback", click: press }, visible(one.label)) : "";
  }));
}
function toggle(id) {
  for (const one of main.querySelectorAll("details[data-id]")) if (one.dataset.id === id) one.open = !one.open;
}
async function copy(text) {
  // A frame without an origin has no clipboard in most clients: then the text is there to be taken.
  const isCopied = await navigator.clipboard?.writeText(text).then(() => true, () => false);
  note(isCopied ? t("copied") : t("copy"), isCopied ? "" : text);
}

function form(one) {
  const entered = list(one.fields).map((field) => {
    const words = visible(field.label ?? field.name);
    const rule = { required: field.required === true, "aria-label": words };
    if (field.kind === "checkbox") {
      const box = el("input", { ...rule, type: "checkbox" });
      box.checked = field.value === "yes";
      return { field, shown: el("label", { class: "check" }, box, words), read: () => (box.checked ? "yes" : "no") };
    }
    const choices = ["", ...list(field.options)].map((option) => el("option", { value: option }, visible(option)));
    const kind = ["number", "date"].includes(field.kind) ? field.kind : "text";
    const entry = field.kind === "multiline" ? el("textarea", { ...rule, rows: 3 }) : field.kind === "choice" ? el("select", rule, choices) : el("input", { ...rule, type: kind, step: "any" });
    entry.value = field.value ?? "";
    return { field, shown: el("label", {}, words, entry), read: () => entry.value };
  });
  // A frame without `allow-forms` submits nothing: its button is a button, and Enter in a line presses it.
  const made = el("form", { class: "blocks" });
  const send = () => {
    if (!made.reportValidity()) return;
    offer(entered.map(({ field, read }) => `${field.label ?? field.name}: ${read()}`).join("\n"));
  };
  const button = el("button", { type: "button", "data-sends": true, click: send }, visible(one.submit ?? "OK"));
  made.addEventListener("submit", (event) => event.preventDefault());
  made.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing || event.target.localName !== "input" || button.disabled) return;
    event.preventDefault();
    send();
  });
  made.append(...[one.title ? el("h3", {}, visible(one.title)) : "", ...entered.map(({ shown }) => shown), button].filter(Boolean));
  return made;
}

// Charts.

/** The values of a series; what is no number is zero, and what is too large for a drawing is cut. */
const values = (one) => list(one?.values).map((value) => (Number.isFinite(value) ? Math.min(1e15, Math.max(-1e15, value)) : 0));
function range(series) {
  const all = series.flatMap(values);
  const [low, high] = [Math.min(0, ...all), Math.max(0, ...all)];
  return low === high ? [low, low + 1] : [low, high];
}
function bars(labels, series) {
  const [low, high] = range(series);
  const y = (value) => HEIGHT - ((value - low) / (high - low)) * HEIGHT;
  const group = WIDTH / Math.max(1, labels.length);
  const width = (group * 0.8) / Math.max(1, series.length);
  return series.flatMap((one, number) => values(one).map((value, at) =>
    el("rect", { class: `s${number % COLORS}`, x: at * group + group * 0.1 + number * width, y: Math.min(y(value), y(0)), width: Math.max(1, width - 1), height: Math.max(1, Math.abs(y(value) - y(0))) })));
}
function curves(labels, series) {
  const [low, high] = range(series);
  const step = WIDTH / Math.max(1, labels.length - 1);
  return series.map((one, number) => el("polyline", { class: `s${number % COLORS}`, points: values(one).map((value, at) => `${at * step},${HEIGHT - ((value - low) / (high - low)) * HEIGHT}`).join(" ") }));
}
function slices(parts) {
  const sum = parts.reduce((all, value) => all + Math.max(0, value), 0);
  const point = (part) => `${70 + 68 * Math.sin(2 * Math.PI * part)} ${70 - 68 * Math.cos(2 * Math.PI * part)}`;
  let from = 0;
  return parts.map((value, at) => {
    const part = sum ? Math.max(0, value) / sum : 0;
    const begin = from;
    from += part;
    const shape = part >= 0.9999 ? "M70 2a68 68 0 1 1-.01 0z" : part ? `M70 70L${point(begin)}A68 68 0 ${part > 0.5 ? 1 : 0} 1 ${point(from)}z` : "";
    return el("path", { class: `s${at % COLORS}`, d: shape });
  });
}
function chart(one) {
  const [labels, series] = [list(one.labels), list(one.series)];
  const isPie = one.kind === "pie";
  const drawn = isPie ? slices(values(series[0])) : one.kind === "line" ? curves(labels, series) : bars(labels, series);
  const names = isPie ? labels : series.length > 1 || series[0]?.name ? series.map((row, at) => row.name ?? at + 1) : [];
  const view = isPie ? { class: "pie", viewBox: "0 0 140 140" } : { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none" };
  const unit = one.unit ? ` ${visible(one.unit)}` : "";
  const rows = labels.map((label, at) => [visible(label), ...series.map((row) => (at in list(row.values) ? number(row.values[at], 2) + unit : ""))]);
  return el("figure", { class: "blocks" },
    one.title ? el("figcaption", {}, el("b", {}, visible(one.title))) : "",
    el("svg", { ...view, "aria-hidden": "true" }, drawn),
    isPie ? "" : el("div", { class: "row dim", style: "justify-content: space-between" }, el("span", {}, visible(labels[0])), labels.length > 1 ? el("span", {}, visible(labels.at(-1))) : ""),
    names.length ? el("p", { class: "row" }, names.map((name, at) => el("span", {}, el("i", { class: `dot s${at % COLORS}` }), visible(name)))) : "",
    el("details", { class: "dim" }, el("summary", {}, t("values")), table(["", ...series.map((row) => visible(row.name))], rows)));
}

// What is sent as a message of the person.

/** Words from outside are read by the person before they are sent in their name. */
function offer(text) {
  if (!isUntrusted) return void send(text);
  const yes = el("button", { type: "button", click: () => void send(text) }, t("send"));
  note(t("ask"), text, [yes, el("button", { type: "button", click: () => note("") }, t("cancel"))]);
}
async function send(text) {
  note("");
  for (const one of main.querySelectorAll("[data-sends]")) one.disabled = true;
  const sent = host.message ? await ask("ui/message", { role: "user", content: [{ type: "text", text: String(text) }] }).catch(() => null) : null;
  if (sent && !sent.isError) return;
  for (const one of main.querySelectorAll("[data-sends]")) one.disabled = false;
  note(t("unsent"), text);
}
function note(title, text = "", actions = []) {
  main.querySelector(".note")?.remove();
  if (title) main.append(el("div", { class: "note", role: "status" }, el("span", { class: "dim" }, title), text ? el("pre", {}, visible(text)) : "", actions.length ? el("div", { class: "row" }, actions) : ""));
}

function draw() {
  const { structuredContent, content, isError } = last ?? {};
  isUntrusted = Boolean(structuredContent?.untrusted);
  if (Array.isArray(structuredContent?.blocks) && !isError) {
    main.replaceChildren(isUntrusted ? el("p", { class: "dim" }, t("untrusted")) : "", blocks(structuredContent.blocks, 0));
  } else {
    main.replaceChildren(...list(content).filter((one) => one?.type === "text").map((one) => el("pre", {}, visible(one.text))));
  }
}

// The bridge of the standard.

const waiting = new Map();
let next = 1;
const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
function ask(method, params) {
  const id = next++;
  return new Promise((resolve, reject) => {
    waiting.set(id, [resolve, reject]);
    post({ id, method, params });
  });
}
function adopt(context) {
  if (["light", "dark"].includes(context?.theme)) document.documentElement.dataset.theme = context.theme;
  for (const [name, value] of Object.entries(context?.styles?.variables ?? {})) if (name.startsWith("--")) document.documentElement.style.setProperty(name, value);
  try {
    locale = Intl.getCanonicalLocales(context?.locale ?? locale)[0] ?? "en";
  } catch {
    locale = "en";
  }
  document.documentElement.lang = locale;
}
addEventListener("message", ({ source, data }) => {
  if (source !== parent || data?.jsonrpc !== "2.0") return;
  if (data.method === undefined) {
    const [resolve, reject] = waiting.get(data.id) ?? [];
    waiting.delete(data.id);
    if (resolve) "error" in data ? reject(new Error(data.error?.message)) : resolve(data.result);
  } else if (data.method === "ui/notifications/tool-result") {
    last = data.params;
    draw();
  } else if (data.method === "ui/notifications/host-context-changed") {
    const before = locale;
    adopt(data.params);
    // What was entered stays, unless its words change.
    if (locale !== before) draw();
  } else if (data.id !== undefined) {
    const isKnown = ["ping", "ui/resource-teardown"].includes(data.method);
    post(isKnown ? { id: data.id, result: {} } : { id: data.id, error: { code: -32601, message: "this page does not have that method" } });
  }
});
ask("ui/initialize", { protocolVersion: PROTOCOL, appInfo: { name: "Toolcrib card", version: "1" }, appCapabilities: {} }).then((found) => {
  host = found?.hostCapabilities ?? {};
  adopt(found?.hostContext);
  post({ method: "ui/notifications/initialized", params: {} });
  new ResizeObserver(() => post({ method: "ui/notifications/size-changed", params: { width: document.documentElement.scrollWidth, height: Math.ceil(document.body.getBoundingClientRect().height) } })).observe(document.body);
}).catch(() => undefined);
