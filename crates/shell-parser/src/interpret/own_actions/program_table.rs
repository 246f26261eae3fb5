//! Table of programs with the options and words by which they run, write or delete.
//!
//! In the lists of words, `-x` is a letter that may occur in a cluster of short options, `--word` a
//! long option that may be abbreviated, `word*` a prefix, and `@` the subcommand itself; any other
//! word is compared exactly. Values may be joined, follow a `=`, or be the next word.
//!
//! Sources: the manual pages of the programs in Debian 13 and from their projects.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;
use std::sync::OnceLock;

/// The effect of an option or a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interpret) enum Act {
    /// Runs its value as a command line.
    Command,
    /// Runs its value as code in a language of the program.
    Code,
    /// Runs a file of code, or settings that name programs.
    File,
    /// Runs a program that its value does not show.
    Runs,
    /// Writes to the file that its value names; `/dev/null` and standard output do not count.
    Output,
    /// Writes to the folder that its value names; counts only outside the workspace.
    Folder,
    /// Writes to a file.
    Writes,
    /// Deletes or overwrites data.
    Deletes,
}

/// The rules that a list of options cannot express.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interpret) enum Extra {
    /// None.
    None,
    /// The first operand is a sed script, unless an option contains it.
    Sed,
    /// The first operand is an awk program, unless an option contains it.
    Awk,
    /// `-c NAME=VALUE` sets any setting, and some settings name programs.
    Git,
    /// `NAME=VALUE` sets a variable of the build, and some variables name programs.
    Make,
    /// The first word may be a cluster of options without a dash.
    Tar,
    /// The text of an operand may contain commands of the client, and SQL that opens files.
    Sql,
    /// `-o NAME=VALUE` sets any setting, and some settings name programs.
    Ssh,
    /// `git config` with more than one operand writes, unless an option only reads.
    GitConfig,
    /// Every operand is a file that is written or deleted; counts only outside the workspace.
    Files,
    /// The last operand is such a file.
    LastFile,
    /// Every operand is written, at any location.
    Outputs,
    /// The second operand is written.
    SecondOutput,
    /// Every operand is run.
    Operands,
    /// The program runs commands from its input.
    InputCommands,
}

/// The position of an interpreter's program among its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::interpret) struct Interpreter {
    /// Options, besides those with code, after which no operand is the program.
    pub(in crate::interpret) complete: &'static str,
    /// Options whose value is the next word.
    pub(in crate::interpret) skip: &'static str,
}

/// A row of the table.
#[derive(Debug)]
pub(in crate::interpret) struct ProgramRow {
    names: &'static str,
    /// The subcommands to which it applies; empty for every use of the program.
    verbs: &'static str,
    /// Options before the subcommand whose value is the next word.
    globals: &'static str,
    /// Letters of other short options with a value, which ends a cluster.
    values: &'static str,
    acts: &'static [(Act, &'static str)],
    /// Words that resemble the others and have no effect.
    harmless: &'static str,
    pub(in crate::interpret) extra: Extra,
    pub(in crate::interpret) interpreter: Option<Interpreter>,
}

