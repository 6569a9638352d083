//! Lines that give a body its names back.

use rex_ir::kernel::{ArrayOwner, Prologue};
use rex_ir::namer;
use rex_ir::ty::{TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::source::Language;

use super::leader::leader_block;
use super::{BodyPrinter, STEP};
use crate::common::text::reindent;
use crate::common::{classes, expr};
use crate::device::class::untagged_head;
use crate::device::kernel::declare_pointer;

/// What becomes of an entry of a prologue.
#[derive(Default)]
struct Entry {
    /// What all threads do.
    lines: Vec<String>,
    /// What the leader does, in the end, for the others to see.
    leader: Option<String>,
}

impl From<Vec<String>> for Entry {
    fn from(lines: Vec<String>) -> Entry {
        Entry {
            lines,
            leader: None,
        }
    }
}

impl BodyPrinter<'_> {
    /// Lines of a prologue. What the leader does for several objects stands together, with one barrier behind.
    pub(in crate::device) fn prologue(&self, prologue: &[Prologue]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut leader = Vec::new();
        for line in prologue {
            if self.computes_extents(line) {
                lines.extend(leader_block(&mut leader));
            }
            let entry = self.entry(line);
            lines.extend(entry.lines);
            leader.extend(entry.leader);
        }
        lines.extend(leader_block(&mut leader));
        lines
    }

    /// Whether an entry computes with the values of variables.
    fn computes_extents(&self, line: &Prologue) -> bool {
        let is_sized = |ty: &TypeId| self.program.types.is_variably_modified(*ty);
        match line {
            Prologue::View { .. } | Prologue::SizedArray { .. } => true,
            Prologue::Aligned { line, .. } => self.computes_extents(line),
            Prologue::Private { ty, .. }
            | Prologue::SharedPrivate { ty, .. }
            | Prologue::CopyOfOuter { ty, .. }
            | Prologue::SharedCopyOfOuter { ty, .. }
            | Prologue::ThreadCopy { ty, .. }
            | Prologue::SharedCopy { ty, .. } => is_sized(ty),
            _ => false,
        }
    }

    /// What stands in front of and behind the body of a kernel for a pack: a pack can only be declared as parameters.
    pub(in crate::device) fn pack(&self, line: &Prologue) -> Option<[String; 2]> {
        let Prologue::Pack {
            name,
            ty,
            parameter,
        } = line
        else {
            return None;
        };
        let value = self.value_type(*ty);
        Some([
            format!("[&](typename rex_captured<{value}>::rex_type... {name}) {{"),
            format!("}}(rex_captured<{value}>::rex_get({parameter})...);"),
        ])
    }

    fn entry(&self, line: &Prologue) -> Entry {
        let types = &self.program.types;
        let lines = match line {
            Prologue::Declaration(range) => {
                let text = self.words_of(*range).replace("\r\n", "\n");
                let text = text.trim_end();
                let end = if text.ends_with(';') { "" } else { ";" };
                vec![format!(
                    "{}{end}",
                    reindent(text, &self.source_indent(*range), STEP)
                )]
            }
            Prologue::Untagged(record) => {
                let record = &types.records[*record];
                let Some(body) = record.body else {
                    return Entry::default();
                };
                // Types that C defines inside stay there: what stands in front of the variable's declaration is not repeated.
                let text = match self.program.language() {
                    Language::C => self.program.text(body).to_string(),
                    Language::Cxx => self.words_of(body),
                };
                let text = text.replace("\r\n", "\n");
                let body = reindent(&text, &self.source_indent(body), STEP);
                vec![format!("{} {body};", untagged_head(self.program, record))]
            }
            Prologue::Captured {
                name,
                ty,
                parameter,
                is_firstprivate,
            } => {
                let value = self.value_type(*ty);
                let how = match is_firstprivate {
                    true => "rex_firstprivate",
                    false => "rex_captured",
                };
                vec![format!(
                    "typename {how}<{value}>::rex_type {name} = {how}<{value}>::rex_get({parameter});"
                )]
            }
            Prologue::CapturedPlace {
                name,
                ty,
                parameter,
            } => {
                let value = self.value_type(*ty);
                vec![format!(
                    "auto *{name} = rex_captured<{value}>::rex_place({parameter});"
                )]
            }
            // The body is around it.
            Prologue::Pack { .. } => return Entry::default(),
            Prologue::Unpack {
                name,
                ty,
                parameter,
            } => vec![format!(
                "{} = reinterpret_cast<{}>({parameter});",
                declare_pointer(types, *ty, name),
                declare_pointer(types, *ty, "").trim_end()
            )],
            Prologue::Literal {
                name,
                ty,
                parameter,
            } => {
                let value = self.value_type(*ty);
                vec![format!(
                    "{} = rex_literal<{value}>({parameter});",
                    types.declare(*ty, name)
                )]
            }
            Prologue::SharedLiteral {
                name,
                ty,
                parameter,
            } => {
                let value = self.value_type(*ty);
                return Entry {
                    lines: vec![format!("__shared__ {};", self.declare_mutable(*ty, name))],
                    leader: Some(format!("{name} = rex_literal<{value}>({parameter});")),
                };
            }
            Prologue::Reference {
                name,
                ty,
                parameter,
            } => {
                vec![format!(
                    "{} = *{parameter};",
                    self.declare_reference(*ty, name)
                )]
            }
            Prologue::ArrayReference {
                name,
                ty,
                parameter,
            } => {
                let pointer = types.declare(*ty, "(*)");
                vec![format!(
                    "{} = *reinterpret_cast<{pointer}>({parameter});",
                    self.declare_reference(*ty, name)
                )]
            }
            Prologue::View {
                name,
                element,
                extents,
                parameter,
            } => {
                let extents_text: Vec<String> = extents
                    .iter()
                    .map(|extent| expr::print(self.program, self, extent))
                    .collect();
                vec![format!(
                    "rex_view<{}, {}> {name}({parameter}, {});",
                    types.spell(*element),
                    extents.len(),
                    extents_text.join(", ")
                )]
            }
            Prologue::Allocator { name, ty, traits } => {
                let traits = traits.as_ref().map_or("", |traits| traits.as_str());
                vec![format!(
                    "{} = rex_allocator<{}>({traits});",
                    self.declare_mutable(*ty, name),
                    self.value_type(*ty)
                )]
            }
            Prologue::Aligned { value, line } => {
                let mut entry = self.entry(line);
                self.align(&mut entry.lines, *value);
                return entry;
            }
            Prologue::Private { name, ty } if types.is_variably_modified(*ty) => {
                self.sized_private(*ty, name, &ArrayOwner::Thread)
            }
            Prologue::SharedPrivate { name, ty } if types.is_variably_modified(*ty) => {
                self.sized_private(*ty, name, &ArrayOwner::Team)
            }
            Prologue::CopyOfOuter { name, ty } if types.is_variably_modified(*ty) => {
                self.sized_copy(*ty, name, &ArrayOwner::Thread)
            }
            Prologue::SharedCopyOfOuter { name, ty } if types.is_variably_modified(*ty) => {
                self.sized_copy(*ty, name, &ArrayOwner::Team)
            }
            Prologue::ThreadCopy {
                name,
                ty,
                parameter,
            } if types.is_variably_modified(*ty) => {
                self.sized_copy_behind(*ty, name, parameter, &ArrayOwner::Thread)
            }
            Prologue::SharedCopy {
                name,
                ty,
                parameter,
            } if types.is_variably_modified(*ty) => {
                self.sized_copy_behind(*ty, name, parameter, &ArrayOwner::Team)
            }
            Prologue::Private { name, ty } => vec![format!("{};", self.declare_mutable(*ty, name))],
            Prologue::SizedArray {
                name,
                element,
                extents,
                named,
                owner,
            } => {
                // One line: a statement that stands for one.
                let numbers = named.iter().map(|(name, value)| {
                    let value = expr::print(self.program, self, value);
                    format!("{}; ", namer::declared_extent(name, &value))
                });
                let array = self.sized_array(name, *element, extents, owner);
                vec![format!(
                    "{}{}",
                    numbers.collect::<String>(),
                    array.join(" ")
                )]
            }
            Prologue::SharedPrivate { name, ty } => {
                let constructs = classes::has_constructor(self.program, *ty);
                return Entry {
                    lines: self.shared_object(*ty, name),
                    leader: constructs.then(|| format!("rex_construct({name});")),
                };
            }
            Prologue::SharedCopy {
                name,
                ty,
                parameter,
            } => {
                return Entry {
                    lines: self.shared_object(*ty, name),
                    leader: Some(self.shared_copy(*ty, name, &format!("*{parameter}"), parameter)),
                };
            }
            Prologue::SharedCopyOfOuter { name, ty } => {
                let outer = format!("{name}__outer");
                let mut lines = vec![format!("{} = {name};", self.declare_reference(*ty, &outer))];
                lines.extend(self.shared_object(*ty, name));
                return Entry {
                    lines,
                    leader: Some(self.shared_copy(*ty, name, &outer, &outer)),
                };
            }
            Prologue::CopyOfOuter { name, ty } => {
                let array = matches!(types.get(types.desugar(*ty)).kind, TypeKind::Array { .. });
                if array && classes::has_class_elements(self.program, *ty) {
                    let mut lines = vec![format!(
                        "{} = {name};",
                        self.declare_reference(*ty, &format!("{name}__outer"))
                    )];
                    lines.extend(self.array_of_copies(*ty, name, &format!("{name}__outer")));
                    lines
                } else if array {
                    vec![
                        format!(
                            "{} = {name};",
                            self.declare_reference(*ty, &format!("{name}__outer"))
                        ),
                        format!("{};", self.declare_mutable(*ty, name)),
                        format!("memcpy({name}, {name}__outer, sizeof({name}));"),
                    ]
                } else {
                    vec![
                        format!(
                            "{} = {name};",
                            self.declare_reference(*ty, &format!("{name}__outer"))
                        ),
                        format!("{} = {name}__outer;", self.declare_mutable(*ty, name)),
                    ]
                }
            }
            Prologue::CapturedOfOuter { name } => vec![
                format!("auto &{name}__outer = {name};"),
                format!(
                    "typename rex_captured<decltype({name}__outer)>::rex_type {name} = {name}__outer;"
                ),
            ],
            Prologue::ThreadCopy {
                name,
                ty,
                parameter,
            } => {
                let array = matches!(types.get(types.desugar(*ty)).kind, TypeKind::Array { .. });
                if array && classes::has_class_elements(self.program, *ty) {
                    self.array_of_copies(*ty, name, parameter)
                } else if array {
                    vec![
                        format!("{};", self.declare_mutable(*ty, name)),
                        format!("memcpy({name}, {parameter}, sizeof({name}));"),
                    ]
                } else {
                    vec![format!(
                        "{} = *{parameter};",
                        self.declare_mutable(*ty, name)
                    )]
                }
            }
        };
        lines.into()
    }

    /// Gives the object that lines declare an alignment.
    pub(super) fn align(&self, lines: &mut [String], value: TextRange) {
        let declares = |text: &String| !text.contains('&') || text.contains("__shared__");
        if let Some(first) = lines.iter_mut().find(|text| declares(text)) {
            *first = format!("alignas({}) {first}", self.program.text(value).trim());
        }
    }

    /// The declaration of an object in shared memory; one with a constructor is not constructed yet.
    pub(super) fn shared_object(&self, ty: TypeId, name: &str) -> Vec<String> {
        if !classes::has_constructor(self.program, ty) {
            return vec![format!("__shared__ {};", self.declare_mutable(ty, name))];
        }
        let value = self.value_type(ty);
        let mut lines = vec![
            format!("__shared__ rex_storage<{value}> {name}__storage;"),
            format!(
                "{} = {name}__storage.rex_object();",
                self.declare_reference(ty, name)
            ),
        ];
        if classes::has_destructor(self.program, ty) {
            lines.push(format!("rex_destructor<{value}> {name}__end({name});"));
        }
        lines
    }

    /// Where an object is constructed whose name may be that of a constant.
    pub(super) fn place_of(&self, ty: TypeId, name: &str) -> String {
        let types = &self.program.types;
        match types.get(types.innermost_element(ty)).is_const {
            true => format!("rex_place{{(void *)&{name}}}"),
            false => format!("rex_place{{&{name}}}"),
        }
    }

    /// How the leader fills the team's copy in shared memory.
    pub(super) fn shared_copy(&self, ty: TypeId, name: &str, value: &str, address: &str) -> String {
        let types = &self.program.types;
        match types.get(types.desugar(ty)).kind {
            TypeKind::Array { .. } if classes::has_constructor(self.program, ty) => {
                format!("rex_construct_copies({name}, {address});")
            }
            TypeKind::Array { .. } if classes::has_class_elements(self.program, ty) => {
                let array = self.value_type(ty);
                format!("rex_assign_elements<{array}>({name}, {address});")
            }
            TypeKind::Array { .. } => format!("memcpy({name}, {address}, sizeof({name}));"),
            _ if classes::has_constructor(self.program, ty) => format!(
                "::new ({}) {}({value});",
                self.place_of(ty, name),
                self.value_type(ty)
            ),
            _ => format!("{name} = {value};"),
        }
    }

    /// A thread's copy of an array of objects.
    fn array_of_copies(&self, ty: TypeId, name: &str, from: &str) -> Vec<String> {
        let array = self.value_type(ty);
        vec![
            format!("rex_array_of_copies<{array}> {name}__own({from});"),
            format!(
                "{} = {name}__own.rex_object();",
                self.declare_mutable(ty, &format!("(&{name})"))
            ),
        ]
    }

    pub(super) fn declare_reference(&self, ty: TypeId, name: &str) -> String {
        let types = &self.program.types;
        match types.get(ty).kind {
            TypeKind::Array { .. } => types.declare(ty, &format!("(&{name})")),
            _ => types.declare(ty, &format!("&{name}")),
        }
    }

    /// A variable that can be assigned, whatever `const` the original has.
    pub(super) fn declare_mutable(&self, ty: TypeId, name: &str) -> String {
        self.program.types.declare_mutable(ty, name)
    }

    /// The type a literal is read as.
    pub(super) fn value_type(&self, ty: TypeId) -> String {
        self.program.types.declare_mutable(ty, "")
    }
}
