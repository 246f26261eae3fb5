// Code that grows is coloured as the whole, in parts that stay.
import assert from "node:assert/strict";
import fs from "node:fs";
import { test } from "node:test";

import ts from "typescript";

/** The module of the page: node reads no TypeScript here. */
async function load() {
  const source = fs.readFileSync(new URL("../src/lib/highlight.ts", import.meta.url), "utf8");
  const { outputText } = ts.transpileModule(source, { compilerOptions: { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ES2022 } });
  return import(`data:text/javascript,${encodeURIComponent(outputText)}`);
}

const LINES = {
  code: (at) => `const value${at} = await read("file", ${at}); // a comment`,
  "long comments": (at) => (at % 90 === 1 ? "/* begins" : at % 90 === 80 ? "ends */" : `if (x${at}) return "y";`),
  "long texts": (at) => (at % 120 === 3 ? "const t = `begins" : at % 120 === 110 ? "ends`;" : `for (const a of b${at}) {}`),
  "empty lines": (at) => (at % 3 ? "" : `return ${at};`),
};

for (const [name, line] of Object.entries(LINES)) {
  test(`what grows has the colours of the whole: ${name}`, async () => {
    const { GrowingCode, highlight } = await load();
    const text = Array.from({ length: 2_500 }, (_, at) => line(at)).join("\n");
    const growing = new GrowingCode();
    let before = [];
    for (let length = 0; length <= text.length; length += 4_999) {
      const parts = growing.parts(text.slice(0, length));
      before.slice(0, -1).forEach((one, at) => assert.equal(parts[at], one, "a part that is complete stays"));
      before = parts;
      assert.equal(parts.map((pieces) => pieces.map((one) => one.text).join("")).join("\n"), text.slice(0, length));
    }
    const coloured = (pieces) => pieces.filter((one) => one.kind).map((one) => `${one.kind} ${one.text}`);
    assert.deepEqual(growing.parts(text).flatMap(coloured), coloured(highlight(text)));
    assert.ok(growing.parts(text).length > 1, "it is in parts");
    // Another text begins anew.
    assert.deepEqual(growing.parts("if").flat(), [{ text: "if", kind: "key" }]);
  });
}
