//! Arrays whose extents are known at run time: views of memory of their own.

use rex_ir::expr::Expr;
use rex_ir::kernel::ArrayOwner;
use rex_ir::ty::{TypeId, TypeKind};

use super::BodyPrinter;
use crate::common::expr;

impl BodyPrinter<'_> {
    /// The declaration of such an array: the memory, and the view.
    pub(super) fn sized_array(
        &self,
        name: &str,
        element: TypeId,
        extents: &[Expr],
        owner: &ArrayOwner,
    ) -> [String; 2] {
        let value = self.program.types.spell(element);
        let print = |extent: &Expr| expr::print(self.program, self, extent);
        let mut arguments = self.product(extents);
        let class = match owner {
            ArrayOwner::Thread => "rex_thread_array",
            ArrayOwner::Team => "rex_team_array",
            ArrayOwner::TeamShared(before) => {
                arguments = format!("{arguments}, {}", print(before));
                "rex_team_array"
            }
        };
        [
            format!("{class}<{value}> {name}__own({arguments});"),
            format!(
                "rex_view<{value}, {}> {name}({name}__own.first(), {});",
                extents.len(),
                extents.iter().map(print).collect::<Vec<_>>().join(", ")
            ),
        ]
    }

    fn product(&self, extents: &[Expr]) -> String {
        let operands: Vec<String> = extents
            .iter()
            .map(|extent| expr::print_operand(self.program, self, extent))
            .collect();
        operands.join(" * ")
    }

    fn is_sized_array(&self, ty: TypeId) -> bool {
        let types = &self.program.types;
        matches!(types.get(types.desugar(ty)).kind, TypeKind::Array { .. })
    }

    /// A copy without a value of the variable of the same name around it.
    pub(super) fn sized_private(&self, ty: TypeId, name: &str, owner: &ArrayOwner) -> Vec<String> {
        let types = &self.program.types;
        match self.is_sized_array(ty) {
            true => {
                let element = types.innermost_element(ty);
                self.sized_array(name, element, &types.extents(ty), owner)
                    .to_vec()
            }
            // A pointer to such arrays is a view itself.
            false => self.copied_view(name),
        }
    }

    /// A copy of the variable of the same name around it.
    pub(super) fn sized_copy(&self, ty: TypeId, name: &str, owner: &ArrayOwner) -> Vec<String> {
        if !self.is_sized_array(ty) {
            return self.copied_view(name);
        }
        let mut lines = vec![sized_outer(name)];
        lines.extend(self.sized_copy_from(ty, name, &format!("{name}__outer"), owner));
        lines
    }

    /// A copy of the array whose first element a parameter points to.
    pub(super) fn sized_copy_behind(
        &self,
        ty: TypeId,
        name: &str,
        parameter: &str,
        owner: &ArrayOwner,
    ) -> Vec<String> {
        self.sized_copy_from(ty, name, &format!("*{parameter}"), owner)
    }

    fn sized_copy_from(
        &self,
        ty: TypeId,
        name: &str,
        from: &str,
        owner: &ArrayOwner,
    ) -> Vec<String> {
        let copy = self.sized_assignment(ty, name, from);
        let mut lines = self.sized_private(ty, name, owner);
        match owner {
            ArrayOwner::Thread => lines.push(copy),
            ArrayOwner::Team | ArrayOwner::TeamShared(_) => {
                lines.push(format!("if (threadIdx.x == 0) {copy}"));
                lines.push("__syncthreads();".to_string());
            }
        }
        lines
    }

    fn copied_view(&self, name: &str) -> Vec<String> {
        vec![sized_outer(name), format!("auto {name} = {name}__outer;")]
    }

    /// The statement that copies such an array; `*p` is what a pointer points to.
    pub(super) fn sized_assignment(&self, ty: TypeId, to: &str, from: &str) -> String {
        if !self.is_sized_array(ty) {
            return format!("{to} = {from};");
        }
        let types = &self.program.types;
        let address = |object: &str| match object.strip_prefix('*') {
            Some(pointer) => pointer.to_string(),
            None => format!("rex_first({object})"),
        };
        format!(
            "memcpy({}, {}, {} * sizeof({}));",
            address(to),
            address(from),
            self.product(&types.extents(ty)),
            types.spell(types.innermost_element(ty))
        )
    }
}

/// Another name for the variable around a copy.
pub(super) fn sized_outer(name: &str) -> String {
    format!("const auto {name}__outer = {name};")
}
