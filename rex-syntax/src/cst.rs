//! The syntax tree of one text, C or C++.
//!
//! This is the only module that knows which parser is used. The parser's tree is copied into a flat list in source order, so parents,
//! siblings and descendants are cheap, nesting depth costs no stack, and a [`Node`] is two words.
//!
//! A tree is parsed from a masked text (`view`) and answers with the original text of the same length.

mod chains;
mod cuts;
mod entry;
mod flatten;
mod grammar;
mod list;
mod pieces;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use text_size::{TextRange, TextSize};

use self::entry::{Entry, size};
use self::flatten::Patience;
use self::grammar::Grammar;
use crate::kind::{Field, Kind};
use crate::lex;
use crate::source::Language;

/// A syntax tree and the text it describes.
#[derive(Clone)]
pub struct Tree {
    text: Arc<str>,
    language: Language,
    nodes: Vec<Entry>,
}

/// One node of a [`Tree`].
#[derive(Clone, Copy)]
pub struct Node<'t> {
    tree: &'t Tree,
    idx: u32,
}

/// The bytes of text from which on a text is parsed in pieces: what the parser itself keeps of a text is 20 to 300 times as large.
const PIECE: usize = 1 << 15;

/// Parses `text`; nodes answer with the text of `original`.
///
/// Parsing never fails: text that is not C or C++ becomes [`Kind::Error`] nodes.
///
/// # Panics
/// When the two texts differ in length.
pub fn parse(text: &str, original: Arc<str>, language: Language) -> Tree {
    assert_eq!(
        text.len(),
        original.len(),
        "a masked view has the length of its text"
    );
    let mut nodes = flatten::parse(text, PIECE, language, Patience::USUAL);
    restore_types(&mut nodes, text, &original);
    Tree {
        text: original,
        language,
        nodes,
    }
}

/// Parses a text that is its own original, such as a declaration found in a header.
pub fn parse_fragment(text: &str, language: Language) -> Tree {
    parse(text, text.into(), language)
}

impl Tree {
    /// Lets the nodes that end with a stand-in end where the text does that it stands in for.
    ///
    /// `ends` has the end of each stand-in with the end of its text, sorted.
    pub(crate) fn stretch(&mut self, ends: &[(TextSize, TextSize)]) {
        for entry in &mut self.nodes {
            let found = ends.binary_search_by_key(&entry.end, |(end, _)| *end);
            if let Ok(idx) = found
                && entry.is_named()
            {
                entry.end = ends[idx].1;
            }
        }
    }

    /// The node of the whole text.
    pub fn root(&self) -> Node<'_> {
        Node { tree: self, idx: 0 }
    }

    /// The original text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The language it was parsed as.
    pub fn language(&self) -> Language {
        self.language
    }

    /// Every node in source order, parents before children, keywords and punctuators included.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        (0..size(self.nodes.len())).map(|idx| Node { tree: self, idx })
    }

    /// The node with this index, as [`Node::index`] gave it.
    pub fn node(&self, index: u32) -> Option<Node<'_>> {
        (index < size(self.nodes.len())).then_some(Node {
            tree: self,
            idx: index,
        })
    }
}

impl fmt::Debug for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tree")
            .field("language", &self.language)
            .field("n_nodes", &self.nodes.len())
            .finish()
    }
}

impl<'t> Node<'t> {
    /// What it is.
    pub fn kind(self) -> Kind {
        self.entry().kind
    }

    /// Its place in the original text.
    pub fn range(self) -> TextRange {
        TextRange::new(self.entry().start, self.entry().end)
    }

