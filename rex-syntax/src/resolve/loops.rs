//! Loop transformations, written out as loops: `tile`, `stripe`, `unroll partial`, `interchange`, `reverse`, `split`, `fuse`.
//!
//! New loops count the iterations of the user's from 0; each iteration declares the user's variable with its value. They are canonical again, so that the
//! directive around them applies to them.

pub(super) mod canonical;

use text_size::TextRange;

use self::canonical::{Loop, loop_at, mentions, nest};
use super::metadirective::inside;
use super::{one_line, split, whole_lines};
use crate::cst::Node;
use crate::edit::EditSet;
use crate::kind::Kind;
use crate::layout::indent_at;
use crate::omp::clause::ClauseName;
use crate::omp::directive::{Directive, Leaf};
use crate::unit::Unit;

/// The transformations whose loops have none inside.
pub(super) fn edits(unit: &Unit) -> EditSet {
    let mut edits = EditSet::new();
    for idx in 0..unit.directives.len() {
        if !is_written_out(unit, idx) {
            continue;
        }
        let Some(statement) = unit.statement_of(idx) else {
            continue;
        };
        let has_inner = statement.descendants().any(|node| {
            unit.directive_of(node)
                .is_some_and(|inner| is_written_out(unit, inner))
        }) || unit
            .directive_of(statement)
            .is_some_and(|inner| is_written_out(unit, inner));
        if has_inner {
            continue;
        }
        let directive = &unit.directives[idx];
        let indent = indent_at(unit.tree.text(), directive.range.start());
        if let Some(text) = transformed(unit, directive, statement, indent) {
            let start = whole_lines(unit.tree.text(), directive.range).start();
            let range = TextRange::new(start, statement.range().end());
            edits.replace(range, format!("{indent}{text}"));
        }
    }
    edits
}

/// Whether a directive is a transformation that loops are written out for.
fn is_written_out(unit: &Unit, idx: usize) -> bool {
    let directive = &unit.directives[idx];
    if directive.clause(ClauseName::Apply).is_some() {
        return false;
    }
    match directive.first() {
        Some(
            Leaf::Tile
            | Leaf::Stripe
            | Leaf::Interchange
            | Leaf::Reverse
            | Leaf::Split
            | Leaf::Fuse,
        ) => true,
        // A hint, except for a directive that takes the loop.
        Some(Leaf::Unroll) => {
            let mask = unit.mask_of(idx);
            let parent = mask.and_then(Node::parent);
            directive.clause(ClauseName::Partial).is_some()
                && parent.is_some_and(|parent| unit.directive_of(parent).is_some())
        }
        _ => false,
    }
}

fn transformed(
    unit: &Unit,
    directive: &Directive,
    statement: Node<'_>,
    indent: &str,
) -> Option<String> {
    let list = |name| -> Option<Vec<String>> {
        let clause = directive.clause(name)?;
        let text = one_line(inside(unit.tree.text(), clause));
        Some(
            split(&text, ',')
                .iter()
                .map(|part| part.trim().to_string())
                .collect(),
        )
    };
    match directive.first()? {
        Leaf::Tile => {
            let sizes = list(ClauseName::Sizes)?;
            Some(tile(&nest(statement, sizes.len())?, &sizes, indent))
        }
        Leaf::Stripe => {
            let sizes = list(ClauseName::Sizes)?;
            Some(stripe(&nest(statement, sizes.len())?, &sizes, indent))
        }
        Leaf::Unroll => {
            let factor = list(ClauseName::Partial)
                .and_then(|list| list.into_iter().next())
                .filter(|factor| !factor.is_empty())
                .unwrap_or("4".into());
            Some(tile(&nest(statement, 1)?, &[factor], indent))
        }
        Leaf::Reverse => {
            let loops = nest(statement, 1)?;
            let only = loops.first()?;
            let number = only.number();
            let head = format!(
                "for (long long {number} = {} - 1; {number} >= 0; {number}--)",
                only.count
            );
            Some(with_body(vec![head], &loops, indent))
        }
        Leaf::Interchange => {
            let order = list(ClauseName::Permutation).unwrap_or(vec!["2".into(), "1".into()]);
            let loops = nest(statement, order.len())?;
            let mut heads = Vec::new();
            for place in &order {
                let idx: usize = place.parse().ok()?;
                heads.push(loops.get(idx.checked_sub(1)?)?.head.to_string());
            }
            let mut sorted = order.clone();
            sorted.sort();
            sorted.dedup();
            let is_free = (1..loops.len()).all(|idx| {
                loops[..idx]
                    .iter()
                    .all(|outer| !mentions(loops[idx].head, outer.variable))
            });
            (sorted.len() == order.len() && is_free).then(|| {
                nested(
                    &heads,
                    loops.last().map_or("", |inner| inner.body.text()),
                    indent,
                )
            })
        }
        Leaf::Split => {
            let counts = list(ClauseName::Counts)?;
            split_loop(nest(statement, 1)?.first()?, &counts, indent)
        }
        Leaf::Fuse => fuse(statement, list(ClauseName::Looprange), indent),
        _ => None,
    }
}

