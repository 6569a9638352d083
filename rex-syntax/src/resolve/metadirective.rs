//! Metadirectives: the directive that their context chooses, or a choice that the program makes.

use text_size::{TextRange, TextSize};

use super::context::{Context, Verdict};
use super::{one_line, split, whole_lines};
use crate::cst::Node;
use crate::diag::Diagnostics;
use crate::edit::EditSet;
use crate::layout::indent_at;
use crate::lex::{self, slice};
use crate::omp::clause::{Argument, Clause, ClauseName};
use crate::omp::directive::{Association, Directive, Leaf};
use crate::omp::parse::parse_directive;
use crate::pragma::PragmaLine;
use crate::unit::Unit;

/// The metadirectives that no other one stands around.
pub(super) fn edits(unit: &Unit) -> EditSet {
    let mut edits = EditSet::new();
    let mut done = TextSize::new(0);
    for idx in 0..unit.directives.len() {
        let directive = &unit.directives[idx];
        if directive.range.start() < done {
            continue;
        }
        let begins = match directive.first() {
            Some(Leaf::Metadirective) => false,
            Some(Leaf::BeginMetadirective) => true,
            _ => continue,
        };
        let Some(mask) = unit.mask_of(idx) else {
            continue;
        };
        let choice = Choice::of(unit, directive, mask);
        let end = match begins {
            true => choice.write_block(unit, idx, &mut edits),
            false => choice.write_statement(unit, idx, &mut edits),
        };
        done = done.max(end.unwrap_or(done));
    }
    edits
}

/// The candidates that may be chosen, in the order in which they are asked.
struct Choice {
    /// With their conditions.
    asked: Vec<(String, String)>,
    /// What is chosen if no condition holds; empty is no directive.
    otherwise: String,
}

impl Choice {
    fn of(unit: &Unit, directive: &Directive, mask: Node<'_>) -> Choice {
        let context = Context::of(unit, mask);
        let text = unit.tree.text();
        let mut candidates = Vec::new();
        let mut otherwise = String::new();
        for clause in &directive.clauses {
            let written = inside(text, clause);
            match clause.name {
                ClauseName::When => {
                    let parts = split(written, ':');
                    let selector = parts.first().copied().unwrap_or("");
                    let rest = written.get(selector.len() + 1..).unwrap_or("");
                    let found = context.evaluate(&one_line(selector), clause.range.start());
                    if found.verdict != Verdict::Never {
                        candidates.push((found, one_line(rest)));
                    }
                }
                ClauseName::Otherwise | ClauseName::Default => otherwise = one_line(written),
                _ => {}
            }
        }
        candidates.sort_by_key(|(found, _)| std::cmp::Reverse(found.score));
        let mut asked = Vec::new();
        for (found, chosen) in candidates {
            match found.verdict {
                Verdict::If(condition) => asked.push((condition, chosen)),
                Verdict::Always => {
                    otherwise = chosen;
                    break;
                }
                Verdict::Never => {}
            }
        }
        Choice { asked, otherwise }
    }

    /// The directives, in order.
    fn all(&self) -> impl Iterator<Item = &str> {
        let asked = self.asked.iter().map(|(_, chosen)| chosen.as_str());
        asked.chain([self.otherwise.as_str()])
    }

    /// Writes out a metadirective in front of a statement; returns where the text that it replaces ends.
    fn write_statement(&self, unit: &Unit, idx: usize, edits: &mut EditSet) -> Option<TextSize> {
        let text = unit.tree.text();
        let pragma = unit.directives[idx].range;
        if self.asked.is_empty() {
            replace_line(text, pragma, &self.otherwise, edits);
            return Some(pragma.end());
        }
        let stands_alone = self.all().all(|words| {
            words.is_empty() || parsed(unit, words).association() == Association::Standalone
        });
        let statement = match stands_alone {
            true => None,
            false => unit.statement_of(idx),
        };
        let range = statement.map_or(pragma, |statement| pragma.cover(statement.range()));
        let body = statement.map_or("", Node::text);
        edits.replace(range, self.branches(indent_at(text, pragma.start()), body));
        Some(range.end())
    }

