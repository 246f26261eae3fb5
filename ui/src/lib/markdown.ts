// Markdown with formulas: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` as a block.
import { Marked, type TokenizerAndRendererExtension, type Tokens } from "marked";

export interface MathToken extends Tokens.Generic {
  type: "math";
  text: string;
  block: boolean;
}

function token(match: RegExpExecArray | null, block: boolean): MathToken | undefined {
  return match ? { type: "math", raw: match[0], text: (match[1] ?? match[2] ?? "").trim(), block } : undefined;
}

// A dollar that a space follows, or behind whose end a digit stands, is money.
const INLINE = /^\$(?!\s|\$)((?:\\.|[^$\\\n])+?)(?<!\s)\$(?!\d)|^\\\(([\s\S]+?)\\\)/;
const BLOCK = /^\$\$\s*\n?([\s\S]+?)\n?\s*\$\$(?:\n|$)|^\\\[([\s\S]+?)\\\](?:\n|$)/;

const inline: TokenizerAndRendererExtension = {
  name: "math",
  level: "inline",
  start: (text) => text.search(/\$|\\\(/),
  tokenizer: (text) => token(INLINE.exec(text), false),
};
const block: TokenizerAndRendererExtension = {
  name: "mathBlock",
  level: "block",
  start: (text) => text.search(/\$\$|\\\[/),
  tokenizer: (text) => token(BLOCK.exec(text), true),
};

const marked = new Marked({ extensions: [inline, block] });

export const lexer = (text: string) => marked.lexer(text);
