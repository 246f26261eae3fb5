//! Programs that can destroy a workspace, a home folder or a disk, with the conditions under which
//! they do.
#![deny(clippy::indexing_slicing)]

use toolcrib_shell_parser::Word;

use super::targets::{Place, Places};
use super::words::{has, has_option, known, operands};
use super::{containers, disk_writers, found_files, inline_code};

/// Returns why a command always asks, from its name, its arguments and the critical places of the
/// call; `None` if it does not.
pub(super) type Check = fn(&str, &[Word], &Places) -> Option<String>;

/// Returns the check of a program; `None` if it needs no check.
pub(super) fn check_of(name: &str) -> Option<Check> {
    Some(match name {
        "rm" | "grm" | "rimraf" | "Remove-Item" => removed,
        "trash" | "trash-put" | "rmtrash" | "gvfs-trash" | "rclone" => discarded,
        "gio" => |_, args, places| {
            has(args, &["trash", "remove"])
                .then(|| first_place(args, places))
                .flatten()
                .map(Place::loss)
        },
        "tar" | "gtar" | "bsdtar" => packed_by_tar,
        "zip" => |_, args, places| {
            let moves = has_option(args, &['m'], "move");
            moves.then(|| first_place(args, places)).flatten().map(Place::loss)
        },
        "7z" | "7za" | "7zz" => |_, args, places| {
            has(args, &["-sdel"]).then(|| first_place(args, places)).flatten().map(Place::loss)
        },
        "userdel" | "deluser" => |_, args, _| {
            let removes =
                has_option(args, &['r'], "remove-home") || has(args, &["--remove-all-files"]);
            removes.then(|| Place::Home.loss())
        },
        "chmod" => |_, args, places| rights(args, places, takes_rights(args)).map(Place::loss),
        "chown" | "chgrp" => |_, args, places| rights(args, places, false).map(Place::loss),
        "mv" => |name, args, places| {
            moved(args, places)
                .map(Place::loss)
                .or_else(|| disk_writers::overwrites(name, args, places))
        },
        "rsync" => |name, args, places| {
            mirrored(args, places)
                .map(Place::loss)
                .or_else(|| disk_writers::overwrites(name, args, places))
        },
        "truncate" => |name, args, places| {
            first_place(args, places)
                .map(Place::loss)
                .or_else(|| disk_writers::overwrites(name, args, places))
        },
        "git" => git,
        "docker" | "podman" | "nerdctl" => containers::mounts,
        "shred" | "srm" | "wipe" | "nwipe" | "scrub" | "wipefs" | "blkdiscard" | "mke2fs"
        | "mkswap" | "newfs" | "cfdisk" | "fdisk" | "sfdisk" | "gdisk" | "sgdisk" | "parted"
        | "lvremove" | "vgremove" | "pvremove" | "pvcreate" => disk_writers::formats,
        "cryptsetup" | "nvme" | "diskutil" | "hdparm" | "badblocks" | "zpool" | "zfs" | "btrfs"
        | "mdadm" => disk_writers::formats_by_word,
        "dd" | "dcfldd" | "dc3dd" | "ddrescue" | "tee" | "sponge" | "cp" | "install" | "scp"
        | "qemu-img" | "sort" | "curl" | "wget" | "pv" => disk_writers::overwrites,
        name if name.starts_with("mkfs") => disk_writers::formats,
        name if found_files::is_search(name) => found_files::found,
        name if inline_code::is_interpreter(name) => inline_code::reason,
        _ => return None,
    })
}

/// Returns the first operand that is a critical place.
fn first_place(args: &[Word], places: &Places) -> Option<Place> {
    operands(args).filter_map(|word| places.of(word)).find(|place| *place != Place::Unknown)
}

fn removed(name: &str, args: &[Word], places: &Places) -> Option<String> {
    let recursive = name == "rimraf"
        || has_option(args, &['r', 'R'], "recursive")
        || has(args, &["-Recurse", "-recurse"]);
    let lost = operands(args).find_map(|word| {
        let place = places.of(word)?;
        let is_pattern = matches!(word, Word::Unknown(text) if text.ends_with('*'));
        // Without the option only files are deleted: those that a pattern matches.
        let counts = recursive || (is_pattern && place != Place::Unknown);
        counts.then_some(place)
    });
    lost.map(Place::loss)
}

/// Checks programs that delete their operands, or move them to a trash folder.
fn discarded(name: &str, args: &[Word], places: &Places) -> Option<String> {
    let deletes = name != "rclone" || has(args, &["purge", "delete", "sync", "move"]);
    deletes.then(|| first_place(args, places)).flatten().map(Place::loss)
}

