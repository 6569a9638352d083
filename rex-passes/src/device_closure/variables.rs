//! Variables of the device: what their initializers name, and how they live there.

use indexmap::IndexSet;
use rex_ir::abi::Requirements;
use rex_ir::item::DeviceStorage;
use rex_ir::names;
use rex_ir::program::Program;
use rex_ir::region::Call;
use rex_ir::static_member::uses_in;
use rex_ir::symbol::{SymbolId, SymbolKind};
use rex_ir::ty::Category;
use rex_syntax::TextRange;
use rex_syntax::source::Language;
use rustc_hash::FxHashSet;

use super::reach::Search;

/// An initializer may name other variables, and call functions.
pub(super) fn read_initializer(search: &mut Search<'_>, symbol: SymbolId) {
    if let Some(initializer) = search.program.symbols[symbol].initializer {
        read_value(search, initializer);
    }
}

/// Takes what an initializer names.
pub(super) fn read_value(search: &mut Search<'_>, initializer: TextRange) {
    let program = search.program;
    let uses = uses_in(&program.static_member_uses, initializer);
    let variables = &mut search.reached.variables;
    variables.extend(uses.map(|(_, member)| member));
    for name in names::in_text(program.source(), initializer) {
        let qualifier = program.text(name.qualifier).trim();
        let meant = qualified(program, qualifier, program.text(name.plain));
        search.reached.variables.extend(meant);
        let Some(inner) = names::meaning(program, name) else {
            continue;
        };
        match program.symbols[inner].kind {
            // It may be hidden here.
            SymbolKind::Global if qualifier.starts_with("::") => {}
            SymbolKind::Global => {
                search.reached.variables.insert(inner);
            }
            SymbolKind::Function => {
                search.call(Call::of_function(program.text(name.plain), name.plain));
            }
            _ => {}
        }
    }
}

/// The variables of namespaces and the file that a qualified name may mean.
fn qualified(program: &Program, qualifier: &str, name: &str) -> Vec<SymbolId> {
    if qualifier.is_empty() {
        return Vec::new();
    }
    let wanted: String = qualifier.split_whitespace().collect();
    let path = wanted.trim_start_matches("::");
    // Names of namespaces are in the scope of the file.
    let names = &program.scopes.scope(program.scopes.root()).names;
    let found = names
        .get(name)
        .into_iter()
        .flat_map(|found| found.iter().copied());
    let is_meant = |symbol: &SymbolId| {
        let found = &program.symbols[*symbol];
        let own = found.named_qualifier();
        found.kind == SymbolKind::Global
            && match wanted.starts_with("::") {
                true => own == path,
                false => own.ends_with(path),
            }
    };
    found.filter(is_meant).collect()
}

/// All declarations of variables and one definition of each, where C allows several. `fn twice;` of `typedef int fn(int);` declares none.
pub(super) fn declarations(
    program: &Program,
    variables: &IndexSet<SymbolId>,
) -> IndexSet<SymbolId> {
    let is_object = |symbol: &&SymbolId| {
        program.types.category(program.symbols[**symbol].ty) != Category::Function
    };
    let mut all = IndexSet::new();
    for symbol in variables.iter().filter(is_object) {
        let same = program.redeclarations(*symbol);
        let defines = |id: &&SymbolId| !program.is_external(**id);
        let has_initializer = |id: &&SymbolId| program.symbols[**id].initializer.is_some();
        let definition = same
            .iter()
            .find(has_initializer)
            .or_else(|| same.iter().find(defines))
            .copied();
        let is_kept = |id: &SymbolId| definition == Some(*id) || program.is_external(*id);
        all.extend(same.into_iter().filter(is_kept));
    }
    all
}

/// How a variable lives on the device, given those that running code constructs.
pub(super) fn storage(
    program: &Program,
    symbol: SymbolId,
    constructed: &FxHashSet<SymbolId>,
) -> DeviceStorage {
    let found = &program.symbols[symbol];
    let member = program.static_members.get(&symbol);
    if member.is_some_and(|member| member.is_constant) {
        return DeviceStorage::Constant;
    }
    // In C, one without an initializer is zero.
    let is_initialized = |id: &SymbolId| {
        program.symbols[*id].initializer.is_some()
            || program.language() == Language::C && !program.is_external(*id)
    };
    // A constant is compiled into the image, unless running code computes it.
    if program.types.is_constant(found.ty)
        && program.redeclarations(symbol).iter().any(is_initialized)
        && !constructed.contains(&symbol)
    {
        return DeviceStorage::Constant;
    }
    let is_bound = constructed.contains(&symbol) && program.types.is_reference(found.ty);
    match program.declare_target.get(&symbol) {
        Some(DeviceStorage::Link) => DeviceStorage::Link,
        Some(DeviceStorage::Group) => DeviceStorage::Group,
        Some(DeviceStorage::Local) if is_bound => DeviceStorage::Bound,
        Some(DeviceStorage::Local) if !constructed.contains(&symbol) => DeviceStorage::Local,
        Some(DeviceStorage::Local) => DeviceStorage::Constructed,
        // The image has no memory of its own for what the host can change.
        _ if program
            .requirements
            .contains(Requirements::UNIFIED_SHARED_MEMORY) =>
        {
            DeviceStorage::Shared
        }
        Some(DeviceStorage::Enter) | None if is_bound => DeviceStorage::Bound,
        Some(DeviceStorage::Enter) | None if constructed.contains(&symbol) => {
            DeviceStorage::Constructed
        }
        Some(storage) => *storage,
        None => DeviceStorage::Enter,
    }
}
