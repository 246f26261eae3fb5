/** A call, and a run that stops twice for a person: here a program decides in their place. */

import { Toolcrib, ToolcribError } from "./toolcrib.js";

const client = new Toolcrib();
console.log((await client.tools()).length, "tools");

const clock = await client.call("get_current_time", {});
console.log(clock.status, clock.result);

const missing = await client.call("read_file", { path: "nowhere.md" });
console.log(missing.status, missing.message);

try {
  await client.show("run_00000000000000000000000000000000");
} catch (error) {
  if (!(error instanceof ToolcribError)) throw error;
  console.log(error.problem.code);
}

let run = await client.run("Keep my shopping list");
while (run.state === "paused") {
  // Only what this very run waits for: the inbox holds the questions of every run.
  for (const asked of await client.inbox()) {
    if (asked.run !== run.run) continue;
    if (asked.question) {
      console.log("asked:", asked.question);
      await client.decide(asked, "answer", { text: "Saturday" });
    } else {
      console.log("decide:", asked.tool, asked.args);
      await client.decide(asked, "approve");
    }
  }
  for await (const [name, event] of client.events(run.run)) {
    if (name === "tool") console.log(" ", event["tool"], event["state"]);
    if (name === "run-paused" || (name === "snapshot" && event["state"] === "paused")) break;
  }
  run = await client.show(run.run);
}
console.log(run.status, run.text);
