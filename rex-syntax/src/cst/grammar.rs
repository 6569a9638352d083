//! The tables of the two grammars: what the parser's numbers mean.

use std::sync::LazyLock;

use crate::kind::{Field, Kind};
use crate::source::Language;

/// One grammar with its symbols translated.
pub(super) struct Grammar {
    pub(super) language: tree_sitter::Language,
    names: Vec<Box<str>>,
    kinds: Vec<Kind>,
    pub(super) fields: Vec<Option<Field>>,
}

pub(super) struct Grammars {
    pub(super) c: Grammar,
    pub(super) cxx: Grammar,
}

pub(super) static GRAMMARS: LazyLock<Grammars> = LazyLock::new(|| Grammars {
    c: Grammar::new(tree_sitter_c::LANGUAGE.into()),
    cxx: Grammar::new(tree_sitter_cpp::LANGUAGE.into()),
});

impl Grammar {
    pub(super) fn of(language: Language) -> &'static Grammar {
        match language {
            Language::C => &GRAMMARS.c,
            Language::Cxx => &GRAMMARS.cxx,
        }
    }

    fn new(language: tree_sitter::Language) -> Grammar {
        let kinds = (0..language.node_kind_count())
            .map(|id| {
                let id = u16::try_from(id).unwrap_or(u16::MAX);
                let name = language.node_kind_for_id(id).unwrap_or_default();
                let named = language.node_kind_is_named(id);
                let known = Kind::NAMED.iter().find(|kind| named && kind.name() == name);
                known.copied().unwrap_or(Kind::Token)
            })
            .collect();
        let names = (0..language.node_kind_count())
            .map(|id| {
                let id = u16::try_from(id).unwrap_or(u16::MAX);
                language.node_kind_for_id(id).unwrap_or_default().into()
            })
            .collect();
        let fields = (0..=language.field_count())
            .map(|id| {
                let id = u16::try_from(id).unwrap_or(u16::MAX);
                let name = language.field_name_for_id(id)?;
                Field::ALL
                    .iter()
                    .find(|field| field.name() == name)
                    .copied()
            })
            .collect();
        Grammar {
            language,
            names,
            kinds,
            fields,
        }
    }

    pub(super) fn kind(&self, symbol: u16) -> Kind {
        self.kinds
            .get(usize::from(symbol))
            .copied()
            .unwrap_or(Kind::Token)
    }

    pub(super) fn field(&self, id: u16) -> Option<Field> {
        self.fields.get(usize::from(id)).copied().flatten()
    }

    pub(super) fn symbol_name(&'static self, symbol: u16) -> &'static str {
        self.names.get(usize::from(symbol)).map_or("", |name| name)
    }
}
