//! Finds the words that may begin at a place of a text by their first three or four bytes.
//!
//! A bitmap of the hashed first bytes rules out most places with one lookup. At the others, a hash
//! table gives the words with these bytes, unless the next byte of the text belongs to none of
//! them.
#![deny(clippy::indexing_slicing)]

/// Maps first bytes to words.
pub(super) struct FirstBytesIndex {
    /// Number of bytes of a key.
    width: usize,
    /// The significant bits of a key.
    mask: u32,
    bits: [u64; 1 << (HASH_BITS - 6)],
    /// An open hash table of the keys.
    groups: Vec<Group>,
    /// Sorted by key, then by spelling.
    words: Vec<IndexedWord>,
}

/// The words of one key.
#[derive(Clone, Copy, Default)]
struct Group {
    key: u32,
    start: u16,
    /// Equal to `start` if the slot is free.
    end: u16,
    /// Which bytes may follow the key in a text, by [`follower`].
    followers: u64,
}

/// A word of an index.
pub(super) struct IndexedWord {
    key: u32,
    /// The number under which the word was added.
    pub(super) entry: usize,
    /// Number of bytes that the spelling shares with that of the word before it in its group.
    pub(super) shared: usize,
}

/// Number of places checked together: a load of eight bytes contains five keys of four bytes.
pub(super) const STEP: usize = 5;

/// Bits of a hash; the bitmap takes 8 KB.
const HASH_BITS: u32 = 16;

/// Bits of a slot number of [`FirstBytesIndex::groups`]: three times as many slots as keys.
const SLOT_BITS: u32 = 10;

impl FirstBytesIndex {
    pub(super) fn new(width: usize) -> Self {
        let groups = vec![Group::default(); 1 << SLOT_BITS];
        let mask = u32::MAX >> (32 - 8 * width);
        Self { width, mask, bits: [0; 1 << (HASH_BITS - 6)], groups, words: Vec::new() }
    }

    pub(super) fn add(&mut self, first: [u8; 4], entry: usize) {
        let key = self.key(first);
        let hash = hash(key);
        if let Some(bits) = self.bits.get_mut(hash >> 6) {
            *bits |= 1 << (hash & 63);
        }
        self.words.push(IndexedWord { key, entry, shared: 0 });
    }

    /// Sorts the words and builds the table of their keys; to be called once, after the last
    /// [`Self::add`]. `spelling` returns the folded word of an entry.
    pub(super) fn finish<'w>(&mut self, spelling: impl Fn(usize) -> &'w str) {
        self.words.sort_unstable_by_key(|word| (word.key, spelling(word.entry), word.entry));
        let mut start = 0;
        for words in self.words.chunk_by_mut(|a, b| a.key == b.key) {
            let (mut before, mut next) = ("", 0);
            for word in words.iter_mut() {
                let this = spelling(word.entry);
                word.shared = this.bytes().zip(before.bytes()).take_while(|(a, b)| a == b).count();
                next |= followers(this.as_bytes(), self.width);
                before = this;
            }
            let end = start + words.len() as u16;
            if let Some(key) = words.first().map(|first| first.key) {
                insert(&mut self.groups, Group { key, start, end, followers: next });
            }
            start = end;
        }
    }

    /// Returns the key; it is the same for upper and lower case.
    fn key(&self, first: [u8; 4]) -> u32 {
        (u32::from_le_bytes(first) | 0x2020_2020) & self.mask
    }

    /// Returns 1 if a word may have this key.
    #[inline(always)]
    fn bit(&self, key: u32) -> u64 {
        let hash = hash(key);
        self.bits.get(hash >> 6).map_or(0, |bits| bits >> (hash & 63) & 1)
    }

    /// Returns, in one bit each, whether words may begin at the first [`STEP`] of eight bytes, so
    /// that one branch decides for all. Only for keys of four bytes.
    #[inline(always)]
    pub(super) fn places_in(&self, eight: [u8; 8]) -> u64 {
        let small = u64::from_le_bytes(eight) | 0x2020_2020_2020_2020;
        let bit = |place: u32| self.bit((small >> (8 * place)) as u32) << place;
        bit(0) | bit(1) | bit(2) | bit(3) | bit(4)
    }

    /// Returns the words that may be at byte `at`; usually none.
    pub(super) fn candidates(&self, bytes: &[u8], at: usize) -> &[IndexedWord] {
        let first = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
        let Some(first) = first else { return &[] };
        let key = self.key(*first);
        if self.bit(key) == 0 {
            return &[];
        }
        for slot in slots(key) {
            let Some(group) = self.groups.get(slot).filter(|group| !group.is_free()) else { break };
            if group.key != key {
                continue;
            }
            let next = bytes.get(at + self.width).copied().unwrap_or(0);
            if group.followers & follower(next) == 0 {
                break;
            }
            let range = usize::from(group.start)..usize::from(group.end);
            return self.words.get(range).unwrap_or(&[]);
        }
        &[]
    }
}

impl Group {
    fn is_free(&self) -> bool {
        self.start == self.end
    }
}

/// Puts a group into its first free slot.
fn insert(groups: &mut [Group], group: Group) {
    let free = slots(group.key).find(|slot| groups.get(*slot).is_some_and(Group::is_free));
    if let Some(slot) = free.and_then(|slot| groups.get_mut(slot)) {
        *slot = group;
    }
}

/// Returns the bit of a byte after a key; it is the same for upper and lower case.
fn follower(byte: u8) -> u64 {
    1 << ((byte | 0x20) & 63)
}

/// Returns the bytes that may follow the key in a text that contains this spelling.
fn followers(spelling: &[u8], width: usize) -> u64 {
    let blanks = || b" \t\n\x0C\r".iter().fold(0, |found, blank| found | follower(*blank));
    let next = match spelling.get(width) {
        // The word ends here, so any byte may follow.
        None => u64::MAX,
        Some(b' ') => blanks(),
        Some(byte) => follower(*byte),
    };
    // A blank matches a run of blanks.
    if spelling.get(width - 1) == Some(&b' ') { next | blanks() } else { next }
}

/// Returns the slots of a key, in the order in which they are tried.
fn slots(key: u32) -> impl Iterator<Item = usize> {
    const SLOTS: usize = 1 << SLOT_BITS;
    let first = hash(key) >> (HASH_BITS - SLOT_BITS);
    (first..first + SLOTS).map(|slot| slot % SLOTS)
}

/// Hashes a key with Fibonacci hashing: uses the upper bits of a product.
fn hash(key: u32) -> usize {
    (key.wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS)) as usize
}

#[cfg(test)]
impl FirstBytesIndex {
    /// Returns the words of the first bytes of a text, found without the bitmap and the table.
    pub(super) fn candidates_one_by_one(
        &self,
        bytes: &[u8],
        at: usize,
    ) -> impl Iterator<Item = &IndexedWord> {
        let first = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
        let key = first.map(|first| self.key(*first));
        self.words.iter().filter(move |word| Some(word.key) == key)
    }

    /// Returns whether the table is at most half full, so that few slots are tried for a key.
    pub(super) fn has_room(&self) -> bool {
        self.groups.iter().filter(|group| !group.is_free()).count() * 2 <= self.groups.len()
    }
}
