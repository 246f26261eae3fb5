// Three colours for code: words of the language, texts, numbers; comments are grey. One scan over
// the text, for every language alike: it helps to read, and never decides anything.
export interface Piece {
  text: string;
  kind: "" | "key" | "str" | "num" | "com";
}

const WORDS = new Set(
  ("as async await break case catch class const continue def do done elif else end enum export extends fi final finally fn for from func function if impl import in interface is lambda let loop match mod module mut new nil none None not null of or and package pass private pub public raise return select self static struct super switch then this throw trait true True false False try type typeof undefined union use var void where while with yield INSERT SELECT FROM WHERE UPDATE DELETE CREATE TABLE JOIN").split(" "),
);
const TOKEN =
  /(\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|(?:^|(?<=\s))#[^\n]*)|("(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?|`(?:[^`\\]|\\.)*`?)|(\b\d[\d_.]*(?:[eE][+-]?\d+)?\b)|([A-Za-z_]\w*)/g;
/** What is behind it stays plain, so that no answer can keep the page busy. Not all of a longer text: its
 *  thousands of coloured pieces would have to leave at once when it grows beyond this. */
const LONGEST = 50_000;

export function highlight(text: string, longest = LONGEST): Piece[] {
  const pieces: Piece[] = [];
  let plain = 0;
  for (const match of text.slice(0, Math.max(0, longest)).matchAll(TOKEN)) {
    const kind = match[1] ? "com" : match[2] ? "str" : match[3] ? "num" : WORDS.has(match[0]) ? "key" : "";
    if (!kind) continue;
    if (match.index > plain) pieces.push({ text: text.slice(plain, match.index), kind: "" });
    pieces.push({ text: match[0], kind });
    plain = match.index + match[0].length;
  }
  if (plain < text.length) pieces.push({ text: text.slice(plain), kind: "" });
  return pieces;
}

/** Characters from which a part ends at the next line. */
const PART = 4_000;
/** A code that grows, in parts of whole lines. Parts that are complete stay the same: neither their colours
 *  nor their layout are computed again. As one part, 100 kB that stream in a minute took 11 % of a core. */
export class GrowingCode {
  private kept: Piece[][] = [];
  private keptText = "";

  parts(text: string): Piece[][] {
    if (!text.startsWith(this.keptText)) [this.kept, this.keptText] = [[], ""];
    const open = text.slice(this.keptText.length);
    let part: Piece[] = [];
    // Where the part and the piece begin.
    let [from, at] = [0, 0];
    for (const { text: words, kind } of highlight(open, LONGEST - this.keptText.length)) {
      const end = at + words.length;
      // Only plain text is sure to stay what it is: a comment or a text may go on over several lines.
      while (!kind && end - from >= PART) {
        const cut = endOfLine(open, Math.max(at, from + PART), end);
        if (cut < 0) break;
        if (cut > at) part.push({ text: open.slice(at, cut), kind });
        this.kept.push(part);
        part = [];
        from = at = cut + 1;
      }
      if (end > at) part.push({ text: open.slice(at, end), kind });
      at = end;
    }
    this.keptText += open.slice(0, from);
    return part.length || !this.kept.length ? [...this.kept, part] : [...this.kept];
  }
}

/** The first end of a line that is not empty: what stands before it, as a block, has no empty line at its
 *  end that would not be seen. */
function endOfLine(text: string, from: number, to: number): number {
  let found = text.indexOf("\n", from);
  while (found > 0 && text[found - 1] === "\n") found = text.indexOf("\n", found + 1);
  return found < to ? found : -1;
}
