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

export function highlight(text: string): Piece[] {
  const pieces: Piece[] = [];
  let plain = 0;
  for (const match of text.slice(0, LONGEST).matchAll(TOKEN)) {
    const kind = match[1] ? "com" : match[2] ? "str" : match[3] ? "num" : WORDS.has(match[0]) ? "key" : "";
    if (!kind) continue;
    if (match.index > plain) pieces.push({ text: text.slice(plain, match.index), kind: "" });
    pieces.push({ text: match[0], kind });
    plain = match.index + match[0].length;
  }
  if (plain < text.length) pieces.push({ text: text.slice(plain), kind: "" });
  return pieces;
}