/// Loops over tiles around loops inside them.
fn tile(loops: &[Loop<'_>], sizes: &[String], indent: &str) -> String {
    let mut heads = Vec::new();
    for (only, size) in loops.iter().zip(sizes) {
        let tile = format!("{}_tile", only.variable);
        heads.push(format!(
            "for (long long {tile} = 0; {tile} < {}; {tile} += {size})",
            only.count
        ));
    }
    for (only, size) in loops.iter().zip(sizes) {
        let (tile, number, count) = (
            format!("{}_tile", only.variable),
            only.number(),
            &only.count,
        );
        heads.push(format!(
            "for (long long {number} = {tile}; {number} < ({tile} + {size} < {count} ? {tile} + {size} : {count}); {number}++)"
        ));
    }
    with_body(heads, loops, indent)
}

/// Loops over offsets around loops with the sizes as steps.
fn stripe(loops: &[Loop<'_>], sizes: &[String], indent: &str) -> String {
    let mut heads = Vec::new();
    for (only, size) in loops.iter().zip(sizes) {
        let offset = format!("{}_offset", only.variable);
        heads.push(format!(
            "for (long long {offset} = 0; {offset} < {size}; {offset}++)"
        ));
    }
    for (only, size) in loops.iter().zip(sizes) {
        let (offset, number) = (format!("{}_offset", only.variable), only.number());
        heads.push(format!(
            "for (long long {number} = {offset}; {number} < {}; {number} += {size})",
            only.count
        ));
    }
    with_body(heads, loops, indent)
}

/// Several loops after each other.
fn split_loop(only: &Loop<'_>, counts: &[String], indent: &str) -> Option<String> {
    let is_fill = |count: &String| count == "omp_fill";
    let fill = counts.iter().position(is_fill)?;
    let sum = |counts: &[String]| match counts.is_empty() {
        true => "0".to_string(),
        false => counts.join(" + "),
    };
    let number = only.number();
    let inner = format!("{indent}  ");
    let mut out = String::from("{\n");
    for idx in 0..counts.len() {
        let first = match idx <= fill {
            true => sum(&counts[..idx]),
            false => format!("{} - ({})", only.count, sum(&counts[idx..])),
        };
        let end = match idx < fill {
            true => sum(&counts[..=idx]),
            false => format!("{} - ({})", only.count, sum(&counts[idx + 1..])),
        };
        let head = format!("for (long long {number} = {first}; {number} < {end}; {number}++)");
        let body = with_body(vec![head], std::slice::from_ref(only), &inner);
        out.push_str(&format!("{inner}{body}\n"));
    }
    out.push_str(&format!("{indent}}}"));
    Some(out)
}

/// One loop for those of a block, or of a range of them.
fn fuse(block: Node<'_>, range: Option<Vec<String>>, indent: &str) -> Option<String> {
    if block.kind() != Kind::CompoundStatement {
        return None;
    }
    let statements: Vec<Node<'_>> = block
        .children()
        .filter(|child| child.kind() != Kind::Comment)
        .collect();
    let (first, n) = match range.as_deref() {
        None => (0, statements.len()),
        Some([first, n]) => {
            let first: usize = first.parse().ok()?;
            (first.checked_sub(1)?, n.parse().ok()?)
        }
        Some(_) => return None,
    };
    let fused: Option<Vec<Loop<'_>>> = statements
        .get(first..first.checked_add(n)?)?
        .iter()
        .map(|node| loop_at(*node))
        .collect();
    let fused = fused.filter(|fused| !fused.is_empty())?;
    let count = fused
        .iter()
        .map(|only| only.count.clone())
        .reduce(|most, next| format!("({most} < {next} ? {next} : {most})"))?;
    let is_alone = fused.len() == statements.len();
    let margin = match is_alone {
        true => indent.to_string(),
        false => format!("{indent}  "),
    };
    let number = "fused_number";
    let mut one = format!("for (long long {number} = 0; {number} < {count}; {number}++) {{\n");
    for only in &fused {
        let body = only.body.text();
        let value = only.declaration(number);
        let continues = mentions(body, "continue");
        let (open, close) = match continues {
            true => ("do {", "} while (0);"),
            false => ("{", "}"),
        };
        one.push_str(&format!(
            "{margin}  if ({number} < {}) {open}\n{margin}    {value}\n{margin}    {body}\n{margin}  {close}\n",
            only.count
        ));
    }
    one.push_str(&format!("{margin}}}"));
    if is_alone {
        return Some(one);
    }
    let mut out = String::from("{\n");
    for (idx, statement) in statements.iter().enumerate() {
        if idx == first {
            out.push_str(&format!("{margin}{one}\n"));
        }
        if idx < first || idx >= first + n {
            out.push_str(&format!("{margin}{}\n", statement.text()));
        }
    }
    out.push_str(&format!("{indent}}}"));
    Some(out)
}

/// Loops with the values of the user's variables before the body.
fn with_body(heads: Vec<String>, loops: &[Loop<'_>], indent: &str) -> String {
    let margin = format!("{indent}{}", "  ".repeat(heads.len()));
    let values: Vec<String> = loops
        .iter()
        .map(|only| format!("{margin}{}\n", only.declaration(&only.number())))
        .collect();
    let body = loops.last().map_or("", |inner| inner.body.text());
    let outer = &margin[..margin.len() - 2];
    let block = format!("{{\n{}{margin}{body}\n{outer}}}", values.concat());
    nested(&heads, &block, indent)
}

fn nested(heads: &[String], body: &str, indent: &str) -> String {
    let mut out = String::new();
    for (depth, head) in heads.iter().enumerate() {
        if depth > 0 {
            out.push_str(&format!("\n{indent}{}", "  ".repeat(depth)));
        }
        out.push_str(head);
    }
    format!("{out} {body}")
}
