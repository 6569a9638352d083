//! Reductions that the program declares, as operations of the device file.

use rex_ir::program::{DeclaredReduction, ReductionInitializer};
use rex_ir::region::{ReductionOperation, SharingAttribute};
use rex_syntax::TextSize;

use super::{Device, body};

impl<'p> Device<'p> {
    /// Whether a region uses a reduction that the program declares.
    pub(super) fn is_used(&self, declared: &DeclaredReduction) -> bool {
        let operation = ReductionOperation::Declared(declared.key.clone());
        self.program.constructs.iter().any(|(_, construct)| {
            construct.sharing.iter().any(|sharing| {
                matches!(&sharing.attribute, SharingAttribute::Reduction { operation: used, .. } if *used == operation)
            })
        })
    }

    /// The reductions that the program declares before a place, and that are not there yet.
    pub(super) fn reductions(&mut self, end: Option<TextSize>) {
        while let Some(declared) = self.program.declared_reductions.get(self.n_reductions)
            && end.is_none_or(|end| declared.at.start() < end)
        {
            self.n_reductions += 1;
            if self.is_used(declared) {
                self.header();
                self.reduction(declared);
            }
        }
    }

    pub(super) fn reduction(&mut self, declared: &DeclaredReduction) {
        let operation = body::declared_operation(&declared.key);
        let reads_original = declared.reads_original(self.program);
        self.line(&format!("struct {operation} {{"));
        for ty in &declared.types {
            let ty = self.program.types.spell(*ty);
            let initializer = match declared.initializer {
                Some(ReductionInitializer::Value(range)) => {
                    let text = self.program.text(range).trim();
                    if text.starts_with('{') || text.starts_with('(') {
                        format!(
                            "{ty} omp_priv{};",
                            text.replacen('(', "{", 1).replacen(
                                ')',
                                "}",
                                usize::from(text.starts_with('('))
                            )
                        )
                    } else {
                        format!("{ty} omp_priv = {text};")
                    }
                }
                Some(ReductionInitializer::Call(range)) => {
                    format!("{ty} omp_priv; {};", self.program.text(range).trim())
                }
                None => format!("{ty} omp_priv = {ty}();"),
            };
            let combiner = self.program.text(declared.combiner).trim();
            let (parameter, original) = match reads_original {
                true => (
                    format!(", const {ty} &rex_original"),
                    format!("{ty} omp_orig = rex_original; (void)omp_orig; "),
                ),
                false => (String::new(), String::new()),
            };
            self.line(&format!("  static __device__ void initialize({ty} &value{parameter}) {{ {original}{initializer} value = omp_priv; }}"));
            self.line(&format!(
                "  static __device__ void combine({ty} &omp_out, const {ty} &rex_in) {{ {ty} omp_in = rex_in; (void)omp_in; {combiner}; }}"
            ));
        }
        let identity = match reads_original {
            true => {
                "identity(const Value &original) { Value value; initialize(value, original); return value; }"
            }
            false => "identity() { Value value; initialize(value); return value; }",
        };
        self.line(&format!(
            "  template <typename Value> static __device__ Value {identity}"
        ));
        self.line("};");
    }
}
