// The part of JSON Schema that a form of fields can show.
export interface Schema {
  type?: string | string[];
  description?: string;
  default?: unknown;
  enum?: unknown[];
  const?: unknown;
  properties?: Record<string, Schema>;
  required?: string[];
  items?: Schema;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  $ref?: string;
  $defs?: Record<string, Schema>;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

export type Kind = "text" | "number" | "boolean" | "enum" | "list" | "object" | "json";

/** References that are followed: a schema may refer to itself. */
const DEPTH = 8;

/** The schema that a reference means, and the one that is not null of a choice with null. */
export function resolve(schema: Schema, root: Schema): Schema {
  let found = schema;
  for (let step = 0; step < DEPTH; step++) {
    const name = /^#\/\$defs\/([^/]+)$/.exec(found.$ref ?? "")?.[1];
    const choices = (found.anyOf ?? found.oneOf)?.filter((one) => one.type !== "null");
    if (name && root.$defs?.[name]) found = { ...root.$defs[name], ...(found.description ? { description: found.description } : {}) };
    else if (choices?.length === 1) found = { ...choices[0], ...(found.description ? { description: found.description } : {}) };
    else break;
  }
  return found;
}

export function kind(schema: Schema): Kind {
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  if (schema.enum?.length) return "enum";
  if (type === "string") return "text";
  if (type === "integer" || type === "number") return "number";
  if (type === "boolean") return "boolean";
  if (type === "array" && schema.items?.type === "string" && !schema.items.enum) return "list";
  if (type === "object" && schema.properties) return "object";
  return "json";
}

/** Whether a list has a line for each of its texts. */
export function isPlain(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.every((one) => typeof one === "string" && !one.includes("\n")));
}

/** Values to begin with: what is required and has a default or only one choice. */
export function beginning(schema: Schema): Record<string, unknown> {
  const value: Record<string, unknown> = {};
  for (const name of schema.required ?? []) {
    const one = resolve(schema.properties?.[name] ?? {}, schema);
    const first = one.default ?? one.const ?? { text: "", number: 1, boolean: false, list: [], object: {}, enum: one.enum?.[0], json: null }[kind(one)];
    value[name] = first;
  }
  return value;
}
