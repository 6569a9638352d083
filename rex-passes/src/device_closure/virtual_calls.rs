//! Calls of virtual functions on objects of the host: what an object says of its class is an address of the host's.
//!
//! Regions have such objects by their captures, and hand them on to functions as arguments and as the object of a member function.

use indexmap::{IndexMap, IndexSet};
use rex_ir::item::FunctionId;
use rex_ir::program::Program;
use rex_ir::region::{Call, Callee, CapturedObject, Region, Transport};
use rex_ir::symbol::SymbolId;
use rex_ir::ty::{RecordId, TypeId, TypeKind};
use rex_syntax::TextRange;
use rex_syntax::cst::Node;
use rex_syntax::diag::{Code, Severity};
use rex_syntax::kind::{Field, Kind};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::pass::PassCx;

type ByName<'p> = FxHashMap<&'p str, Vec<FunctionId>>;

/// Warns where device code calls a virtual function of an object that it has from the host.
pub(super) fn report(cx: &mut PassCx<'_>, functions: &IndexSet<FunctionId>) {
    let program = &*cx.program;
    let names: FxHashSet<&str> = program
        .functions
        .values()
        .filter(|function| function.is_virtual())
        .map(|function| function.name.as_str())
        .collect();
    if names.is_empty() {
        return;
    }
    let mut by_name = ByName::default();
    for id in functions {
        let name = program.functions[*id].name.as_str();
        by_name.entry(name).or_default().push(*id);
    }
    let mut found: IndexMap<TextRange, String> = IndexMap::new();
    let mut note = |holder: &Holder<'_>| {
        let virtual_calls = holder.calls(program).iter().filter_map(|call| {
            let object = names
                .contains(call.name.as_str())
                .then(|| object_of(program, call))??;
            let class = holder.class_of(program, object.1)?;
            is_virtual(program, class, &call.name).then_some((call, object.0))
        });
        for (call, object) in virtual_calls {
            let headline = format!(
                "`{}` is a virtual function, which the device does not find in `{object}` if the host made that",
                call.name
            );
            found.insert(call.at, headline);
        }
    };
    let mut handed_on: IndexSet<(FunctionId, CapturedObject)> = IndexSet::new();
    for region in program.regions.values() {
        let holder = Holder::Region(region);
        note(&holder);
        handed_on.extend(holder.hands_on(program, &by_name));
    }
    let mut next = 0;
    while let Some((function, object)) = handed_on.get_index(next).copied() {
        next += 1;
        let holder = Holder::Function(function, object);
        note(&holder);
        handed_on.extend(holder.hands_on(program, &by_name));
    }
    for (at, headline) in found {
        let diagnostic = cx
            .diagnostic(Code::HostOnlyObject, at, headline)
            .with_severity(Severity::Warning)
            .with_note("an object says by an address what its class is, and that address is the host's")
            .with_help("name the class whose function is meant, as in `x.Class::f()`, or create the object in device code");
        cx.diagnostics.push(diagnostic);
    }
}

/// Device code with objects of the host.
enum Holder<'p> {
    /// All that the region captures.
    Region(&'p Region),
    /// One that a caller hands to the function.
    Function(FunctionId, CapturedObject),
}

impl Holder<'_> {
    fn calls<'p>(&'p self, program: &'p Program) -> &'p [Call] {
        match self {
            Holder::Region(region) => &region.calls,
            Holder::Function(function, _) => &program.functions[*function].calls,
        }
    }

    /// The class of an object that it has from the host.
    fn class_of(&self, program: &Program, object: CapturedObject) -> Option<RecordId> {
        match self {
            Holder::Region(region) => {
                let mut captures = region.captures.iter();
                let capture = captures.find(|capture| capture.object == object)?;
                let is_of_host =
                    matches!(capture.transport, Transport::Storage | Transport::Pointee);
                is_of_host.then(|| class_behind(program, capture.ty))?
            }
            Holder::Function(..) if !self.has(object) => None,
            Holder::Function(function, _) => match object {
                CapturedObject::Variable(symbol) => {
                    class_behind(program, program.symbols[symbol].ty)
                }
                CapturedObject::This => {
                    let class = program.functions[*function].class.as_ref()?;
                    let mut records = program.types.records.iter();
                    records
                        .find(|(_, record)| record.name == *class)
                        .map(|(id, _)| id)
                }
                CapturedObject::Extent(..) => None,
            },
        }
    }

    fn has(&self, object: CapturedObject) -> bool {
        match self {
            Holder::Region(_) => true,
            Holder::Function(_, own) => *own == object,
        }
    }

    /// Functions that it calls, with the objects they get.
    fn hands_on(
        &self,
        program: &Program,
        functions: &ByName<'_>,
    ) -> Vec<(FunctionId, CapturedObject)> {
        let mut handed = Vec::new();
        for call in self.calls(program) {
            let callees = functions.get(call.name.as_str());
            for callee in callees.into_iter().flatten() {
                let function = &program.functions[*callee];
                let object = object_of(program, call)
                    .filter(|_| function.class.is_some() && !function.is_virtual());
                if object.is_some_and(|(_, object)| self.class_of(program, object).is_some()) {
                    handed.push((*callee, CapturedObject::This));
                }
                for (place, argument) in arguments(program, call).into_iter().enumerate() {
                    let has = argument
                        .and_then(|argument| named(program, argument))
                        .is_some_and(|(_, object)| self.class_of(program, object).is_some());
                    let parameter = has
                        .then(|| parameter(program, *callee, place))
                        .flatten()
                        .map(CapturedObject::Variable);
                    handed.extend(parameter.map(|parameter| (*callee, parameter)));
                }
            }
        }
        handed
    }
}

