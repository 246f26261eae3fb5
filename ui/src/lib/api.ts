// Requests to the daemon. Only its public REST API is used, and only this file and `stream.ts` send
// requests.
import type { components } from "./api.gen";
import { session } from "./session.svelte";

export type Schemas = components["schemas"];
export type Problem = Schemas["Problem"];

/** A request that the daemon refused, or that did not reach it (`status` 0). */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly about: unknown = null,
  ) {
    super(message);
  }
}

/** What a call that was refused says. */
type Refused = Partial<Pick<Schemas["CallDocument"], "error_type" | "reason" | "message">>;
type Method = "GET" | "POST" | "PUT" | "DELETE";

interface Options {
  body?: unknown;
  /** A body that is sent as it is. */
  raw?: string | ArrayBuffer;
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

/** Milliseconds after which a request that only reads is given up. */
const READ_TIMEOUT_MS = 20_000;

export async function send(method: Method, path: string, options: Options = {}): Promise<Response> {
  const headers: Record<string, string> = { ...options.headers };
  const init: RequestInit = { method, headers, cache: "no-store", credentials: "same-origin" };
  if (options.body !== undefined) {
    headers["content-type"] = "application/json";
    init.body = JSON.stringify(options.body);
  } else if (options.raw !== undefined) {
    headers["content-type"] = "application/octet-stream";
    init.body = options.raw;
  }
  const word = session.word();
  if (method !== "GET" && word) headers["x-toolcrib-session"] = word;
  if (options.signal) init.signal = options.signal;
  else if (method === "GET") init.signal = AbortSignal.timeout(READ_TIMEOUT_MS);
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, init);
  } catch (error) {
    throw new ApiError(0, "unreachable", error instanceof Error ? error.message : String(error));
  }
  if (response.ok) return response;
  // A call that was refused is its document, with its words in `reason` and `message`.
  const problem = (await response.json().catch(() => null)) as (Partial<Problem> & Refused) | null;
  if (response.status === 401) session.lost();
  throw new ApiError(
    response.status,
    problem?.code ?? problem?.error_type ?? "failed",
    problem?.detail ?? problem?.reason ?? problem?.message ?? `HTTP ${response.status}`,
    problem?.about,
  );
}

async function json<T>(method: Method, path: string, options?: Options): Promise<T> {
  const response = await send(method, path, options);
  if (response.status === 204) return undefined as T;
  return (await response.json()) as T;
}

export const api = {
  get: <T>(path: string, signal?: AbortSignal) => json<T>("GET", path, signal ? { signal } : {}),
  post: <T>(path: string, body: unknown = {}, headers: Record<string, string> = {}) =>
    json<T>("POST", path, { body, headers }),
  put: <T>(path: string, body: unknown, headers: Record<string, string> = {}) =>
    json<T>("PUT", path, { body, headers }),
  delete: <T>(path: string, headers: Record<string, string> = {}) =>
    json<T>("DELETE", path, { headers }),
};

/** A path with values of the person in it. */
export function path(strings: TemplateStringsArray, ...values: (string | number)[]): string {
  return strings.reduce(
    (out, part, at) => out + part + (at < values.length ? encodeURIComponent(values[at]!) : ""),
    "",
  );
}

/** A query without the values that are not set. */
export function query(values: Record<string, string | number | boolean | null | undefined>): string {
  const all = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined && value !== null && value !== "") all.set(name, String(value));
  }
  const text = all.toString();
  return text ? `?${text}` : "";
}

/** What to say of a failure. */
export function words(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
