// Files that are shown as an image: checked by their first bytes, not by their names. The page
// draws them from an address of its own (`blob:`), never from one of a file, and SVG only in `<img>`,
// where browsers run no script of it and load nothing that it names.

/** Bytes of an image that is shown. */
export const MOST_IMAGE_BYTES = 8 * 1024 * 1024;

const ascii = (bytes: Uint8Array, from: number, to: number) => String.fromCharCode(...bytes.subarray(from, to));

/** The type of an image by its first bytes; empty = none that is shown. */
export function imageType(bytes: Uint8Array): string {
  if (ascii(bytes, 0, 8) === "\x89PNG\r\n\x1a\n") return "image/png";
  if (bytes[0] === 0xff && bytes[1] === 0xd8 && bytes[2] === 0xff) return "image/jpeg";
  if (/^GIF8[79]a$/.test(ascii(bytes, 0, 6))) return "image/gif";
  if (ascii(bytes, 0, 4) === "RIFF" && ascii(bytes, 8, 12) === "WEBP") return "image/webp";
  if (ascii(bytes, 4, 12) === "ftypavif") return "image/avif";
  if (ascii(bytes, 0, 2) === "BM") return "image/bmp";
  return "";
}

/** What may stand before the root of an SVG: a declaration, comments, a document type. */
const BEFORE_ROOT: [string, string][] = [["<?", "?>"], ["<!--", "-->"], ["<!", ">"]];

/** Whether a text is an SVG. It is looked through from part to part, so that no text makes it slow. */
export function isSvg(text: string): boolean {
  let at = text.charCodeAt(0) === 0xfeff ? 1 : 0;
  for (;;) {
    while (/\s/.test(text.charAt(at))) at++;
    const part = BEFORE_ROOT.find(([begin]) => text.startsWith(begin, at));
    if (!part) return /^<svg[\s>/]/.test(text.slice(at, at + 5));
    const end = text.indexOf(part[1], at + part[0].length);
    if (end < 0) return false;
    at = end + part[1].length;
  }
}

/** The image as an address that holds it; `null` = it is none, or too large. Revoke it when it is no longer shown. */
export function imageAddress(content: ArrayBuffer | string): string | null {
  if (typeof content === "string") return isSvg(content) && content.length <= MOST_IMAGE_BYTES ? URL.createObjectURL(new Blob([content], { type: "image/svg+xml" })) : null;
  const type = content.byteLength <= MOST_IMAGE_BYTES ? imageType(new Uint8Array(content)) : "";
  return type ? URL.createObjectURL(new Blob([content], { type })) : null;
}