/// The arguments of a call, without the operators that lead to an object or its address.
fn arguments<'p>(program: &'p Program, call: &Call) -> Vec<Option<Node<'p>>> {
    let root = program.unit.tree.root();
    let list = root
        .smallest_at(call.at)
        .ancestors()
        .find(|node| node.kind() == Kind::CallExpression)
        .and_then(|node| node.field(Field::Arguments));
    let Some(list) = list else { return Vec::new() };
    list.children()
        .filter(|child| child.is_named() && child.kind() != Kind::Comment)
        .map(|argument| {
            let mut argument = argument;
            while matches!(
                argument.kind(),
                Kind::PointerExpression | Kind::ParenthesizedExpression
            ) {
                argument = argument.children().find(|child| child.is_named())?;
            }
            Some(argument)
        })
        .collect()
}

/// The parameter of a function at a place, if it is a pointer or a reference.
fn parameter(program: &Program, function: FunctionId, place: usize) -> Option<SymbolId> {
    let list = program.functions[function].parameters;
    let declared = program
        .unit
        .tree
        .root()
        .smallest_at(list)
        .children()
        .filter(|child| {
            matches!(
                child.kind(),
                Kind::ParameterDeclaration | Kind::OptionalParameterDeclaration
            )
        })
        .nth(place)?
        .range();
    let id = program.declared_in(declared).next()?;
    let types = &program.types;
    let kind = &types.get(types.desugar(program.symbols[id].ty)).kind;
    matches!(kind, TypeKind::Pointer(_) | TypeKind::Reference(_)).then_some(id)
}

/// The object of a call, and its name.
fn object_of(program: &Program, call: &Call) -> Option<(String, CapturedObject)> {
    let before = &program.source()[..usize::from(call.at.start())];
    if before.trim_end().ends_with("::") || program.text(call.at) != call.name {
        return None;
    }
    let root = program.unit.tree.root();
    match call.callee {
        Callee::Function => Some(("*this".to_string(), CapturedObject::This)),
        Callee::Member => named(
            program,
            root.smallest_at(call.at)
                .ancestors()
                .find(|node| node.kind() == Kind::FieldExpression)?
                .field(Field::Argument)?,
        ),
    }
}

/// The variable that an expression is, or the object of the function.
fn named(program: &Program, object: Node<'_>) -> Option<(String, CapturedObject)> {
    if object.text() == "this" {
        return Some(("*this".to_string(), CapturedObject::This));
    }
    if object.kind() != Kind::Identifier {
        return None;
    }
    let scopes = &program.scopes;
    let symbol = scopes.resolve(&program.symbols, object.text(), object.range())?;
    Some((object.text().to_string(), CapturedObject::Variable(symbol)))
}

/// The class of an object, of what a pointer points to or of the elements of an array.
fn class_behind(program: &Program, ty: TypeId) -> Option<RecordId> {
    let types = &program.types;
    let mut ty = types.object_type(ty);
    while let TypeKind::Pointer(to) | TypeKind::Array { element: to, .. } = types.get(ty).kind {
        ty = types.object_type(to);
    }
    types.record(ty)
}

/// Whether a class or a base of it has a virtual function of this name.
fn is_virtual(program: &Program, class: RecordId, name: &str) -> bool {
    let types = &program.types;
    let classes = types.with_bases(class);
    let mut methods = classes.iter().flat_map(|id| &types.records[*id].methods);
    methods.any(|method| method.name == name && method.is_marked_virtual)
}
