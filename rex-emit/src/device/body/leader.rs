//! What the leader of a block does: pieces that follow each other stand in one `if`, with one barrier behind.

use rex_ir::kernel::Plan;
use rex_ir::ty::TypeId;
use rex_syntax::lex;

use super::lines::{block, headed};
use super::{BLOCK_BARRIER, BodyPrinter, STEP};

const LEADS: &str = "if (threadIdx.x == 0)";

/// Consecutive pieces of the leader's.
#[derive(Default)]
struct Pieces {
    /// Objects of the team.
    declarations: Vec<String>,
    /// What it executes.
    steps: Vec<Step>,
    /// The other threads wait for the last one.
    waits: bool,
}

enum Step {
    /// Statements of the program.
    Statements(Vec<String>),
    /// The first value of an object of the team.
    Store(String),
}

impl BodyPrinter<'_> {
    /// Plans one after the other.
    pub(super) fn plans(&self, plans: &[Plan], indent: &str) -> Vec<String> {
        let mut lines = Vec::new();
        let mut pieces = Pieces::default();
        for plan in plans {
            match plan {
                Plan::Leader { body, waits } => {
                    let inner = format!("{indent}{STEP}");
                    pieces.steps.push(Step::Statements(self.plan(body, &inner)));
                    pieces.waits = *waits;
                }
                Plan::Shared {
                    name,
                    ty,
                    alignment,
                    initializer,
                    waits,
                    ..
                } => {
                    if pieces.mention(name) {
                        lines.extend(std::mem::take(&mut pieces).print());
                    }
                    let deduced = initializer
                        .as_ref()
                        .filter(|_| self.program.types.mentions_auto(*ty))
                        .map(|initializer| self.text(initializer, indent));
                    let (mut declared, store) = match &deduced {
                        Some(value) => {
                            let value = self.deduced_value(*ty, value.trim());
                            deduced_object(name, &value)
                        }
                        None => (
                            self.shared_object(*ty, name),
                            self.stored_first(name, *ty, initializer.as_ref(), indent),
                        ),
                    };
                    if let Some(value) = alignment {
                        self.align(&mut declared, *value);
                    }
                    pieces.declarations.extend(declared);
                    if let Some(store) = store {
                        pieces.steps.push(Step::Store(store));
                        pieces.waits = *waits;
                    }
                }
                _ => {
                    lines.extend(std::mem::take(&mut pieces).print());
                    lines.extend(self.plan(plan, indent));
                }
            }
        }
        lines.extend(pieces.print());
        lines
    }
}

impl BodyPrinter<'_> {
    /// The value whose type an object has: `auto x = 5;`, or of a class template whose arguments follow from those of a constructor, `Pair x(1, 2.5);`.
    fn deduced_value(&self, ty: TypeId, value: &str) -> String {
        let spelled = self.program.types.spell(ty);
        match spelled.contains("auto") || spelled.contains("decltype") {
            false if value.starts_with(['(', '{']) => format!("{spelled}{value}"),
            _ => only_element(value).to_string(),
        }
    }
}

/// The value of `{5}`, by which `auto` is the type of the value.
fn only_element(value: &str) -> &str {
    let inner = value.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    inner.map_or(value, str::trim)
}

/// An object of the team whose type only the compiler knows, and its first value.
fn deduced_object(name: &str, value: &str) -> (Vec<String>, Option<String>) {
    let ty = format!("{name}__type");
    let declared = vec![
        format!(
            "__shared__ rex_storage<typename std::decay<decltype({value})>::type> {name}__storage;"
        ),
        format!("auto &{name} = {name}__storage.rex_object();"),
        format!("typedef REX_TYPE_OF({name}) {ty};"),
        format!("rex_destructor<{ty}> {name}__end({name});"),
    ];
    let store = format!("::new (rex_place{{&{name}}}) {ty}({value});");
    (declared, Some(store))
}

impl Pieces {
    /// Whether a step means an object outside by the name of one that comes later.
    fn mention(&self, name: &str) -> bool {
        let means = |line: &String| {
            lex::identifiers(line, lex::whole(line)).any(|found| &line[found] == name)
        };
        self.steps.iter().any(|step| match step {
            Step::Statements(lines) => lines.iter().any(means),
            Step::Store(line) => means(line),
        })
    }

    fn print(mut self) -> Vec<String> {
        let mut lines = self.declarations;
        match self.steps.len() {
            0 => return lines,
            1 => lines.extend(match self.steps.remove(0) {
                Step::Store(store) => vec![format!("{LEADS} {{ {store} }}")],
                Step::Statements(statements) => headed(LEADS, statements),
            }),
            _ => {
                let steps = self.steps.into_iter().flat_map(Step::among_others);
                lines.extend(headed(LEADS, block(steps.collect())));
            }
        }
        lines.extend(self.waits.then(|| BLOCK_BARRIER.to_string()));
        lines
    }
}

impl Step {
    fn among_others(self) -> Vec<String> {
        match self {
            Step::Statements(lines) => lines,
            // Names of its own.
            Step::Store(store) if store.contains("rex_initial") => vec![format!("{{ {store} }}")],
            Step::Store(store) => vec![store],
        }
    }
}

/// What the leader does, and a barrier.
pub(super) fn leader_block(statements: &mut Vec<String>) -> Vec<String> {
    let statements = std::mem::take(statements);
    let mut lines = match statements.as_slice() {
        [] => return Vec::new(),
        [only] => vec![format!("{LEADS} {only}")],
        _ => headed(LEADS, block(statements)),
    };
    lines.push(BLOCK_BARRIER.to_string());
    lines
}
