//! A part of the tour: the same question answered with a call for each file, and with one script.
//! Both are run, and what would go through the model is counted.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::{AT_HOME, Tour, indented};

/// Files of the question, one for each day: as many calls as one script may make.
const DAYS: usize = 50;

/// Lines of each: sales of one day.
const LINES: usize = 60;

/// Characters of a token, by the estimate that is used wherever no tokenizer runs.
const CHARS_PER_TOKEN: usize = 4;

/// What was sold on a day, in units: any numbers, the same each time.
fn sold(day: usize, line: usize) -> usize {
    (day * 37 + line * 11) % 90 + 10
}

impl Tour {
    /// The question with and without a script, as part `number`.
    pub(super) fn chained(&self, number: usize) -> Result<()> {
        println!("\n── {number}. one script for {DAYS} calls {}\n", "─".repeat(69));
        println!(
            "How much was sold in {DAYS} days? A model can ask for each file, and reads them all, at worst in {DAYS} rounds; or it writes a script, and reads one\nresult in one round.\n"
        );
        let folder = self.folder.workspace().join("sales");
        fs::create_dir_all(&folder)?;
        for day in 1..=DAYS {
            let rows: String =
                (0..LINES).map(|line| format!("item-{line:03},{}\n", sold(day, line))).collect();
            fs::write(folder.join(format!("{day}.csv")), format!("item,units\n{rows}"))?;
        }
        let reads =
            (1..=DAYS).map(|day| ("read_file", json!({"path": format!("sales/{day}.csv")})));
        let single = self.tokens(reads.collect())?;
        let code = format!(
            "import asyncio\nfiles = await asyncio.gather(*[read_file(path=f'sales/{{d}}.csv') for d in range(1, {})])\ntotal = 0\nfor f in files:\n    for line in materialize(f).splitlines():\n        if line.startswith('item-') or ',' in line:\n            units = line.split(',')[-1]\n            total += int(units) if units.isdigit() else 0\ntotal",
            DAYS + 1
        );
        println!("the model writes\n{}", indented(&code));
        let (tokens, words) = self.tokens(vec![("tool_chain", json!({"code": code}))])?;
        let total: usize =
            (1..=DAYS).flat_map(|day| (0..LINES).map(move |line| sold(day, line))).sum();
        ensure!(words.contains(&total.to_string()), "the script found another sum: {words}");
        println!("it is told\n{}", indented(&words));
        println!(
            "tokens of calls and results, which every later request carries too (estimated):\n"
        );
        println!("    {DAYS} calls    {:>7}    in up to {DAYS} rounds", single.0);
        println!(
            "    one script  {tokens:>7}    in one round ({} times less)\n",
            single.0 / tokens.max(1)
        );
        println!("checked: the sum, against the numbers that were written");
        ensure!(tokens < single.0, "the script cost more");
        Ok(())
    }

    /// Runs calls as one answer of a model: the tokens of the calls and of what comes back, and
    /// what the last one says.
    fn tokens(&self, calls: Vec<(&str, Value)>) -> Result<(usize, String)> {
        let calls: Vec<Value> = calls
            .into_iter()
            .enumerate()
            .map(|(at, (name, args))| {
                let function = json!({"name": name, "arguments": args.to_string()});
                json!({"id": format!("c{at}"), "type": "function", "function": function})
            })
            .collect();
        let message = json!({"role": "assistant", "content": null, "tool_calls": calls});
        let body =
            json!({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]});
        let args = ["exec", "--format", "openai-chat"];
        let output = self.toolcrib(&[&args[..], &AT_HOME].concat(), &body.to_string())?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let messages: Value = serde_json::from_slice(&output.stdout)?;
        let text = messages.to_string();
        let results = messages.as_array().context("no messages")?;
        let last = results.last().and_then(|last| last["content"].as_str()).unwrap_or_default();
        let last: Value = serde_json::from_str(last).unwrap_or(Value::String(last.to_owned()));
        let words = last["result"].as_str().map_or_else(|| last.to_string(), str::to_owned);
        Ok((text.len() / CHARS_PER_TOKEN, words))
    }
}
