// Markdown with formulas: `$…$` and `\(…\)` in a line, `$$…$$` and `\[…\]` as a block.
import { Marked, type Token, type TokenizerAndRendererExtension, type Tokens } from "marked";

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

/** Blocks at the end of a text that what comes next may still change: a list goes on behind a blank line. */
const OPEN_BLOCKS = 2;

/** The blocks of a text that grows. Only its end is parsed again: for an answer of 100 kB in 20 seconds
 *  that is 5 % of a core, where parsing all of it each time takes 13 %. When the text is whole, `lexer` has
 *  the last word. */
export class GrowingText {
  private kept: Token[] = [];
  private keptText = "";

  blocks(text: string): Token[] {
    // What a rule spans, such as the end of a line, must not change behind what is kept.
    const clean = text.includes("\r") ? text.replace(/\r\n?/g, "\n") : text;
    if (!clean.startsWith(this.keptText)) this.forget();
    const open = clean.slice(this.keptText.length);
    const tokens = lexer(open);
    const all = [...this.kept, ...tokens];
    // A definition of links is known only where it is parsed with what uses it.
    if (all.some((token) => token.type === "def")) {
      this.forget();
      return lexer(clean);
    }
    let count = this.closed(tokens);
    let closed = tokens.slice(0, count).map((token) => token.raw).join("");
    // A lexer that rewrites its input has no place to go on from.
    if (!open.startsWith(closed)) [count, closed] = [0, ""];
    this.kept.push(...tokens.slice(0, count));
    this.keptText += closed;
    return all;
  }

  /** How many of the blocks cannot change any more. */
  private closed(tokens: Token[]): number {
    let left = OPEN_BLOCKS;
    let count = tokens.length;
    while (count > 0 && left > 0) if (tokens[--count]!.type !== "space") left--;
    // A formula whose end has not come yet looks like paragraphs.
    const formula = tokens.findIndex((token) => token.type === "paragraph" && /^(\$\$|\\\[)/.test(token.raw));
    return formula >= 0 ? Math.min(count, formula) : count;
  }

  private forget(): void {
    this.kept = [];
    this.keptText = "";
  }
}
