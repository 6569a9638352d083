//! Member functions that override virtual functions of headers, `what()` of `std::exception`: these are host code, and so are what overrides them.

use std::collections::BTreeSet;

use indexmap::IndexSet;
use rex_ir::headers;
use rex_ir::program::Program;
use rex_ir::ty::RecordId;
use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

/// The bodies of classes with bases from headers, each with the names of the virtual functions of these. `~` is the destructor.
pub(super) struct Overriding {
    classes: Vec<(TextRange, BTreeSet<SmolStr>)>,
}

impl Overriding {
    pub(super) fn of(program: &Program) -> Overriding {
        let mut classes = Vec::new();
        for (id, record) in program.types.records.iter() {
            if let Some(body) = record.body.filter(|_| !record.bases.is_empty()) {
                let names = virtual_functions(program, bases_of_headers(program, id));
                if !names.is_empty() {
                    classes.push((body, names));
                }
            }
        }
        Overriding { classes }
    }

    /// Whether a member function in a class is one of these, by a word of it.
    pub(super) fn names_any<'t>(
        &self,
        function: TextRange,
        words: impl IntoIterator<Item = &'t str>,
    ) -> bool {
        let around = self.classes.iter();
        let Some((_, names)) = around
            .filter(|(body, _)| body.contains_range(function))
            .min_by_key(|(body, _)| body.len())
        else {
            return false;
        };
        words.into_iter().any(|word| match word.strip_prefix('~') {
            Some(_) => names.contains("~"),
            None => names.contains(word),
        })
    }
}

/// The classes of headers among the bases of a class, and among those of its bases.
fn bases_of_headers(program: &Program, record: RecordId) -> IndexSet<SmolStr> {
    let types = &program.types;
    let is_own = |class: &RecordId| types.records[*class].body.is_some();
    let classes = types.with_bases(record);
    let bases = classes.iter().flat_map(|id| &types.records[*id].bases);
    bases
        .filter(|base| !base.classes.iter().any(is_own))
        .map(|base| base.plain_name().into())
        .collect()
}

/// The virtual functions of classes of headers and of their bases.
fn virtual_functions(program: &Program, mut classes: IndexSet<SmolStr>) -> BTreeSet<SmolStr> {
    let mut names = BTreeSet::new();
    let mut next = 0;
    while let Some(class) = classes.get_index(next).cloned() {
        next += 1;
        let Some(text) = headers::tag_declaration(&program.unit, &class) else {
            continue;
        };
        let head = &text[..text.find('{').unwrap_or(text.len())];
        let bases = head.split_once(':').map_or("", |(_, bases)| bases);
        classes.extend(headers::names_of(bases).map(SmolStr::new));
        add_virtual_functions(&text, &mut names);
    }
    names
}

fn add_virtual_functions(class: &str, names: &mut BTreeSet<SmolStr>) {
    let (mut is_virtual, mut before) = (false, "");
    for token in lex::significant_tokens(class, lex::whole(class)) {
        match token.text(class) {
            "virtual" => is_virtual = true,
            "~" if is_virtual => {
                names.insert("~".into());
                is_virtual = false;
            }
            "(" if is_virtual && before != "__attribute__" => {
                names.insert(before.into());
                is_virtual = false;
            }
            ";" | "{" | "}" => is_virtual = false,
            _ => {}
        }
        before = token.text(class);
    }
}
