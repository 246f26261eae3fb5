// An answer that streams is parsed from where it can still change: at each piece that must give the blocks
// that parsing all of it gives.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

import ts from "typescript";

/** The module of the page, without the browser that it is built for. */
async function markdown() {
  const source = fs.readFileSync(new URL("../src/lib/markdown.ts", import.meta.url), "utf8");
  const { outputText } = ts.transpileModule(source, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 } });
  const code = outputText.replace('from "marked"', `from ${JSON.stringify(import.meta.resolve("marked"))}`);
  return import(`data:text/javascript,${encodeURIComponent(code)}`);
}

const SAMPLES = {
  "paragraphs, headings and a table": "# One\n\nSome *text* that\ngoes on.\n\nTitle\n=====\n\n| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n\nAfter it.\n\n---\n\nThe end.",
  "a list that goes on behind blank lines": "Before.\n\n1. one\n\n2. two\n\n   more of two\n\n   - inner\n\n   - inner too\n\n3. three\n\nBehind.\n\n- [ ] task\n\n- [x] done\n\nEnd.",
  "code with blank lines": "Look:\n\n```js\nconst a = 1;\n\n# no heading\n\n- no list\n```\n\nAnd\n\n    indented\n\n    code\n\nend.",
  "quotes, HTML and line ends of another system": "> quoted\n> on\nlazily\n\ntext\r\n\r\n<div>\nnot\n\nHTML</div>\r\n\r\n<!-- a\n\ncomment -->\n\nlast",
  "formulas that span blocks": "Sum:\n\n$$\n\\sum x\n\n+ 1\n$$\n\nthen $a+b$ and\n\n\\[\nx\n\n= y\n\\]\n\nA.\n\nB.\n\nC.",
  "links that are defined": "See [it] now.\n\nA.\n\nB.\n\n[it]: https://example.com/it\n\nAgain [it].\n\nC.\n\nD [it].",
};

for (const [name, text] of Object.entries(SAMPLES)) {
  test(`a text that grows has the blocks of the whole: ${name}`, async () => {
    const { GrowingText, lexer } = await markdown();
    for (const step of [1, 2, 7]) {
      const growing = new GrowingText();
      for (let end = step; end < text.length + step; end += step) {
        const part = text.slice(0, end);
        const shape = (tokens) => tokens.filter((one) => one.type !== "space").map((one) => [one.type, one.raw.trimEnd(), one.tokens?.length]);
        assert.deepEqual(shape(growing.blocks(part)), shape(lexer(part)), `${step}: ${JSON.stringify(part)}`);
      }
    }
  });
}

test("a text that is another one is parsed anew", async () => {
  const { GrowingText } = await markdown();
  const growing = new GrowingText();
  growing.blocks("# One\n\nA.\n\nB.\n\nC.\n\nD.");
  assert.deepEqual(growing.blocks("Two.").map((one) => one.raw), ["Two."]);
});
