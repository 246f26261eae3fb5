//! Containers with write access to a critical folder or a disk of the host.
#![deny(clippy::indexing_slicing)]

use std::path::Path;

use toolcrib_shell_parser::Word;

use super::folder_changes::values;
use super::targets::{Place, Places, is_disk};
use super::words::has;

/// Folders of the root that are meant for the data of programs.
const DATA_FOLDERS: [&str; 9] =
    ["data", "srv", "mnt", "media", "opt", "run", "nix", "snap", "Volumes"];

/// Prefixes of the names of host disks below `/dev`.
const DISKS: [&str; 12] =
    ["sd", "nvme", "hd", "vd", "xvd", "mmcblk", "mapper/", "dm-", "md", "disk/", "mem", "kmem"];

/// Returns why a command that starts a container always asks.
pub(super) fn mounts(_: &str, args: &[Word], places: &Places) -> Option<String> {
    if !has(args, &["run", "create"]) {
        return None;
    }
    let volumes = values(args, 'v', "volume");
    let mounts: Vec<Word> = args
        .iter()
        .enumerate()
        .filter_map(|(at, word)| option(args, at, word, "--mount"))
        .collect();
    let devices =
        args.iter().enumerate().filter_map(|(at, word)| option(args, at, word, "--device"));
    let mounted = volumes.iter().filter_map(volume_source);
    let mounted = mounted.chain(mounts.iter().filter_map(mount_source));
    for source in mounted {
        let place = places.of(&source).filter(|place| place.is_beyond_workspace());
        if place == Some(Place::Home) || (place.is_some() && !is_data(&source)) {
            return place.map(|place| format!("the container could destroy {}", place.name()));
        }
    }
    let mut devices = devices.filter_map(|word| volume_source(&word));
    devices.find(is_host_disk).map(|disk| format!("the container could overwrite {}", text(&disk)))
}

/// Returns the value of a long option at a word.
fn option(args: &[Word], at: usize, word: &Word, name: &str) -> Option<Word> {
    match text(word).strip_prefix(name)?.strip_prefix('=') {
        Some(value) => Some(like(word, value)),
        None if text(word) == name => args.get(at.saturating_add(1)).cloned(),
        None => None,
    }
}

/// Returns the folder of `FOLDER:PATH[:OPTIONS]`, unless it is mounted read-only.
fn volume_source(word: &Word) -> Option<Word> {
    let text = unquoted(word);
    // A colon in braces belongs to a variable.
    let from = text.find('}').unwrap_or_default();
    let colon = text.get(from..)?.find(':').map_or(text.len(), |at| at.saturating_add(from));
    let (source, rest) = text.split_at_checked(colon)?;
    let options = rest.trim_start_matches(':').split_once(':').map_or("", |(_, options)| options);
    let is_path = source.starts_with(['/', '~', '.', '$', '`']);
    (is_path && !options.split(',').any(|option| option == "ro")).then(|| like(word, source))
}

/// Returns the folder of `type=bind,source=FOLDER,target=PATH`, unless it is mounted read-only.
fn mount_source(word: &Word) -> Option<Word> {
    let text = unquoted(word);
    if text.split(',').any(|part| matches!(part, "ro" | "readonly" | "ro=true" | "readonly=true")) {
        return None;
    }
    let source = |part: &str| {
        part.split_once('=')
            .filter(|(key, _)| matches!(*key, "source" | "src"))
            .map(|(_, v)| like(word, v))
    };
    text.split(',').find_map(source)
}

fn is_data(source: &Word) -> bool {
    let first = Path::new(text(source)).components().nth(1);
    first.is_some_and(|part| DATA_FOLDERS.iter().any(|folder| part.as_os_str() == *folder))
}

fn is_host_disk(source: &Word) -> bool {
    let path = text(source);
    let device = path.strip_prefix("/dev/").unwrap_or_default();
    is_disk(path) && DISKS.iter().any(|disk| device.starts_with(disk))
}

fn text(word: &Word) -> &str {
    let (Word::Known(text) | Word::Unknown(text)) = word;
    text
}

fn unquoted(word: &Word) -> String {
    match word {
        Word::Known(text) => text.clone(),
        Word::Unknown(text) => super::targets::unquoted(text),
    }
}

fn like(word: &Word, text: &str) -> Word {
    match word {
        Word::Known(_) => Word::Known(text.to_owned()),
        Word::Unknown(_) => Word::Unknown(text.to_owned()),
    }
}