    /// Its text, as the user wrote it.
    pub fn text(self) -> &'t str {
        lex::slice(&self.tree.text, self.range())
    }

    /// The tree it belongs to.
    pub fn tree(self) -> &'t Tree {
        self.tree
    }

    /// A number that identifies the node within its tree; it grows in source order.
    pub fn index(self) -> u32 {
        self.idx
    }

    /// The characters of an anonymous node; empty for any other.
    pub fn token(self) -> &'static str {
        match self.kind() {
            Kind::Token => Grammar::of(self.tree.language).symbol_name(self.entry().symbol()),
            _ => "",
        }
    }

    /// Whether the node is named: neither keyword nor punctuator.
    pub fn is_named(self) -> bool {
        self.entry().is_named()
    }

    /// The named children: everything but keywords and punctuators.
    pub fn children(self) -> Siblings<'t> {
        Siblings {
            tree: self.tree,
            next: self.idx + 1,
            end: self.entry().subtree_end,
        }
    }

    /// The node as a list of one.
    pub fn alone(self) -> Siblings<'t> {
        Siblings {
            tree: self.tree,
            next: self.idx,
            end: self.entry().subtree_end,
        }
    }

    /// The named child at this position.
    pub fn child(self, idx: usize) -> Option<Node<'t>> {
        self.children().nth(idx)
    }

    /// All children.
    pub fn tokens_and_children(self) -> impl Iterator<Item = Node<'t>> {
        let end = self.entry().subtree_end;
        let mut next = self.idx + 1;
        std::iter::from_fn(move || {
            if next >= end {
                return None;
            }
            let child = Node {
                tree: self.tree,
                idx: next,
            };
            next = child.entry().subtree_end;
            Some(child)
        })
    }

    /// The first child with this role.
    pub fn field(self, field: Field) -> Option<Node<'t>> {
        self.tokens_and_children()
            .find(|child| child.entry().field == Some(field))
    }

    /// All children with this role.
    pub fn fields(self, field: Field) -> Vec<Node<'t>> {
        self.tokens_and_children()
            .filter(|child| child.entry().field == Some(field))
            .collect()
    }

    /// The role it plays for its parent.
    pub fn role(self) -> Option<Field> {
        self.entry().field
    }

    /// The node around it.
    pub fn parent(self) -> Option<Node<'t>> {
        (self.idx != 0).then(|| Node {
            tree: self.tree,
            idx: self.entry().parent,
        })
    }

    /// The nodes around it, from its parent to the root.
    pub fn ancestors(self) -> impl Iterator<Item = Node<'t>> {
        std::iter::successors(self.parent(), |node| node.parent())
    }

    /// The functions and lambdas around it, innermost first.
    pub fn callables_around(self) -> impl Iterator<Item = Node<'t>> {
        self.ancestors().filter(|node| node.kind().is_callable())
    }

    /// The named node after it, with the same parent.
    pub fn next_sibling(self) -> Option<Node<'t>> {
        let end = self.parent()?.entry().subtree_end;
        let mut next = self.entry().subtree_end;
        while next < end {
            let node = Node {
                tree: self.tree,
                idx: next,
            };
            if node.is_named() {
                return Some(node);
            }
            next = node.entry().subtree_end;
        }
        None
    }

    /// Whether it is text the parser could not place.
    pub fn is_error(self) -> bool {
        self.kind() == Kind::Error
    }

    /// Whether the parser assumed it although it is not in the text.
    pub fn is_missing(self) -> bool {
        self.kind() == Kind::Missing
    }

    /// Whether it is or contains an error or a missing node.
    pub fn has_error(self) -> bool {
        self.entry().has_error()
    }

    /// Its only named child, comments aside.
    pub fn only_child(self) -> Option<Node<'t>> {
        let mut children = self
            .children()
            .filter(|child| child.kind() != Kind::Comment);
        let first = children.next()?;
        children.next().is_none().then_some(first)
    }

    /// The named nodes below it, parents first, in source order.
    pub fn descendants(self) -> Descendants<'t> {
        Descendants {
            tree: self.tree,
            next: self.idx + 1,
            end: self.entry().subtree_end,
            last: self.idx,
        }
    }

    /// The same with the node itself, if it is named.
    pub fn whole(self) -> Descendants<'t> {
        Descendants {
            next: self.idx,
            ..self.descendants()
        }
    }

    /// The node itself and the named nodes below it, parents first, in source order.
    pub fn subtree(self) -> impl Iterator<Item = Node<'t>> {
        std::iter::once(self).chain(self.descendants())
    }

    /// The smallest named node at or below this one that covers a range.
    pub fn smallest_at(self, range: TextRange) -> Node<'t> {
        if range.is_empty() {
            return self.smallest_at_place(range);
        }
        // Nodes stand in the order in which they begin: the last one that begins in time is below the node looked for, or is it.
        let subtree = self.idx as usize..self.entry().subtree_end as usize;
        let n_before =
            self.tree.nodes[subtree].partition_point(|entry| entry.start <= range.start());
        let mut node = Node {
            tree: self.tree,
            idx: self.idx + size(n_before.saturating_sub(1)),
        };
        while node.idx > self.idx && !(node.is_named() && node.range().contains_range(range)) {
            node = node.parent().unwrap_or(self);
        }
        node
    }

    /// The same for a place between characters, where one node may end and another begin: the first of them.
    fn smallest_at_place(self, range: TextRange) -> Node<'t> {
        let mut node = self;
        while let Some(child) = node
            .children()
            .take_while(|child| child.range().start() <= range.start())
            .find(|child| child.range().contains_range(range))
        {
            node = child;
        }
        node
    }

    /// The condition of a statement or `?:` without its parentheses; in C++ it may be a declaration.
    pub fn condition(self) -> Option<Node<'t>> {
        let condition = self.field(Field::Condition)?;
        match condition.kind() {
            Kind::ConditionClause => condition.field(Field::Value),
            Kind::ParenthesizedExpression if self.kind() != Kind::ConditionalExpression => {
                condition
                    .children()
                    .find(|node| node.kind() != Kind::Comment)
            }
            _ => Some(condition),
        }
    }

    /// The index of `a[index]`.
    pub fn subscript_index(self) -> Option<Node<'t>> {
        self.field(Field::Index).or_else(|| {
            let mut indices = self.field(Field::Indices)?.children();
            indices.find(|node| node.kind() != Kind::Comment)
        })
    }

    /// The shape below the node on one line, for tests and debugging: `(call_expression function: (identifier) ..)`.
    pub fn outline(self) -> String {
        let mut out = String::new();
        let mut open: Vec<u32> = Vec::new();
        let end = self.entry().subtree_end;
        for idx in self.idx..end {
            let node = Node { idx, ..self };
            while open.last().is_some_and(|&end| end <= idx) {
                open.pop();
                out.push(')');
            }
            if !node.is_named() && !node.is_missing() {
                continue;
            }
            if !open.is_empty() {
                out.push(' ');
            }
            if let Some(field) = node.role().filter(|_| idx != self.idx) {
                out.push_str(field.name());
                out.push_str(": ");
            }
            out.push('(');
            out.push_str(node.kind().name());
            open.push(node.entry().subtree_end);
        }
        out.extend(open.iter().map(|_| ')'));
        out
    }

    fn entry(self) -> &'t Entry {
        &self.tree.nodes[self.idx as usize]
    }
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.idx == other.idx && std::ptr::eq(self.tree, other.tree)
    }
}

