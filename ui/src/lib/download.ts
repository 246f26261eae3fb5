// Gives the person a file.
export function downloadBlob(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  URL.revokeObjectURL(link.href);
}

export function download(name: string, type: string, ...parts: BlobPart[]): void {
  downloadBlob(name, new Blob(parts, { type }));
}
