//! `docker run` as a launcher: its image, the socket that the docker client uses, and the parts of
//! this machine that the command line passes to the container. The container runs outside of
//! Toolcrib's sandbox.

use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

/// Long options without a value.
const FLAGS: [&str; 12] = [
    "--detach",
    "--init",
    "--interactive",
    "--no-healthcheck",
    "--oom-kill-disable",
    "--privileged",
    "--publish-all",
    "--quiet",
    "--read-only",
    "--rm",
    "--tty",
    "--use-api-socket",
];
/// Short options without a value; several can be combined.
const SHORT_FLAGS: &str = "itdPq";
/// Options that give the container access to this machine.
const GIVING: [&str; 14] = [
    "-v",
    "--volume",
    "--mount",
    "--volumes-from",
    "--privileged",
    "--network",
    "--net",
    "--pid",
    "--ipc",
    "--userns",
    "--device",
    "--cap-add",
    "--security-opt",
    "--use-api-socket",
];

/// An option with its value, or the image.
enum Word<'a> {
    Option(&'a str, Option<&'a str>),
    Image(&'a str),
}

/// Splits the words after `run`, up to the image.
fn words<'a>(args: &[&'a str]) -> Vec<Word<'a>> {
    let mut found = Vec::new();
    let mut args = args.iter().copied();
    while let Some(word) = args.next() {
        let Some(short) = word.strip_prefix('-') else {
            found.push(Word::Image(word));
            break;
        };
        let is_flag = FLAGS.contains(&word)
            || !short.is_empty() && short.chars().all(|c| SHORT_FLAGS.contains(c));
        found.push(match word.split_once('=') {
            Some((option, value)) if word.starts_with("--") => Word::Option(option, Some(value)),
            _ if is_flag => Word::Option(word, None),
            _ => Word::Option(word, args.next()),
        });
    }
    found
}

/// Returns the image of `docker run`, from the words after it.
pub(super) fn image<'a>(args: &[&'a str]) -> Option<&'a str> {
    words(args).into_iter().find_map(|word| match word {
        Word::Image(image) => Some(image),
        Word::Option(..) => None,
    })
}

/// Returns the options that give the container access to this machine, as written.
pub(super) fn given_to_container(args: &[String]) -> Vec<String> {
    let args: Vec<&str> =
        args.iter().skip_while(|arg| *arg != "run").skip(1).map(String::as_str).collect();
    let given = words(&args).into_iter().filter_map(|word| match word {
        Word::Option(option, value) if GIVING.contains(&option) => {
            Some(value.map_or_else(|| option.to_owned(), |value| format!("{option} {value}")))
        }
        _ => None,
    });
    given.collect()
}

/// Returns the socket that the docker client uses: the one of `DOCKER_HOST`, or the first existing
/// one.
pub(super) fn socket(docker_host: Option<&str>, home: Option<&Path>) -> Option<PathBuf> {
    let told = docker_host.filter(|told| !told.is_empty());
    let usual = || {
        let own = home.map(|home| home.join(".docker/run/docker.sock"));
        [PathBuf::from("/var/run/docker.sock")].into_iter().chain(own)
    };
    let candidates: Vec<PathBuf> = match told {
        Some(told) => told.strip_prefix("unix://").map(PathBuf::from).into_iter().collect(),
        None => usual().collect(),
    };
    let is_socket = |path: &PathBuf| path.metadata().is_ok_and(|file| file.file_type().is_socket());
    // The sandbox shows the target of a link such as `/var/run`.
    candidates.into_iter().find(is_socket)?.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_image_is_the_first_word_that_is_no_option() {
        let check = |line: &str, expected: Option<&str>| {
            let args: Vec<&str> = line.split(' ').collect();
            assert_eq!(image(&args), expected, "{line}");
        };
        check("-i --rm -e TOKEN ghcr.io/a/b:1 stdio", Some("ghcr.io/a/b:1"));
        check("-ti --env=A=b image", Some("image"));
        check("--mount type=bind,src=/a,dst=/b --pull always mcp/time", Some("mcp/time"));
        check("-i --rm --privileged -v /:/host image", Some("image"));
        check("--rm -i", None);
        check("-e", None);
    }

    #[test]
    fn what_the_container_gets_of_this_machine_is_listed() {
        let args = "run -i --rm -v /:/host --network=host -e A=b --privileged image -v x";
        let args: Vec<String> = args.split(' ').map(str::to_owned).collect();
        assert_eq!(given_to_container(&args), ["-v /:/host", "--network host", "--privileged"]);
    }

    #[test]
    fn the_socket_is_that_of_the_person() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        let own = home.join(".docker/run/docker.sock");
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        let other = home.join("other.sock");
        let _open =
            [&own, &other].map(|path| std::os::unix::net::UnixListener::bind(path).unwrap());
        let told = format!("unix://{}", other.display());
        assert_eq!(socket(Some(&told), Some(&home)), Some(other));
        assert_eq!(socket(Some("tcp://127.0.0.1:2375"), Some(&home)), None);
        if !Path::new("/var/run/docker.sock").exists() {
            assert_eq!(socket(None, Some(&home)), Some(own));
        }
        assert_eq!(socket(Some("unix:///no/such.sock"), Some(&home)), None);
    }
}