/// A row with parsed lists.
#[derive(Debug)]
pub(in crate::interpret) struct TableRow {
    /// Position in the table.
    pub(in crate::interpret) number: usize,
    pub(in crate::interpret) row: &'static ProgramRow,
    pub(super) verbs: Vec<&'static str>,
    pub(super) globals: Vec<&'static str>,
    pub(super) values: &'static str,
    pub(super) harmless: Vec<&'static str>,
    pub(super) letters: Vec<(char, Act)>,
    pub(super) long: Vec<(&'static str, Act)>,
    pub(super) words: Vec<(&'static str, Act)>,
    pub(super) beginnings: Vec<(&'static str, Act)>,
    pub(super) verb_acts: Vec<Act>,
}

impl TableRow {
    fn new(number: usize, row: &'static ProgramRow) -> Self {
        let list = |text: &'static str| text.split_ascii_whitespace().collect();
        let mut built = Self {
            number,
            row,
            verbs: list(row.verbs),
            globals: list(row.globals),
            values: row.values,
            harmless: list(row.harmless),
            letters: Vec::new(),
            long: Vec::new(),
            words: Vec::new(),
            beginnings: Vec::new(),
            verb_acts: Vec::new(),
        };
        for (act, text) in row.acts {
            text.split_ascii_whitespace().for_each(|word| built.add(*act, word));
        }
        built
    }

    fn add(&mut self, act: Act, word: &'static str) {
        let mut letters = word.strip_prefix('-').unwrap_or_default().chars();
        match (letters.next(), letters.next()) {
            _ if word == "@" => self.verb_acts.push(act),
            _ if word.ends_with('*') => self.beginnings.push((word.trim_end_matches('*'), act)),
            (Some('-'), Some(_)) => self.long.push((word, act)),
            (Some(letter), None) => self.letters.push((letter, act)),
            _ => self.words.push((word, act)),
        }
    }
}

/// Returns the rows for a program, without a directory. Ignores a version at the end of its name:
/// `python3.12` is `python`.
pub(in crate::interpret) fn rows(name: &str) -> &'static [TableRow] {
    static BY_NAME: OnceLock<HashMap<&str, Vec<TableRow>>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        let mut by_name: HashMap<&str, Vec<TableRow>> = HashMap::new();
        for (number, row) in PROGRAMS.iter().enumerate() {
            for name in row.names.split_ascii_whitespace() {
                by_name.entry(name).or_default().push(TableRow::new(number, row));
            }
        }
        by_name
    });
    let bare = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    by_name.get(name).or_else(|| by_name.get(bare)).map(Vec::as_slice).unwrap_or_default()
}

const NONE: ProgramRow = ProgramRow {
    names: "",
    verbs: "",
    globals: "",
    values: "",
    acts: &[],
    harmless: "",
    extra: Extra::None,
    interpreter: None,
};

/// Creates a row for a program whose options have effects.
const fn program(
    names: &'static str,
    values: &'static str,
    acts: &'static [(Act, &'static str)],
) -> ProgramRow {
    ProgramRow { names, values, acts, ..NONE }
}

/// Creates a row for a program whose subcommands have effects.
const fn verbs(
    names: &'static str,
    globals: &'static str,
    verbs: &'static str,
    values: &'static str,
    acts: &'static [(Act, &'static str)],
) -> ProgramRow {
    ProgramRow { names, globals, verbs, values, acts, ..NONE }
}

/// Creates a row for a program that interprets a file or its input.
const fn interpreter(
    names: &'static str,
    values: &'static str,
    acts: &'static [(Act, &'static str)],
    complete: &'static str,
    skip: &'static str,
) -> ProgramRow {
    ProgramRow { names, values, acts, interpreter: Some(Interpreter { complete, skip }), ..NONE }
}

impl ProgramRow {
    const fn and(self, extra: Extra) -> Self {
        Self { extra, ..self }
    }

    const fn harmless(self, harmless: &'static str) -> Self {
        Self { harmless, ..self }
    }
}

use Act::{Code, Command, Deletes, File, Folder, Output, Runs, Writes};

/// Options of git before its subcommand whose value is the next word.
pub(super) const GIT: &str =
    "-C -c --exec-path --git-dir --work-tree --namespace --super-prefix --config-env --attr-source";
const DOCKER: &str = "-c --context -H --host --config -l --log-level -f --file -p --project-name";
const KUBECTL: &str = "-n --namespace --context --cluster --kubeconfig -s --server --user --token";
const NPM: &str = "--prefix -C --dir --cwd --workspace -w --filter --registry";

