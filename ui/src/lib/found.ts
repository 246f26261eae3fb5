// Where the words of a search are in a run that is shown.

/** The first element of text under `root` that has one of the words, with the words marked in it. */
export function mark(root: Element, find: string): Element | null {
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const ranges: Range[] = [];
  while (walker.nextNode()) {
    const node = walker.currentNode;
    const text = (node.textContent ?? "").toLowerCase();
    for (const word of words) {
      const at = text.indexOf(word);
      // The lower case of some letters is longer: such a place may lie behind the end.
      if (at < 0 || at + word.length > (node.textContent?.length ?? 0)) continue;
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + word.length);
      ranges.push(range);
    }
  }
  if ("highlights" in CSS) {
    if (ranges.length) CSS.highlights.set("found", new Highlight(...ranges));
    else CSS.highlights.delete("found");
  }
  return ranges[0]?.startContainer.parentElement ?? null;
}
