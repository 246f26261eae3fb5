//! What the help pages of single commands say after their options: examples and exit codes.

pub(super) const EXEC_HELP: &str = "\
Example:
  toolcrib exec --format anthropic --root ./workspace < response.json > follow-up.json

Exit codes: 0 every call has its result in the messages (failed calls too), 1 the answer was cut off and no call of it was run, 2 the answer \
cannot be read, 3 the set-up is wrong, 6 with --on-ask fail some call waits for a person: `toolcrib approve list`.";

pub(super) const ARGS_HELP: &str = "\
Example:
  echo '{\"limit\": \"5\",}' | toolcrib args --schema schema.json

Exit codes: 0 usable, as sent or repaired; 1 not usable; 2 the schema cannot be read.";

pub(super) const RUN_HELP: &str = "\
Examples:
  toolcrib run \"What changed in notes.md this week?\"
  toolcrib run --provider ollama --model qwen3 --tools ./my-tools \"What is the weather in Graz?\"
  toolcrib run --json --model scripted:tour.yaml \"hello\" | jq .type

The answer goes to standard output, what happens on the way to standard error; with --json every event is a line of JSON on standard \
output (docs/events.md).

Exit codes: 0 answered, 1 no model answered or it refused, 2 usage, 3 set-up wrong (no provider, wrong key, unknown model), 5 answered, but \
calls were denied because there was no approver, 6 waits for a person or was not decided in time, 7 budget exceeded, 130 stopped.";

pub(super) const CHAT_HELP: &str = "\
Examples:
  toolcrib chat
  toolcrib chat --provider ollama --model qwen3 --workspace ./notes
  toolcrib chat --continue
  printf 'list the files\\nwhich is the newest?\\n' | toolcrib chat --model scripted:tour.yaml

Commands of the chat: /help shows them. A line that ends in a backslash goes on in the next one. What is typed while the model works is \
given to it at the next boundary. Ctrl-C stops the turn, once more leaves; Ctrl-D leaves.

With input that is no terminal every line is a message and the output is plain; with --json every event is a line of JSON.

Exit codes: those of `toolcrib run` for the last turn; 0 when the person left, 130 when Ctrl-C did.";

pub(super) const RESUME_HELP: &str = "\
Examples:
  toolcrib resume --list
  toolcrib resume run_0123… --answer \"the second one\"
  toolcrib resume run_0123… --approve

Without a decision it asks at the terminal. Exit codes are those of `toolcrib run`; 4 = there is no such run.";

pub(super) const CALL_HELP: &str = "\
Examples:
  toolcrib tool call read_file path=notes.md
  toolcrib tool call search_files query=milk paths:='[\"notes\"]'
  toolcrib tool call read_file --args '{\"path\": \"notes.md\"}'
  toolcrib tool call write_file --args - < arguments.json

The exit code is that of the outcome; `toolcrib util errors` lists them.";

pub(super) const AGENT_TOOLS_HELP: &str = "\
Examples:
  toolcrib agent tools reviewer
  toolcrib agent tools reviewer --set read_file,find_files,group:files
  toolcrib agent tools reviewer --add fetch_url --remove delete_file

The rest of the file stays as it is. The built-in agent has every tool and cannot be changed; begin with `toolcrib agent new NAME --from \
general-assistant`.";
