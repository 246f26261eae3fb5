// Globs of grants, for previews: `*` is any text, every other character is itself.
export function globMatches(glob: string, text: string): boolean {
  const parts = glob.split("*").map((part) => part.replace(/[.?+^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(`^${parts.join("[^]*")}$`).test(text);
}
