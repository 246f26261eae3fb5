// Files that the person adds to a message. They are put into the workspace by the same call that a
// model would make, so that rules, undo and the history hold for them too.
import { ApiError, query, send } from "./api";
import { t } from "./i18n.svelte";
import type { ImagePart } from "./images";

export interface Attachment {
  id: string;
  name: string;
  text: string;
  bytes: number;
  /** An image goes beside the message in place of into the workspace. */
  image?: ImagePart;
}

export const MOST_IMAGES = 3;
const isImage = (file: File) => /^image\/(png|jpeg|webp|gif|bmp|avif)$/.test(file.type);
const FOLDER = "attachments";
/** The largest file that the daemon reads back whole. */
const MOST_BYTES = 1_000_000;
/** Names that are tried before a file counts as not to be stored. */
const TRIES = 20;

/** Reads a file of the person: a text for tools of files, or an image for the model. */
export async function read(file: File): Promise<Attachment> {
  if (isImage(file)) {
    const { part, bytes } = await (await import("./images")).shrink(file);
    return { id: crypto.randomUUID(), name: clean(file.name), text: "", bytes, image: part };
  }
  if (file.size > MOST_BYTES) throw new Error(t("attach.large", { name: file.name }));
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.arrayBuffer());
    if (text.includes("\0")) throw new Error("binary");
    return { id: crypto.randomUUID(), name: clean(file.name), text, bytes: file.size };
  } catch {
    throw new Error(t("attach.noText", { name: file.name }));
  }
}

/** A name without parts of a path. */
function clean(name: string): string {
  return name.replace(/[\\/\u0000-\u001f]/g, "_").replace(/^\.+/, "") || "file.txt";
}

/** Stores files, and returns their paths in the workspace. */
export async function store(files: Attachment[]): Promise<string[]> {
  const paths: string[] = [];
  for (const file of files) paths.push(await storeOne(file));
  return paths;
}

async function storeOne(file: Attachment): Promise<string> {
  const dot = file.name.lastIndexOf(".");
  const [stem, end] = dot > 0 ? [file.name.slice(0, dot), file.name.slice(dot)] : [file.name, ""];
  for (let number = 1; number <= TRIES; number++) {
    const path = `${FOLDER}/${number === 1 ? file.name : `${stem}-${number}${end}`}`;
    try {
      const response = await send("PUT", `/files${query({ path })}`, { raw: file.text, headers: { "if-none-match": "*" } });
      if (response.status === 202) throw new Error(t("attach.waits", { name: file.name }));
      return path;
    } catch (error) {
      if (!(error instanceof ApiError && [409, 412].includes(error.status)) || number === TRIES) throw error;
    }
  }
  throw new Error(file.name);
}
