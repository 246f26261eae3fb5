//! Rules by their first words, so that a command is compared only with rules that share them.
#![deny(clippy::indexing_slicing)]

use std::collections::HashMap;

/// A node of the trie.
pub(super) type Node = usize;

/// Rules by their words.
#[derive(Debug, Clone)]
pub(super) struct Trie {
    nodes: Vec<Branch>,
}

/// Continuation of a rule after its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// No words may follow.
    Exact,
    /// Any words may follow.
    Open,
    /// A pattern follows.
    Pattern,
}

/// Children by their word.
#[derive(Debug, Clone, Default)]
pub(super) struct Branch {
    children: HashMap<Box<str>, Node, foldhash::fast::RandomState>,
    /// Rules that end here.
    pub(super) exact: Vec<u32>,
    /// Rules that end here and match any following words.
    pub(super) open: Vec<u32>,
    /// Rules that continue with a pattern.
    pub(super) patterns: Vec<u32>,
    /// Number of words from the root.
    pub(super) depth: usize,
}

impl Default for Trie {
    fn default() -> Self {
        Self { nodes: vec![Branch::default()] }
    }
}

impl Trie {
    /// The root, at which every command begins.
    pub(super) const ROOT: Node = 0;

    /// Adds a rule below its first words.
    pub(super) fn insert<'a>(&mut self, words: impl Iterator<Item = &'a str>, rule: u32, end: End) {
        let mut at = Self::ROOT;
        for word in words {
            let next = self.nodes.len();
            let Some(branch) = self.nodes.get_mut(at) else { return };
            let depth = branch.depth + 1;
            at = *branch.children.entry(word.into()).or_insert(next);
            if at == next {
                self.nodes.push(Branch { depth, ..Branch::default() });
            }
        }
        let Some(branch) = self.nodes.get_mut(at) else { return };
        match end {
            End::Exact => branch.exact.push(rule),
            End::Open => branch.open.push(rule),
            End::Pattern => branch.patterns.push(rule),
        }
    }

    pub(super) fn branch(&self, node: Node) -> Option<&Branch> {
        self.nodes.get(node)
    }

    pub(super) fn child(&self, node: Node, word: &str) -> Option<Node> {
        self.nodes.get(node)?.children.get(word).copied()
    }

    /// Returns the rules below a node.
    pub(super) fn below(&self, node: Node) -> Vec<u32> {
        let mut found = Vec::new();
        let mut left = vec![node];
        while let Some(at) = left.pop() {
            let Some(branch) = self.nodes.get(at) else { continue };
            if at != node {
                found.extend(branch.exact.iter().chain(&branch.open));
            }
            left.extend(branch.children.values());
        }
        found
    }
}
