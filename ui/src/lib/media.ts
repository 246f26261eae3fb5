// Parts of a result that are no text: images, sounds, stored files. Only formats that hold pixels are
// drawn; everything else, SVG and HTML among it, is shown as its text or saved.

export type Media =
  | { kind: "image"; type: string; data: string }
  | { kind: "file"; type: string; data: string; name: string }
  | { kind: "source"; type: string; text: string }
  | { kind: "artifact"; artifact: string };

/** Formats without scripts, links and text of their own. */
const PIXELS = /^image\/(png|jpeg|gif|webp|avif|bmp)$/;
/** Bytes that images of these formats begin with, in base64: what a tool calls an image may be none. */
const BEGINNINGS: Record<string, string[]> = {
  "image/png": ["iVBORw0KGgo"], "image/jpeg": ["/9j/"], "image/gif": ["R0lGOD"], "image/webp": ["UklGR"], "image/bmp": ["Qk"], "image/avif": ["AAAA"],
};

interface Block { type?: string; media_type?: string; data?: string; text?: string; html?: string; uri?: string }

export const isPixels = (type: string) => PIXELS.test(type);

export function mediaOf(blocks: unknown[]): Media[] {
  return blocks.flatMap((one): Media[] => {
    const block = (one ?? {}) as Block & string;
    const type = (block.media_type ?? "").toLowerCase();
    switch (block.type) {
      case "image":
      case "audio": {
        const data = block.data ?? "";
        if (PIXELS.test(type) && BEGINNINGS[type]!.some((first) => data.startsWith(first))) return [{ kind: "image", type, data }];
        if (/^(image\/svg|text\/)/.test(type)) return [{ kind: "source", type, text: decoded(data) }];
        return [{ kind: "file", type, data, name: `result.${type.split("/")[1]?.replace(/[^a-z0-9].*/, "") || "bin"}` }];
      }
      case "html":
        return [{ kind: "source", type: "text/html", text: block.html ?? "" }];
      default:
        return [];
    }
  });
}

export const hasMedia = (blocks: unknown[] | undefined) => !!blocks?.some((one) => ["image", "audio", "html"].includes((one as Block | null)?.type ?? ""));

/** Stored results that the daemon names in a text of its own. */
export function storedIn(text: string): string[] {
  return [...new Set([...text.matchAll(/\bstored as (art_[0-9a-z]+)/g)].map((found) => found[1]!))];
}

function decoded(data: string): string {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(data), (one) => one.charCodeAt(0)));
  } catch {
    return data;
  }
}
