//! Programs that overwrite or format a disk.
#![deny(clippy::indexing_slicing)]

use toolcrib_shell_parser::Word;

use super::folder_changes::values;
use super::targets::{Place, Places, is_disk};
use super::words::{has, has_option, known, operands};

/// Options and words with which a disk program only prints information.
const TELLS: [&str; 11] = [
    "-l",
    "--list",
    "-V",
    "-v",
    "--version",
    "-h",
    "--help",
    "--no-act",
    "status",
    "list",
    "print",
];

/// Options of `hdparm` that change the content of a disk.
const HDPARM: [&str; 6] =
    ["--security", "--trim", "--write-sector", "--make-bad", "--dco", "--yes-i-know"];

/// Checks programs that format a disk or destroy files permanently, with any operands.
pub(super) fn formats(name: &str, args: &[Word], _: &Places) -> Option<String> {
    (!has(args, &TELLS)).then(|| format!("{name} destroys files or disks for good"))
}

/// Checks disk programs of which only some words are destructive.
pub(super) fn formats_by_word(name: &str, args: &[Word], _: &Places) -> Option<String> {
    let begins = |beginnings: &[&str]| {
        let texts = || args.iter().filter_map(known);
        texts().any(|text| beginnings.iter().any(|own| text.starts_with(own)))
    };
    let destroys = match name {
        "cryptsetup" => has(args, &["luksFormat", "erase", "luksErase", "reencrypt"]),
        "nvme" => has(args, &["format", "sanitize"]),
        "diskutil" => begins(&["erase", "partition"]),
        "hdparm" => begins(&HDPARM),
        "badblocks" => has_option(args, &['w'], "-"),
        "zpool" | "zfs" => has(args, &["destroy", "labelclear", "create"]),
        "btrfs" => has(args, &["delete"]),
        "mdadm" => has(args, &["--zero-superblock", "--create", "-C"]),
        _ => false,
    };
    destroys.then(|| format!("it would destroy {}", Place::Disk.name()))
}

/// Checks programs that write the given file or device.
pub(super) fn overwrites(name: &str, args: &[Word], _: &Places) -> Option<String> {
    let disk = match name {
        // Its operands are also removed.
        "mv" | "tee" | "sponge" | "truncate" => disk_among(args.iter().filter_map(known)),
        "dd" | "dcfldd" | "dc3dd" => {
            let written = |text: &'_ str| text.starts_with("of=") || text.starts_with("hof=");
            disk_among(args.iter().filter_map(known).filter(|text| written(text)))
        }
        "sort" | "curl" | "wget" | "pv" => {
            let named: Vec<Word> = ['o', 'O']
                .into_iter()
                .flat_map(|letter| values(args, letter, "output-document"))
                .collect();
            disk_among(named.iter().filter_map(known))
        }
        "ddrescue" => disk_among(operands(args).filter_map(known).skip(1)),
        _ => {
            let folders = values(args, 't', "target-directory");
            let last = operands(args).next_back();
            disk_among(folders.iter().chain(last).filter_map(known))
        }
    };
    disk.map(|disk| format!("it overwrites {disk}"))
}

fn disk_among<'w>(mut paths: impl Iterator<Item = &'w str>) -> Option<String> {
    paths.find_map(|path| {
        let value = path.rsplit_once('=').map_or(path, |(_, value)| value);
        is_disk(value).then(|| value.to_owned())
    })
}
