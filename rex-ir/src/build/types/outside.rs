//! Types that a declaration of a header knows while it is read: those that its classes declare, and what the parameters of its template stand for.

use rex_syntax::source::Language;
use smol_str::{SmolStr, format_smolstr};

use crate::build::Builder;
use crate::ty::TypeId;

/// The types that one class has declared so far, or the arguments of a template.
pub(in crate::build) struct OutsideTypes {
    /// The builder's `fragment_depth` where they are known: texts that are read on the way do not see them.
    depth: u32,
    /// What their names have in front elsewhere: `lib::vec<double>::`.
    qualifier: SmolStr,
    /// They belong to a template, whose class comes next.
    is_instance: bool,
    types: Vec<(SmolStr, TypeId)>,
}

impl Builder<'_> {
    /// Begins to read the class of a header that a template is with these arguments; `name` is the whole name, arguments included.
    pub(super) fn open_instance(&mut self, name: &str, arguments: Vec<(SmolStr, TypeId)>) {
        self.outside_types.push(OutsideTypes {
            depth: self.fragment_depth + 1,
            qualifier: format_smolstr!("{name}::"),
            is_instance: true,
            types: arguments,
        });
    }

    /// Begins to read the body of a class.
    pub(super) fn open_outside_types(&mut self, class: &str) {
        let depth = self.fragment_depth;
        let outer = self.outside_types.last();
        let qualifier = match outer.filter(|outer| outer.depth == depth) {
            Some(outer) if outer.is_instance => outer.qualifier.clone(),
            Some(outer) => format_smolstr!("{}{class}::", outer.qualifier),
            None if self.fragment_scope.is_empty() => format_smolstr!("{class}::"),
            None => format_smolstr!("{}::{class}::", self.fragment_scope),
        };
        self.outside_types.push(OutsideTypes {
            depth,
            qualifier,
            is_instance: false,
            types: Vec::new(),
        });
    }

    /// Ends what [`Builder::open_outside_types`] or [`Builder::open_instance`] began.
    pub(super) fn close_outside_types(&mut self) {
        self.outside_types.pop();
    }

    /// Enters a type that a member of the class being read declares. In C such types belong to the file.
    pub(super) fn add_outside_type(&mut self, name: &str, ty: TypeId) {
        let depth = self.fragment_depth;
        let class = self.outside_types.last();
        let Some(class) = class.filter(|class| depth > 0 && class.depth == depth) else {
            return;
        };
        if self.unit.language == Language::Cxx {
            let spelling = format!("{}{name}", class.qualifier);
            let ty = self.alias(&spelling, ty);
            if let Some(class) = self.outside_types.last_mut() {
                class.types.push((name.into(), ty));
            }
        }
    }

    /// What a name means in the declaration of a header that is being read, if the declaration says so itself.
    pub(super) fn outside_type(&self, name: &str) -> Option<TypeId> {
        let depth = self.fragment_depth;
        let inside_out = self.outside_types.iter().rev();
        let mut classes = inside_out.take_while(|class| depth > 0 && class.depth == depth);
        classes.find_map(|class| {
            let mut types = class.types.iter().rev();
            let found = types.find(|(known, _)| known == name);
            found.map(|(_, ty)| *ty)
        })
    }
}