impl Eq for Node<'_> {}

impl Hash for Node<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.idx.hash(state);
    }
}

impl fmt::Debug for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:?}", self.kind().name(), self.range())
    }
}

/// Iterator of [`Node::children`].
#[derive(Clone, Debug)]
pub struct Siblings<'t> {
    tree: &'t Tree,
    next: u32,
    end: u32,
}

impl<'t> Iterator for Siblings<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        while self.next < self.end {
            let node = Node {
                tree: self.tree,
                idx: self.next,
            };
            self.next = node.entry().subtree_end;
            if node.is_named() {
                return Some(node);
            }
        }
        None
    }
}

/// Iterator of [`Node::descendants`].
#[derive(Clone, Debug)]
pub struct Descendants<'t> {
    tree: &'t Tree,
    next: u32,
    end: u32,
    last: u32,
}

impl Descendants<'_> {
    /// Leaves out everything below the node that was returned last.
    pub fn skip_subtree(&mut self) {
        let end = self.tree.nodes[self.last as usize].subtree_end;
        self.next = self.next.max(end.min(self.end));
    }
}

impl<'t> Iterator for Descendants<'t> {
    type Item = Node<'t>;

    fn next(&mut self) -> Option<Node<'t>> {
        while self.next < self.end {
            let node = Node {
                tree: self.tree,
                idx: self.next,
            };
            self.next += 1;
            if node.is_named() {
                self.last = node.idx;
                return Some(node);
            }
        }
        None
    }
}

/// Gives types that the view spells like other types or like names their own kind and extent again.
fn restore_types(nodes: &mut [Entry], text: &str, original: &str) {
    let types = nodes.iter_mut().filter(|entry| {
        matches!(
            entry.kind,
            Kind::PrimitiveType | Kind::TypeIdentifier | Kind::Identifier
        )
    });
    for entry in types {
        let range = TextRange::new(entry.start, entry.end);
        let written = lex::slice(original, range);
        if written == lex::slice(text, range) {
            continue;
        }
        if entry.kind == Kind::PrimitiveType {
            entry.kind = Kind::TypeIdentifier;
            entry.end = entry.start + TextSize::of(written.trim_end());
        } else if written.starts_with("decltype") && written.ends_with(')') {
            entry.kind = Kind::Decltype;
        } else if entry.kind == Kind::TypeIdentifier && written.contains("omplex") {
            entry.kind = Kind::SizedTypeSpecifier;
        }
    }
}

#[cfg(test)]
mod tests;
