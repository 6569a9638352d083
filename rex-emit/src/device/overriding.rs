//! Member functions that override virtual functions of headers, `what()` of `std::exception`: these are host code, and so are what overrides them.

use std::collections::BTreeSet;

use rex_ir::headers;
use rex_ir::program::Program;
use rex_ir::ty::RecordId;
use rex_syntax::{TextRange, lex};
use smol_str::SmolStr;

/// How many classes a class may have above each other that are looked at.
const MAX_DEPTH: u32 = 16;

/// The bodies of classes with bases from headers, each with the names of the virtual functions of these. `~` is the destructor.
pub(super) struct Overriding {
    classes: Vec<(TextRange, BTreeSet<SmolStr>)>,
}

impl Overriding {
    pub(super) fn of(program: &Program) -> Overriding {
        let mut classes = Vec::new();
        for (id, record) in program.types.records.iter() {
            if let Some(body) = record.body.filter(|_| !record.bases.is_empty()) {
                let mut names = BTreeSet::new();
                add_of_bases(program, id, MAX_DEPTH, &mut names);
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

fn add_of_bases(program: &Program, record: RecordId, depth: u32, names: &mut BTreeSet<SmolStr>) {
    let Some(deeper) = depth.checked_sub(1) else {
        return;
    };
    let types = &program.types;
    for base in types.bases(record) {
        add_of_bases(program, base, deeper, names);
    }
    for base in &types.records[record].bases {
        let plain = base.split('<').next().unwrap_or_default();
        let plain = plain.rsplit("::").next().unwrap_or_default().trim();
        let is_own =
            |id: RecordId| types.records[id].name == plain && types.records[id].body.is_some();
        if !types.bases(record).any(is_own) {
            add_of_header(program, plain, deeper, names);
        }
    }
}

/// The virtual functions of a class of a header and of its bases.
fn add_of_header(program: &Program, class: &str, depth: u32, names: &mut BTreeSet<SmolStr>) {
    let Some(text) = headers::tag_declaration(&program.unit, class) else {
        return;
    };
    let open = text.find('{').unwrap_or(text.len());
    if let Some(deeper) = depth.checked_sub(1) {
        let head = &text[..open];
        let bases = head.split_once(':').map_or("", |(_, bases)| bases);
        for base in headers::names_of(bases) {
            add_of_header(program, base, deeper, names);
        }
    }
    let (mut is_virtual, mut before) = (false, "");
    for token in lex::significant_tokens(&text, lex::whole(&text)) {
        match token.text(&text) {
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
        before = token.text(&text);
    }
}