#[rustfmt::skip]
const PROGRAMS: &[ProgramRow] = &[
    // Files and searches.
    program("find gfind bfs", "", &[
        (Runs, "-exec -execdir -ok -okdir"), (Deletes, "-delete -rm"),
        (Output, "-fprint -fprint0 -fprintf -fls"),
    ]),
    program("fd fdfind", "dEetoScjC", &[(Runs, "-x -X --exec --exec-batch")]),
    program("rg", "", &[(Command, "--pre --hostname-bin")]),
    program("ag ack", "", &[(Command, "--pager")]),
    program("tree", "", &[(Output, "-o")]),
    program("sort gsort", "kStT", &[(Output, "-o --output"), (Command, "--compress-program")]),
    program("uniq", "", &[]).and(Extra::SecondOutput),
    program("shuf", "ein", &[(Output, "-o --output")]),
    program("iconv", "", &[(Output, "-o --output")]),
    program("split csplit", "", &[(Command, "--filter")]),
    program("sdiff diff3", "", &[(Output, "-o --output"), (Command, "--diff-program")]),
    program("patch", "", &[(Output, "-o --output -r --reject-file"), (Runs, "-e --ed"), (Folder, "-d --directory")]),
    program("xxd", "", &[]).and(Extra::SecondOutput),
    program("tee", "", &[]).and(Extra::Outputs),
    program("dd", "", &[(Output, "of=*")]),
    program("date", "", &[(Writes, "-s --set")]),
    program("time", "", &[(Output, "-o --output")]),
    program("cp gcp", "S", &[(Folder, "-t --target-directory")]).and(Extra::LastFile),
    program("ln", "S", &[(Folder, "-t --target-directory")]).and(Extra::LastFile),
    program("install ginstall", "gmoS", &[(Folder, "-t --target-directory"), (Command, "--strip-program")]).and(Extra::LastFile),
    program("mv gmv", "S", &[(Folder, "-t --target-directory")]).and(Extra::Files),
    program("rm rmdir unlink touch mkdir mkfifo truncate chmod chown chgrp shred", "", &[]).and(Extra::Files),
    program("xmllint", "", &[(Output, "--output -o"), (Runs, "--shell")]),
    program("xsltproc", "", &[(Output, "-o --output")]),
    program("yq", "", &[(Writes, "-i --inplace -s --split-exp")]),
    program("fzf", "", &[(Command, "--preview --bind"), (Runs, "--listen")]),
    program("ctags", "", &[(File, "--options")]),
    // Archivers and packages.
    program("tar gtar bsdtar", "bfgHKLNTVX", &[
        (Command, "-I -F --use-compress-program --to-command --checkpoint-action --info-script --new-volume-script --rmt-command --rsh-command"),
        (Deletes, "--remove-files --recursive-unlink"), (Writes, "-P --absolute-names"),
        (Folder, "-C --directory"),
    ]).and(Extra::Tar).harmless("--checkpoint"),
    program("zip", "", &[(Command, "-TT --unzip-command"), (Deletes, "-m --move -d --delete"), (Output, "-O --output-file")]),
    program("unzip", "xP", &[(Folder, "-d")]),
    program("7z 7za 7zr", "", &[(Deletes, "-sdel")]),
    program("cpio", "", &[(Command, "--rsh-command"), (Output, "-O"), (Folder, "-D --directory")]),
    program("zstd", "", &[(Deletes, "--rm"), (Output, "-o")]),
    program("rpm", "", &[(Code, "-E --eval"), (Command, "--pipe"), (Runs, "-D --define")]),
    program("dpkg", "", &[(Command, "--pre-invoke --post-invoke --status-logger")]),
    program("apt apt-get aptitude", "", &[(Runs, "-o --option"), (File, "-c --config-file")]),
    // Stream editors and editors.
    program("sed gsed", "le", &[(Writes, "-i --in-place"), (File, "-f --file")]).and(Extra::Sed),
    program("awk gawk mawk nawk original-awk", "FveW", &[
        (File, "-f -E -i -l --file --exec --include --load"), (Output, "-o -p -d --pretty-print --profile --dump-variables"),
    ]).and(Extra::Awk),
    program("vim vi nvim view vimdiff gvim rvim ex", "rtTV", &[
        (Code, "-c --cmd +*"), (File, "-S -s -u -U -i"), (Output, "-w -W"),
    ]),
    program("ed red", "", &[]).and(Extra::InputCommands),
    program("emacs emacsclient", "", &[
        (Code, "-e --eval -eval --execute"), (File, "-l --load -load -script --script -x"), (Runs, "-f --funcall -funcall"),
    ]),
    program("nano", "", &[(Command, "-s --speller")]),
    // Pagers and manuals.
    program("less", "bDhjPpTtxyz#", &[
        (Code, "+* --lesskey-content"), (Output, "-o -O --log-file --LOG-FILE"), (File, "-k --lesskey-file --lesskey-src"),
    ]),
    program("more", "", &[(Code, "+!*")]),
    program("man", "RLmMSseErp", &[(Command, "-P --pager -H --html"), (File, "-C --config-file")]),
    program("bat batcat", "", &[(Command, "--pager")]),
    program("delta", "", &[(Command, "--pager")]),
    // Network.
    program("rsync", "fTB@", &[
        (Command, "-e --rsh --rsync-path"), (Runs, "-M --remote-option --server --daemon --config"),
        (Deletes, "--delete --delete-before --delete-during --delete-after --delete-excluded --delete-delay --del --remove-source-files"),
        (Output, "--log-file --write-batch --only-write-batch"),
    ]),
    program("scp sftp", "cilPXJ", &[(Command, "-S -D"), (File, "-F -b")]).and(Extra::Ssh),
    program("ssh", "bcDeiJLlmOpQRSWwB", &[(File, "-F"), (Output, "-E"), (Runs, "-I")]).and(Extra::Ssh),
    program("ssh-keygen", "", &[(Runs, "-D -w")]),
    program("curl", "AbCdeEFHmPQrTtuUwxXyYz", &[
        (Output, "-o --output -D --dump-header -c --cookie-jar --trace --trace-ascii --stderr --libcurl --etag-save --hsts --alt-svc"),
        (Writes, "-O --remote-name --remote-name-all -J --remote-header-name"), (Folder, "--output-dir"),
        (File, "-K --config"), (Runs, "--engine"),
    ]),
    program("wget", "iBtTwQUlARDIX", &[
        (Output, "-O --output-document -o --output-file -a --append-output --save-cookies --warc-file --rejected-log --hsts-file"),
        (Runs, "-e --execute"), (Command, "--use-askpass"), (File, "--config"), (Folder, "-P --directory-prefix"),
    ]),
    program("aria2c", "", &[(Command, "--on-download-complete --on-download-start --on-download-stop --on-download-error --on-bt-download-complete"), (File, "--conf-path"), (Folder, "-d --dir")]),
    program("http https", "", &[(Output, "-o --output"), (Writes, "-d --download")]),
    program("openssl", "", &[(Output, "-out -keyout -writerand -CAserial"), (Runs, "-engine -provider -provider-path"), (File, "-config")]),
    program("gpg gpg2", "ru", &[
        (Output, "-o --output"), (Command, "--exec-path --photo-viewer --agent-program --dirmngr-program --keyboxd-program"),
        (File, "--options"), (Deletes, "--delete-keys --delete-secret-keys --delete-secret-and-public-key"),
    ]),
    program("nc ncat netcat", "gGiIlmpqsTwxXVO", &[(Command, "-e -c --exec --sh-exec"), (File, "--lua-exec"), (Output, "-o --output --hex-dump")]),
    program("socat", "", &[(Command, "EXEC:* SYSTEM:* exec:* system:* SHELL:* shell:*"), (Output, "OPEN:* CREATE:* FILE:* open:* create:* file:*")]),
    program("tcpdump", "BcCDEFGijmMQrsTVyZ", &[(Command, "-z"), (Output, "-w")]),
    program("tshark", "", &[(Output, "-w"), (Runs, "-X")]),
    program("nmap", "", &[(Runs, "--script -sC -A"), (Writes, "-oN* -oX* -oS* -oG* -oA*")]),
    program("rclone", "", &[(Command, "--sftp-ssh --password-command"), (File, "--config")]),
    verbs("rclone", "", "delete deletefile purge rmdir rmdirs sync move moveto cleanup", "", &[(Deletes, "@")]),
    // Version control.
    program("git", "", &[
        (Command, "--upload-pack --receive-pack --extcmd"), (Runs, "--exec --ext-diff ext::*"),
        (Output, "--output"),
    ]).and(Extra::Git),
    program("git", "", &[(Runs, "--exec-path=*")]),
    verbs("git", GIT, "grep", "efmABC", &[(Command, "-O --open-files-in-pager")]),
    verbs("git", GIT, "rebase", "sX", &[(Command, "-x --exec")]),
    verbs("git", GIT, "difftool mergetool filter-branch filter-repo instaweb send-email web--browse daemon shell hook for-each-repo credential citool gui", "", &[(Runs, "@")]),
    verbs("git", GIT, "bisect", "", &[(Runs, "run visualize view replay")]),
    verbs("git", GIT, "submodule", "", &[(Runs, "foreach")]),
    verbs("git", GIT, "clone", "bjo", &[(Command, "-u --upload-pack"), (Runs, "-c --config --template")]),
    verbs("git", GIT, "init", "b", &[(Runs, "--template")]),
    verbs("git", GIT, "archive", "", &[(Output, "-o --output")]),
    verbs("git", GIT, "config", "", &[]).and(Extra::GitConfig),
    verbs("git", GIT, "clean", "", &[(Deletes, "@")]),
    verbs("git", GIT, "reset", "", &[(Deletes, "--hard")]),
    verbs("git", GIT, "checkout switch", "bBcC", &[(Deletes, "-f --force --discard-changes")]),
    verbs("git", GIT, "branch", "u", &[(Deletes, "-D")]),
    verbs("git", GIT, "tag", "mFu", &[(Deletes, "-d --delete")]),
    verbs("git", GIT, "push", "o", &[(Deletes, "-f --force --force-with-lease -d --delete --mirror --prune +*")]),
    verbs("git", GIT, "stash", "", &[(Deletes, "drop clear")]),
    verbs("git", GIT, "reflog", "", &[(Deletes, "expire delete")]),
    verbs("git", GIT, "worktree", "", &[(Deletes, "remove")]),
    program("hg", "", &[(Runs, "--config --debugger"), (File, "--config-file")]),
    program("svn", "", &[(Command, "--diff-cmd --diff3-cmd --editor-cmd"), (Runs, "--config-option"), (File, "--config-dir")]),
    program("jj", "", &[(Runs, "--config --config-toml --tool"), (File, "--config-file")]),
    verbs("gh", "-R --repo", "alias extension codespace", "", &[(Runs, "@")]),
    // Build tools.
    program("make gmake", "IjloW", &[(File, "-f --file --makefile"), (Code, "-E --eval"), (Folder, "-C --directory")]).and(Extra::Make),
    program("cmake", "DGATBSU", &[
        (File, "-P -C"), (Runs, "-E"),
        (Runs, "-DCMAKE_C_COMPILER* -DCMAKE_CXX_COMPILER* -DCMAKE_PROJECT_* -DCMAKE_TOOLCHAIN_FILE* -DCMAKE_MAKE_PROGRAM* -DCMAKE_RULE_LAUNCH*"),
    ]),
    program("ninja samu", "jkltdw", &[(File, "-f"), (Folder, "-C")]),
    program("just", "", &[(File, "-f --justfile"), (Command, "--shell -c --command"), (Runs, "--set")]),
    program("rake", "", &[(Code, "-e -E -p --execute --execute-print --execute-continue"), (File, "-f --rakefile -r --require")]),
    program("ant", "", &[(File, "-f -buildfile -file -lib -propertyfile")]),
    program("mvn mvnw", "", &[(File, "-f --file -s --settings -gs --global-settings -t --toolchains"), (Runs, "exec:* antrun:* org.codehaus.mojo:exec* groovy:* -Dexec.*")]),
    program("gradle gradlew", "", &[(File, "-I --init-script -b --build-file -c --settings-file --include-build"), (Folder, "-p --project-dir")]),
    program("bazel", "", &[(Command, "--run_under --workspace_status_command"), (File, "--bazelrc")]),
    program("cargo", "", &[(Runs, "--config")]),
    verbs("npm pnpm yarn", NPM, "run run-script rum urn exec x dlx start stop restart test t tst explore init create innit edit node", "", &[(Runs, "@")]),
    verbs("npm pnpm yarn", NPM, "config c set", "", &[(Writes, "set delete edit")]),
    program("npm pnpm yarn", "", &[(Command, "--script-shell --shell --viewer --editor"), (Runs, "--node-options")]),
    verbs("bun", "", "run x create exec repl test", "", &[(Runs, "@")]),
    verbs("go", "-C", "run generate tool", "", &[(Runs, "@")]),
    verbs("go", "-C", "env", "", &[(Writes, "-w -u")]),
    program("go", "", &[(Command, "-toolexec --toolexec -exec --exec -vettool --vettool"), (File, "-overlay --overlay")]),
    verbs("cabal stack composer rustup dotnet mix gem", "", "run exec run-script runghc script", "", &[(Runs, "@")]),
    program("gcc g++ cc c++ clang clang++", "", &[(Command, "-wrapper"), (Runs, "-fplugin=* -specs* @*")]),
    program("latex pdflatex xelatex lualatex tex", "", &[(Runs, "-shell-escape --shell-escape -enable-write18 --enable-write18")]),
    program("pandoc", "tfrV", &[(Command, "-F --filter --pdf-engine"), (File, "-L --lua-filter -d --defaults"), (Output, "-o --output"), (Folder, "--extract-media")]),
    // Interpreters.
    interpreter("python pypy ipython", "WXmQ", &[(Code, "-c")], "-m -V --version -h --help", "-W -X -Q --check-hash-based-pycs"),
    interpreter("perl", "FIMmCDVx", &[(Code, "-e -E"), (Writes, "-i"), (Runs, "-d")], "-v --version -h --help", "-I -M -m"),
    interpreter("ruby irb jruby", "ICErFTKx", &[(Code, "-e"), (Writes, "-i")], "-v --version -h --help", "-I -C -r -E -F"),
    interpreter("node nodejs", "rC", &[(Code, "-e -p -pe --eval --print"), (File, "-r --require --import --loader --experimental-loader")], "-v --version -h --help", "-r --require --import --loader --experimental-loader -C --conditions"),
    interpreter("tsx ts-node", "rP", &[(Code, "-e -p --eval --print"), (File, "-r --require")], "-v --version -h --help", "-r --require -P --project"),
    verbs("deno", "", "eval repl", "", &[(Code, "@")]),
    interpreter("php", "czStT", &[(Code, "-r -B -R -E"), (Runs, "-d"), (File, "-c -F")], "-f -m -i -v --version -h --help -S", "-d -c -z -t"),
    interpreter("lua luajit texlua", "", &[(Code, "-e"), (File, "-l")], "-v", "-l"),
    interpreter("Rscript R", "", &[(Code, "-e")], "--version --help", ""),
    interpreter("julia", "", &[(Code, "-e -E --eval --print"), (File, "-L --load")], "--version", "-L --load"),
    interpreter("elixir", "", &[(Code, "-e --eval --rpc-eval"), (File, "-r")], "--version", "-r"),
    interpreter("osascript guile racket clojure clj raku groovy scala", "", &[(Code, "-e -c --eval")], "--version", ""),
    interpreter("tclsh expect", "", &[(Code, "-c")], "", ""),
    interpreter("pwsh powershell", "", &[(Code, "-c -Command -command -EncodedCommand -encodedcommand -ec -enc")], "-File -file -v", "-ExecutionPolicy -ep"),
    program("ghc ghci", "", &[(Code, "-e")]),
    program("erl", "", &[(Code, "-eval -run -s")]),
    program("sbcl", "", &[(Code, "--eval"), (File, "--load --script")]),
    program("gnuplot octave dc", "", &[(Code, "-e --eval --expression"), (File, "-f --file")]),
    interpreter("bash sh dash zsh ksh ash mksh rbash fish csh tcsh yash", "oO", &[(Runs, "-c"), (File, "--rcfile --init-file")], "--version --help", "-o -O +o +O --rcfile --init-file --emulate"),
    program("fish nu", "", &[(Runs, "--command --init-command -C --commands")]),
    // Databases and debuggers.
    program("sqlite3", "", &[(Code, "-cmd"), (File, "-init")]).and(Extra::Sql),
    program("psql", "dhpUFPRTv", &[(File, "-f --file"), (Output, "-o --output -L --log-file")]).and(Extra::Sql),
    program("mysql mariadb", "hPuDS", &[(Command, "--pager"), (Output, "--tee"), (Runs, "--init-command")]).and(Extra::Sql),
    program("mongo mongosh", "", &[(Code, "--eval")]),
    program("gdb", "", &[(Code, "-ex -iex -eval-command --eval-command --ex --iex"), (File, "-x -ix --command --init-command")]),
    program("lldb", "", &[(Code, "-o -O -k --one-line --one-line-before-file"), (File, "-s -S --source --source-before-file")]),
    // Jobs, containers and machines.
    program("strace ltrace", "eEpPsSuXaAbI", &[(Command, "-o --output")]),
    program("script", "EImoOBt", &[(Command, "-c --command")]),
    program("crontab", "u", &[(Runs, "-e"), (Deletes, "-r")]).and(Extra::Operands),
    program("run-parts", "", &[]).and(Extra::Operands),
    program("ip", "", &[(Runs, "exec"), (File, "-b -batch")]),
    verbs("docker podman nerdctl", DOCKER, "cp rm rmi prune", "", &[(Writes, "@")]),
    verbs("kubectl oc", KUBECTL, "edit cp attach plugin proxy", "", &[(Runs, "@")]),
    verbs("kubectl oc", KUBECTL, "delete", "", &[(Deletes, "@")]),
    program("kubectl oc helm", "", &[(File, "--kubeconfig"), (Command, "--post-renderer")]),
    verbs("terraform tofu", "", "destroy", "", &[(Deletes, "@")]),
    verbs("terraform tofu", "", "apply", "", &[(Deletes, "-destroy --destroy")]),
    program("ansible", "", &[(Runs, "-a --args -m --module-name")]),
    verbs("vagrant", "", "ssh", "", &[(Command, "-c --command")]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_covers_eighty_programs_and_every_row_says_something() {
        let names: std::collections::HashSet<&str> =
            PROGRAMS.iter().flat_map(|row| row.names.split_ascii_whitespace()).collect();
        assert!(names.len() >= 80, "{}", names.len());
        for row in PROGRAMS {
            assert!(!row.acts.is_empty() || row.extra != Extra::None, "{}", row.names);
            assert!(!row.names.contains('/'), "{}", row.names);
        }
    }

    #[test]
    fn a_version_is_no_part_of_a_name() {
        for name in ["python", "python3", "python3.12", "lua5.4", "perl", "gcc-13"] {
            assert!(!rows(name).is_empty(), "{name}");
        }
        for name in ["sqlite3", "diff3", "7z"] {
            assert!(!rows(name).is_empty(), "{name}");
        }
        assert!(rows("3").is_empty() && rows("").is_empty() && rows("gpython").is_empty());
    }
}