fn packed_by_tar(_: &str, args: &[Word], places: &Places) -> Option<String> {
    let removes = has(args, &["--remove-files"]);
    removes.then(|| first_place(args, places)).flatten().map(Place::loss)
}

/// Returns whether a mode removes permissions, which makes a whole workspace unusable.
fn takes_rights(args: &[Word]) -> bool {
    let takes = |text: &str| {
        let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        let owner = text.trim_start_matches('0');
        (is_number && (owner.len() < 3 || owner.starts_with(['1', '2', '3'])))
            || text.contains("-r")
            || text.contains("-w")
            || text.contains("-x")
            || text.contains('=')
    };
    operands(args).next().and_then(known).is_none_or(takes)
        || has(args, &["-rwx", "-r", "-w", "-x"])
}

/// Checks recursive changes of permissions or owner: outside of the workspace always, and in it if
/// they remove permissions (`takes`).
fn rights(args: &[Word], places: &Places, takes: bool) -> Option<Place> {
    if !has_option(args, &['R'], "recursive") {
        return None;
    }
    operands(args)
        .filter_map(|word| places.of(word))
        .find(|place| takes || place.is_beyond_workspace())
}

/// Checks folders that are moved away as a whole.
fn moved(args: &[Word], places: &Places) -> Option<Place> {
    let is_pattern =
        |word: &Word| matches!(word, Word::Unknown(text) if !text.starts_with(['$', '"']));
    let matters = |word: &Word| {
        places.of(word).filter(|place| match place {
            Place::Unknown => false,
            Place::Here => !is_pattern(word),
            _ => true,
        })
    };
    let is_target = |word: &Word| {
        known(word).is_some_and(|text| {
            let cluster = text.strip_prefix('-').filter(|text| !text.starts_with('-'));
            text.starts_with("--t") || cluster.is_some_and(|letters| letters.contains('t'))
        })
    };
    let Some(at) = args.iter().position(is_target) else {
        return operands(args).rev().skip(1).find_map(matters);
    };
    let takes_next = args
        .get(at)
        .and_then(known)
        .is_some_and(|text| !text.contains('=') && (text.starts_with("--") || text.ends_with('t')));
    let (before, after) = args.split_at_checked(at)?;
    let after = after.get(if takes_next { 2 } else { 1 }..).unwrap_or_default();
    operands(before).chain(operands(after)).find_map(matters)
}

/// Checks a folder that becomes the copy of another one, or that is moved into another one.
fn mirrored(args: &[Word], places: &Places) -> Option<Place> {
    let matters = |word: &Word| places.of(word).filter(|place| *place != Place::Unknown);
    if has(args, &["--remove-source-files"])
        && let Some(place) = operands(args).rev().skip(1).find_map(matters)
    {
        return Some(place);
    }
    let deletes = args.iter().filter_map(known).any(|text| text.starts_with("--del"));
    operands(args).next_back().filter(|_| deletes).and_then(matters)
}

/// Checks deletions that git cannot restore.
fn git(_: &str, args: &[Word], places: &Places) -> Option<String> {
    if cleans_ignored(args, places) {
        return Some("it deletes files that no commit has".to_owned());
    }
    let mut words = operands(args).filter_map(known);
    let deletes = match (words.next(), words.next()) {
        (Some("worktree"), Some("remove")) => true,
        (Some("rm"), _) => has_option(args, &['r'], "-") && !has(args, &["--cached"]),
        _ => false,
    };
    deletes.then(|| first_place(args, places)).flatten().map(Place::loss)
}

/// Returns whether `git clean -fdx` applies to the whole work tree, which also deletes settings and
/// data that are in no commit.
fn cleans_ignored(args: &[Word], places: &Places) -> bool {
    let mut words = operands(args);
    if words.next().and_then(known) != Some("clean") {
        return false;
    }
    // The value of `-e` is not a path.
    let excludes = |word: &Word| matches!(known(word), Some("-e" | "--exclude"));
    let is_path = |at: usize| {
        let word = at.checked_sub(1).and_then(|before| args.get(before));
        !word.is_some_and(excludes)
    };
    let is_option = |word: &Word| known(word).is_some_and(|text| text.starts_with('-'));
    let paths = args.iter().enumerate().filter(|(at, word)| is_path(*at) && !is_option(word));
    let mut paths = paths.map(|(_, word)| word).skip(1).peekable();
    let is_all = |word: &Word| matches!(known(word), Some(":/" | ":")) || places.of(word).is_some();
    let everywhere = paths.peek().is_none() || paths.any(is_all);
    let previews = has_option(args, &['n'], "dry-run");
    everywhere
        && !previews
        && has_option(args, &['x', 'X'], "-")
        && has_option(args, &['f'], "force")
}
