"""A call, and a run that stops twice for a person: here a program decides in their place."""

from toolcrib import Toolcrib, ToolcribError


def main() -> None:
    client = Toolcrib()
    print(len(client.tools()), "tools")

    clock = client.call("get_current_time", {})
    print(clock["status"], clock.get("result"))

    missing = client.call("read_file", {"path": "nowhere.md"})
    print(missing["status"], missing.get("message"))

    try:
        client.show("run_00000000000000000000000000000000")
    except ToolcribError as error:
        print(error.problem["code"])

    run = client.run("Keep my shopping list")
    while run["state"] == "paused":
        # Only what this very run waits for: the inbox holds the questions of every run.
        for asked in client.inbox():
            if asked.get("run") != run["run"]:
                continue
            question = asked.get("question")
            if question:
                print("asked:", question["question"])
                client.decide(asked, "answer", text="Saturday")
            else:
                print("decide:", asked["tool"], asked["args"])
                client.decide(asked, "approve")
        for name, event in client.events(run["run"]):
            if name == "tool":
                print(" ", event["tool"], event["state"])
            if name == "run-paused" or (name == "snapshot" and event["state"] == "paused"):
                break
        run = client.show(run["run"])
    print(run["status"], run["text"])


if __name__ == "__main__":
    main()