    /// `if (..) { directive statement } else ..`
    fn branches(&self, indent: &str, body: &str) -> String {
        let mut out = String::new();
        for (condition, chosen) in &self.asked {
            out.push_str(&format!("if ({condition}) {{\n"));
            out.push_str(&branch(chosen, indent, body));
            out.push_str(&format!("{indent}}} else "));
        }
        out.push_str("{\n");
        out.push_str(&branch(&self.otherwise, indent, body));
        out.push_str(&format!("{indent}}}"));
        out
    }

    /// Writes out `begin metadirective` and its end.
    fn write_block(&self, unit: &Unit, idx: usize, edits: &mut EditSet) -> Option<TextSize> {
        let text = unit.tree.text();
        let begin = unit.directives[idx].range;
        let mut depth = 0;
        let end = unit.directives[idx..].iter().find(|directive| {
            match directive.first() {
                Some(Leaf::BeginMetadirective) => depth += 1,
                Some(Leaf::EndMetadirective) => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        let end = end.range;
        let takes_block = |words: &str| {
            let directive = parsed(unit, words);
            directive.association() == Association::Statement
                && !directive.leaves.last().is_some_and(|leaf| is_loop(*leaf))
        };
        if self.asked.is_empty() {
            let opens = takes_block(&self.otherwise);
            let words = match opens {
                true => format!("{}\n{}{{", self.otherwise, indent_at(text, begin.start())),
                false => self.otherwise.clone(),
            };
            replace_line(text, begin, &words, edits);
            match opens {
                true => edits.replace(end, "}"),
                false => edits.delete(whole_lines(text, end)),
            }
            return Some(begin.end());
        }
        let body = slice(text, TextRange::new(begin.end(), end.start())).trim();
        let indent = indent_at(text, begin.start());
        let body = match self.all().any(takes_block) {
            true => format!("{{\n{indent}{body}\n{indent}}}"),
            false => body.to_string(),
        };
        edits.replace(begin.cover(end), self.branches(indent, &body));
        Some(end.end())
    }
}

fn branch(words: &str, indent: &str, body: &str) -> String {
    let pragma = match is_nothing(words) {
        true => String::new(),
        false => format!("#pragma omp {words}\n"),
    };
    match body.is_empty() {
        true => pragma,
        false => format!("{pragma}{indent}  {body}\n"),
    }
}

fn replace_line(text: &str, pragma: TextRange, words: &str, edits: &mut EditSet) {
    match is_nothing(words) {
        true => edits.delete(whole_lines(text, pragma)),
        false => edits.replace(pragma, format!("#pragma omp {words}")),
    }
}

fn is_nothing(words: &str) -> bool {
    words.is_empty() || words == Leaf::Nothing.spelling()
}

fn is_loop(leaf: Leaf) -> bool {
    matches!(
        leaf,
        Leaf::For | Leaf::Simd | Leaf::Loop | Leaf::Distribute | Leaf::Taskloop
    ) || matches!(
        leaf,
        Leaf::Tile | Leaf::Unroll | Leaf::Interchange | Leaf::Reverse | Leaf::Stripe | Leaf::Split
    )
}

fn parsed(unit: &Unit, words: &str) -> Directive {
    let whole = PragmaLine {
        range: lex::whole(words),
        body: lex::whole(words),
    };
    parse_directive(words, &whole, unit.file, &mut Diagnostics::new())
}

/// What stands in a clause's parentheses.
pub(super) fn inside<'t>(text: &'t str, clause: &Clause) -> &'t str {
    match clause.argument {
        Argument::Raw(range) => slice(text, range),
        _ => {
            let whole = slice(text, clause.range);
            match (whole.find('('), whole.rfind(')')) {
                (Some(open), Some(close)) if open < close => &whole[open + 1..close],
                _ => "",
            }
        }
    }
}
