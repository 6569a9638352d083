//! Types that headers of the translation unit declare.

use rex_syntax::TextRange;
use rex_syntax::cst::parse_fragment;
use rex_syntax::kind::{Field, Kind};
use smol_str::SmolStr;

use crate::build::Builder;
use crate::ty::TypeId;

impl Builder<'_> {
    /// A type that a header of the translation unit declares.
    pub(in crate::build) fn header_type(&mut self, name: &str) -> Option<TypeId> {
        if let Some(known) = self.header_types.get(name) {
            return *known;
        }
        // Entered first: a declaration that mentions itself ends here.
        self.header_types.insert(name.into(), None);
        let text = crate::headers::type_declaration(self.unit, name)?;
        let ty = self.fragment_type(&text, name);
        self.header_types.insert(name.into(), ty);
        ty
    }

    /// A struct, union, class or enum that a header of the translation unit defines.
    pub(super) fn header_tag(&mut self, tag: &str) -> Option<TypeId> {
        let key: SmolStr = format!("struct {tag}").into();
        if let Some(known) = self.header_types.get(&key) {
            return *known;
        }
        self.header_types.insert(key.clone(), None);
        let text = crate::headers::tag_declaration(self.unit, tag)?;
        let ty = self.fragment_type(&text, tag);
        self.header_types.insert(key, ty);
        ty
    }

    /// The type that a declaration from a header gives to `name`.
    fn fragment_type(&mut self, text: &str, name: &str) -> Option<TypeId> {
        let tree = parse_fragment(text, self.unit.language);
        let nowhere = TextRange::empty(0.into());
        self.fragment_depth += 1;
        let mut found = None;
        for node in tree.root().descendants() {
            match node.kind() {
                Kind::TypeDefinition => {
                    let base = self.base_type(node, nowhere);
                    for declarator in node.fields(Field::Declarator) {
                        let declared = self.declarator(declarator, base, nowhere);
                        if declared
                            .name
                            .is_some_and(|declared| declared.text() == name)
                        {
                            found = Some(declared.ty);
                        }
                    }
                }
                Kind::AliasDeclaration
                    if node
                        .field(Field::Name)
                        .is_some_and(|alias| alias.text() == name) =>
                {
                    found = node
                        .field(Field::Type)
                        .map(|ty| self.descriptor_type(ty, nowhere));
                }
                Kind::StructSpecifier
                | Kind::UnionSpecifier
                | Kind::ClassSpecifier
                | Kind::EnumSpecifier
                    if node
                        .field(Field::Name)
                        .is_some_and(|tag| tag.text() == name) =>
                {
                    found = Some(self.specifier_type(node, nowhere));
                }
                _ => {}
            }
            if found.is_some() {
                break;
            }
        }
        self.fragment_depth -= 1;
        found
    }
}
