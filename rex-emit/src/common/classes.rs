//! What must be called when objects begin, are copied and end.

use std::collections::BTreeSet;

use rex_ir::program::Program;
use rex_ir::ty::{Category, Meaning, RecordId, TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::source::Language;

/// Whether something must happen when objects of a type, or elements of it, end.
pub(crate) fn has_destructor(program: &Program, ty: TypeId) -> bool {
    ends(program, ty, &mut BTreeSet::new())
}

/// The same, given classes that were looked at: a class may have many parts of another one.
fn ends(program: &Program, ty: TypeId, seen: &mut BTreeSet<RecordId>) -> bool {
    let types = &program.types;
    let Some(record) = types.record(types.innermost_element(ty)) else {
        return false;
    };
    match types.records[record].body {
        Some(body) => {
            program.text(body).contains('~')
                || !types.records[record].bases.is_empty()
                || seen.insert(record) && types.parts(record).any(|part| ends(program, part, seen))
        }
        // Those of the standard library that device code can have hold values.
        None => !types.spell(types.innermost_element(ty)).contains("std::"),
    }
}

/// Whether objects of a type, or elements of it, must be constructed.
pub(crate) fn has_constructor(program: &Program, ty: TypeId) -> bool {
    let types = &program.types;
    let element = types.innermost_element(ty);
    let Some(id) = types.record(element) else {
        return may_be_class(program, element);
    };
    if holds_constants(program, id, &mut BTreeSet::new()) {
        return true;
    }
    let record = &types.records[id];
    let initializes = |body: TextRange| {
        program
            .text(body)
            .trim_start_matches('{')
            .contains(['=', '{'])
    };
    program.language() == Language::Cxx
        && (record.method(&record.name).is_some()
            || record.has_table()
            || !record.bases.is_empty()
            || record.body.is_none_or(initializes)
            || types
                .parts(id)
                .any(|part| types.record(types.innermost_element(part)).is_some()))
}

/// Whether objects of a class hold constants or references, which C++ does not assign to; given classes that were looked at.
fn holds_constants(program: &Program, record: RecordId, seen: &mut BTreeSet<RecordId>) -> bool {
    let types = &program.types;
    let fields = types.records[record].fields.iter();
    fields.filter(|field| !field.is_static).any(|field| {
        let part = types.record(types.innermost_element(field.ty));
        let mut holds = |part| seen.insert(part) && holds_constants(program, part, seen);
        types.is_constant(field.ty) || types.is_reference(field.ty) || part.is_some_and(&mut holds)
    })
}

/// The statement that constructs an object at a place; the arguments stand in parentheses or braces.
pub(crate) fn new_object(place: &str, ty: &str, arguments: &str) -> String {
    let head = new_head(place, ty, arguments.starts_with('{'));
    format!("{head}{arguments};")
}

/// The same up to the arguments.
pub(crate) fn new_head(place: &str, ty: &str, has_braces: bool) -> String {
    let is_tag = |word: &str| matches!(word, "struct" | "class" | "union" | "enum");
    // In front of braces, the word `struct` would begin the class's definition; behind `void (*)()`, arguments would be parameters.
    let is_pointer = ty.contains("(*") || ty.ends_with("::*");
    match is_pointer || has_braces && ty.split(' ').any(is_tag) {
        true => format!("::new ({place}) rex_object<{ty}>"),
        false => format!("::new ({place}) {ty}"),
    }
}

/// Whether a type that the unit does not define may be a class: an instance of a template that it includes, `std::complex<double>`, or what a template's parameter
/// gives.
fn may_be_class(program: &Program, ty: TypeId) -> bool {
    let types = &program.types;
    match &types.get(types.object_type(ty)).kind {
        TypeKind::Named { spelling, meaning } => match meaning {
            Meaning::Dependent => true,
            Meaning::Unknown => spelling.ends_with('>'),
            _ => false,
        },
        _ => false,
    }
}

/// Whether the elements of an array may be objects that are copied by functions of their class.
pub(crate) fn has_class_elements(program: &Program, ty: TypeId) -> bool {
    let types = &program.types;
    let element = types.innermost_element(ty);
    let is_plain = match types.category(element) {
        Category::Unknown | Category::Dependent => false,
        Category::Aggregate => {
            let record = types.record(element).map(|record| &types.records[record]);
            let assigns = record
                .and_then(|record| record.body)
                .is_some_and(|body| program.text(body).contains("operator"));
            !assigns && !has_constructor(program, element) && !has_destructor(program, element)
        }
        Category::Scalar | Category::WideScalar | Category::Pointer | Category::Function => true,
    };
    program.language() == Language::Cxx && !is_plain
}
