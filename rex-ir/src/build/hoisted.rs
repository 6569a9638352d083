//! Types that C defines inside a struct, or in an expression: they belong to the scope around it. In the device's C++ the first would belong to the
//! struct, and the others may not be there.

use std::collections::BTreeSet;

use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::kind::{Field, Kind};
use smol_str::{SmolStr, format_smolstr};

use super::Builder;

impl<'u> Builder<'u> {
    /// Device code defines them in front of the struct.
    pub(super) fn hoist_inner_types(&mut self) {
        let unit = self.unit;
        for node in unit.tree.nodes() {
            if !defines_type(node) || node.ancestors().any(defines_type) {
                continue;
            }
            let is_operand = node
                .parent()
                .is_some_and(|parent| parent.kind() == Kind::TypeDescriptor);
            let hoisted = match is_operand {
                true => vec![node],
                false => outermost_inside(node),
            };
            let mut definitions = Vec::new();
            for inner in hoisted {
                let reference = hoist(inner, &mut definitions);
                self.conversions
                    .push((inner.range(), SmolStr::from(reference)));
            }
            if definitions.is_empty() {
                continue;
            }
            if is_operand && let Some(statement) = statement_in_block(node) {
                let text = format!("{}\n", definitions.join("\n"));
                let at = TextRange::empty(statement.range().start());
                self.conversions.push((at, SmolStr::from(text)));
                continue;
            }
            let statement = node
                .ancestors()
                .take_while(|outer| {
                    matches!(outer.kind(), Kind::Declaration | Kind::TypeDefinition)
                })
                .last()
                .unwrap_or(node);
            let text = format!("{}\n", definitions.join("\n"));
            let at = TextRange::empty(statement.range().start());
            self.conversions.push((at, SmolStr::from(text)));
        }
    }

    /// `typedef enum kind kind_t; enum kind { A };`: C++ has no enumerations that are defined later.
    pub(super) fn define_enumerations_first(&mut self) {
        let unit = self.unit;
        let enumerations = unit.tree.nodes();
        let enumerations = enumerations.filter(|node| node.kind() == Kind::EnumSpecifier);
        let all: Vec<Node<'u>> = enumerations.collect();
        let block = |node: Node<'u>| {
            let mut around = node.ancestors();
            around.find(|outer| outer.kind() == Kind::CompoundStatement)
        };
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        for (idx, node) in all.iter().enumerate() {
            let Some(name) = node.field(Field::Name) else {
                continue;
            };
            let is_alone = |node: &Node<'u>| {
                node.parent().is_none_or(|parent| match parent.kind() {
                    Kind::Declaration => parent.field(Field::Declarator).is_none(),
                    kind => matches!(kind, Kind::TranslationUnit | Kind::CompoundStatement),
                })
            };
            let is_definition = defines_type(*node);
            if !is_definition && is_alone(node) {
                self.conversions.push((node.range(), SmolStr::default()));
            }
            if !seen.insert(name.text()) || is_definition {
                continue;
            }
            let later = all[idx..].iter().find(|later| {
                defines_type(**later)
                    && block(**later) == block(*node)
                    && later
                        .field(Field::Name)
                        .is_some_and(|it| it.text() == name.text())
            });
            let Some(later) = later else { continue };
            let statement = node
                .ancestors()
                .take_while(|outer| outer.kind() != Kind::CompoundStatement)
                .filter(|outer| matches!(outer.kind(), Kind::Declaration | Kind::TypeDefinition))
                .last()
                .unwrap_or(*node);
            let at = TextRange::empty(statement.range().start());
            let text = format!("{};\n", later.text());
            self.conversions.push((at, SmolStr::from(text)));
            let reference = match is_alone(later) {
                true => SmolStr::default(),
                false => format_smolstr!("enum {}", name.text()),
            };
            self.conversions.push((later.range(), reference));
        }
    }
}

/// The statement of a block that a node is in.
fn statement_in_block(node: Node<'_>) -> Option<Node<'_>> {
    std::iter::successors(Some(node), |node| node.parent()).find(|node| {
        node.parent()
            .is_some_and(|parent| parent.kind() == Kind::CompoundStatement)
    })
}

fn defines_type(node: Node<'_>) -> bool {
    matches!(
        node.kind(),
        Kind::StructSpecifier | Kind::UnionSpecifier | Kind::EnumSpecifier
    ) && node.field(Field::Body).is_some()
}

/// Whether a definition inside a struct means something outside it.
fn is_seen_outside(node: Node<'_>) -> bool {
    defines_type(node) && (node.kind() == Kind::EnumSpecifier || node.field(Field::Name).is_some())
}

fn outermost_inside(outer: Node<'_>) -> Vec<Node<'_>> {
    outer
        .descendants()
        .filter(|node| *node != outer && is_seen_outside(*node))
        .filter(|node| {
            let mut between = node.ancestors().take_while(|ancestor| *ancestor != outer);
            !between.any(is_seen_outside)
        })
        .collect()
}

/// Adds a definition and those inside it; returns what stands for it in the struct.
fn hoist(node: Node<'_>, definitions: &mut Vec<String>) -> String {
    let mut text = node.text().to_string();
    let start = node.range().start();
    for inner in outermost_inside(node).into_iter().rev() {
        let reference = hoist(inner, definitions);
        let (from, to) = (inner.range().start() - start, inner.range().end() - start);
        text.replace_range(usize::from(from)..usize::from(to), &reference);
    }
    let keyword = match node.kind() {
        Kind::StructSpecifier => "struct",
        Kind::UnionSpecifier => "union",
        _ => "enum",
    };
    let reference = match node.field(Field::Name) {
        Some(name) => format!("{keyword} {}", name.text()),
        None => {
            let name = format!("{keyword} rex_{keyword}_{}", u32::from(start));
            text = text.replacen(keyword, &name, 1);
            name
        }
    };
    definitions.push(format!("{text};"));
    reference
}
