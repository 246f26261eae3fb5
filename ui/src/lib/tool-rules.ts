// Which rules name a tool: by its name or an alias, by a glob, by the name that other programs give to a
// class of tools, or by the command that does the same, as docs/rules.md explains.

const READS = ["read_file", "file_info", "list_dir", "find_files", "code_search", "pdf_read", "lsp_manager", "read", "document"];
const EDITS = ["edit_file", "diff_editor", "write_file", "make_dir", "delete_file", "move_path", "copy_path"];
const CLASSES: Record<string, string[]> = {
  Bash: ["execute_shell_command", "git_manager", "test_runner", "delete_file", "make_dir", "copy_path", "move_path"], Read: READS, Edit: EDITS, Write: EDITS, MultiEdit: EDITS,
  Glob: ["find_files"], Grep: ["code_search"], LS: ["list_dir"], file_manager: ["read_file", "list_dir", "write_file", "delete_file"],
  WebFetch: ["fetch_url", "http_request", "news", "read"], WebSearch: ["web_search", "hosted_web_search", "docs_search"],
};

/** Whether a rule names the tool; which of its calls match is for the daemon to say. */
export function namesTool(rule: string, tool: string, aliases: string[] = []): boolean {
  const name = rule.split("(")[0]!.trim();
  const own = [tool, ...aliases];
  if (own.includes(name) || own.some((one) => name.startsWith(`${one}.`)) || CLASSES[name]?.includes(tool)) return true;
  if (!name.includes("*")) return false;
  const pattern = new RegExp(`^${name.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join(".*")}$`);
  return own.some((one) => pattern.test(one));
}
