//! The parts of the commands' help pages after the options: examples and exit codes.

pub(super) const EXEC_HELP: &str = "\
Example:
  toolcrib exec --format anthropic --root ./workspace < response.json > follow-up.json

Exit codes: 0 the messages contain a result for every call (failed calls too), 1 the response was truncated and none of its calls ran, \
2 the response cannot be parsed, 3 the configuration is invalid, 6 with --on-ask fail: a call waits for a person (`toolcrib approve list`).";

pub(super) const ARGS_HELP: &str = "\
Example:
  echo '{\"limit\": \"5\",}' | toolcrib args --schema schema.json

Exit codes: 0 the arguments are valid, as sent or after a repair; 1 they are invalid; 2 the schema cannot be read.";

pub(super) const RUN_HELP: &str = "\
Examples:
  toolcrib run \"What changed in notes.md this week?\"
  toolcrib run --provider ollama --model qwen3 --tools ./my-tools \"What is the weather in Graz?\"
  toolcrib run --json --model scripted:tour.yaml \"hello\" | jq .type

The answer goes to standard output, progress to standard error; with --json, every event is a line of JSON on standard \
output (docs/events.md).

Exit codes: 0 answered, 1 no model answered or the model refused, 2 usage, 3 configuration invalid (no provider, wrong key, unknown model), \
5 answered, but calls were denied because there was no approver, 6 the run waits for a person or a decision came too late, 7 budget exceeded, \
130 interrupted.";

pub(super) const CHAT_HELP: &str = "\
Examples:
  toolcrib chat
  toolcrib chat --provider ollama --model qwen3 --workspace ./notes
  toolcrib chat --continue
  printf 'list the files\\nwhich is the newest?\\n' | toolcrib chat --model scripted:tour.yaml

/help lists the commands of the chat. A backslash at the end of a line continues the message on the next line. The model gets messages that \
are typed while it works after its current step. Ctrl-C stops the turn, a second Ctrl-C or Ctrl-D ends the chat.

If standard input is not a terminal, every line is a message and the output is plain; with --json, every event is a line of JSON.

Exit codes: those of `toolcrib run` for the last turn; 0 if you ended the chat, 130 after Ctrl-C.";

pub(super) const RESUME_HELP: &str = "\
Examples:
  toolcrib resume --list
  toolcrib resume run_0123… --answer \"the second one\"
  toolcrib resume run_0123… --approve

Without a decision, the command asks at the terminal. Exit codes: those of `toolcrib run`; 4 the run does not exist.";

pub(super) const CALL_HELP: &str = "\
Examples:
  toolcrib tool call read_file path=notes.md
  toolcrib tool call search_files query=milk paths:='[\"notes\"]'
  toolcrib tool call read_file '{\"path\": \"notes.md\"}'
  toolcrib tool call write_file --args - < arguments.json

The exit code depends on the outcome; `toolcrib util errors` lists all.";

pub(super) const AGENT_TOOLS_HELP: &str = "\
Examples:
  toolcrib agent tools reviewer
  toolcrib agent tools reviewer --set read_file,find_files,group:files
  toolcrib agent tools reviewer --add fetch_url --remove delete_file

Only the list of tools in the file changes. The built-in agent has every tool and cannot be changed; copy it with `toolcrib agent new NAME \
--from general-assistant`.";
