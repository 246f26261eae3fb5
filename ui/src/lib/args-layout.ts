// Arguments that have a layout of their own: a request to another machine, and a mail. What a layout
// does not know stays in `rest`, so that nothing of a call is left out.
type Args = Record<string, unknown>;

export interface WebRequest {
  /** `null` = the tool does not say which one it uses. */
  method: string | null;
  url: URL;
  /** The address as the model wrote it. */
  typed: string;
  headers: [string, string][];
  contentType: string;
  body: string;
  rest: Args;
}

export interface Letter {
  account: string;
  to: string[];
  cc: string[];
  bcc: string[];
  subject: string;
  body: string;
  files: string[];
  /** The mail that it answers. */
  answers: string;
  /** The draft that it replaces. */
  draft: string;
  rest: Args;
}

/** Tools that send `GET` if no method is given. */
const SENDERS = ["http_request", "fetch_url"];
const LETTER_PARTS = ["account_id", "to", "cc", "bcc", "subject", "body", "attachments", "in_reply_to", "draft_id"];

const text = (value: unknown) => (typeof value === "string" ? value : "");
const left = (args: Args, known: string[]) => Object.fromEntries(Object.entries(args).filter(([name]) => !known.includes(name)));

/** Only a known tool sends what its arguments say; of another one, just the address has a meaning. */
export function requestOf(tool: string, args: Args): WebRequest | null {
  const typed = text(args.url) || text(args.source);
  if (!/^https?:\/\//i.test(typed) || !URL.canParse(typed)) return null;
  const url = new URL(typed);
  const request = { url, typed, headers: [], contentType: "", body: "" };
  if (!SENDERS.includes(tool)) return { ...request, method: null, rest: left(args, [text(args.url) ? "url" : "source"]) };
  const headers = args.headers && typeof args.headers === "object" && !Array.isArray(args.headers) ? args.headers : null;
  // What is not of the type that the layout shows stays among the others.
  const shown = ["url", ...["method", "body", "content_type"].filter((name) => typeof args[name] === "string"), ...(headers ? ["headers"] : [])];
  return {
    ...request,
    method: (text(args.method) || "GET").toUpperCase(),
    headers: Object.entries(headers ?? {}).map(([name, value]): [string, string] => [name, typeof value === "string" ? value : JSON.stringify(value)]),
    contentType: text(args.content_type),
    body: text(args.body),
    rest: left(args, shown),
  };
}

/** Addresses as a tool takes them: a text with commas, or a list. */
function addresses(value: unknown): string[] {
  const all = Array.isArray(value) ? value.map((one) => (typeof one === "string" ? one : JSON.stringify(one))) : text(value).split(/[,;\n]/);
  return all.map((one) => one.trim()).filter(Boolean);
}

/** A mail: recipients, a subject and a text. The name of the tool does not count. */
export function letterOf(args: Args): Letter | null {
  const to = addresses(args.to);
  if (!to.length || typeof args.subject !== "string" || typeof args.body !== "string") return null;
  const files = Array.isArray(args.attachments) ? args.attachments.map((one) => (typeof one === "string" ? one : JSON.stringify(one))) : [];
  return {
    account: text(args.account_id), to, cc: addresses(args.cc), bcc: addresses(args.bcc), subject: args.subject, body: args.body, files,
    answers: text(args.in_reply_to), draft: text(args.draft_id), rest: left(args, LETTER_PARTS),
  };
}

/** Letters of an address that are not of the alphabet that addresses are typed with. */
export const unusualLetters = (address: string): string => [...new Set(address.match(/[^\x20-\x7e]/g) ?? [])].join(" ");
