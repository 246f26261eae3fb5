// Images that the person adds to a message. They are drawn anew, smaller: models scale them down
// anyway, a request has a limit, and what a camera wrote into the file about the place stays here.
import { t } from "./i18n.svelte";

export interface ImagePart {
  media_type: string;
  /** base64 */
  data: string;
}

/** Pixels of the longer edge, tried from the first on; the first is what the models look at most. */
const EDGES = [1568, 1120, 800, 560];
const QUALITIES = [0.85, 0.6];
/** Bytes of an image: three of them fit into a request. */
const MOST_BYTES = 220_000;

/** The image as it is sent. */
export async function shrink(file: File): Promise<{ part: ImagePart; bytes: number }> {
  let bitmap: ImageBitmap;
  try {
    bitmap = await createImageBitmap(file);
  } catch {
    throw new Error(t("attach.noImage", { name: file.name }));
  }
  try {
    for (const edge of EDGES) {
      const canvas = draw(bitmap, edge);
      // A picture of a screen is sharper, and often smaller, as PNG.
      const kinds: [string, number | undefined][] = [["image/png", undefined], ...QUALITIES.map((quality): [string, number] => ["image/jpeg", quality])];
      for (const [kind, quality] of kinds) {
        const blob = await canvas.convertToBlob({ type: kind, ...(quality ? { quality } : {}) });
        if (blob.size <= MOST_BYTES && blob.type === kind) return { part: { media_type: kind, data: await base64(blob) }, bytes: blob.size };
      }
    }
  } finally {
    bitmap.close();
  }
  throw new Error(t("attach.noImage", { name: file.name }));
}

function draw(bitmap: ImageBitmap, edge: number): OffscreenCanvas {
  const scale = Math.min(1, edge / Math.max(bitmap.width, bitmap.height));
  const canvas = new OffscreenCanvas(Math.max(1, Math.round(bitmap.width * scale)), Math.max(1, Math.round(bitmap.height * scale)));
  const context = canvas.getContext("2d");
  if (!context) throw new Error("2d");
  // JPEG has no transparency.
  context.fillStyle = "#fff";
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height);
  return canvas;
}

async function base64(blob: Blob): Promise<string> {
  const bytes = new Uint8Array(await blob.arrayBuffer());
  let text = "";
  for (let at = 0; at < bytes.length; at += 0x8000) text += String.fromCharCode(...bytes.subarray(at, at + 0x8000));
  return btoa(text);
}
