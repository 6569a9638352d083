//! Entries of captured variables: the parameters of a kernel.

use rex_ir::abi::MapFlags;
use rex_ir::expr::Expr;
use rex_ir::map::{MapEntry, MapItem, MapKind, MapModifiers, Temporary, TemporaryValue};
use rex_ir::namer;
use rex_ir::region::{Capture, CapturedObject, DefaultmapBehavior, DefaultmapCategory, Transport};
use rex_ir::ty::Category;
use smol_str::{SmolStr, format_smolstr};

use super::pieces::{Piece, Step, StepValue};
use super::{Builder, entry};

impl Builder<'_> {
    /// The entries of one captured variable; exactly one is a parameter, or none for a private variable.
    pub(super) fn capture(
        &mut self,
        capture: &Capture,
        maps: &[MapItem],
        defaultmaps: &[(DefaultmapCategory, DefaultmapBehavior)],
    ) {
        let implicit = if capture.is_implicit {
            MapFlags::IMPLICIT
        } else {
            MapFlags::empty()
        };
        let name = self.users_name(capture.object);
        let object = self.object(capture.object);
        let address = self.storage_address(object.clone(), capture.ty);
        let literal = MapFlags::TARGET_PARAM | MapFlags::LITERAL;
        match &capture.transport {
            Transport::Private => {}
            Transport::Literal if self.is_pointer(capture.ty) => {
                // A copy that means the device's storage, where there is some: a section without length.
                let flags = MapFlags::TARGET_PARAM | implicit;
                self.parameter(object, Expr::Int(0), flags, name, capture);
            }
            Transport::Literal => {
                if let CapturedObject::Extent(variable, dimension) = capture.object {
                    self.arrays.temporaries.push(Temporary {
                        name: self.object_name(capture.object),
                        value: TemporaryValue::Int64(self.extent(variable, dimension)),
                    });
                }
                self.literal(object, literal | implicit, capture);
            }
            Transport::ByCategory => {
                let functions = ["rex_captured_bytes", "rex_captured_types"];
                self.by_category(functions, name, object, capture);
            }
            Transport::CopyByCategory => {
                let functions = ["rex_firstprivate_bytes", "rex_firstprivate_types"];
                self.by_category(functions, name, object, capture);
            }
            Transport::DevicePointer => self.literal(object, literal, capture),
            Transport::Copy => {
                let flags = MapFlags::TARGET_PARAM | MapFlags::TO | MapFlags::PRIVATE | implicit;
                self.parameter(address, object.size_of(), flags, name, capture);
            }
            Transport::DeviceAddress => {
                self.parameter(address, Expr::Int(0), literal, name, capture);
            }
            Transport::Storage | Transport::Pointee => {
                let mine: Vec<&MapItem> = maps
                    .iter()
                    .filter(|item| item.root == capture.object)
                    .collect();
                let first = self.arrays.entries.len();
                if mine.is_empty() {
                    self.implicit(capture, name.clone(), object.clone(), defaultmaps);
                } else {
                    self.items(&mine, MapFlags::TARGET_PARAM);
                    self.may_be_lambda(first, capture, &object);
                }
                // A mapper may map nothing of the object; the kernel has its parameter all the same.
                let is_passed = self.arrays.entries[first..]
                    .iter()
                    .any(|entry| entry.flags.contains(MapFlags::TARGET_PARAM));
                if !is_passed {
                    let place = match capture.transport {
                        Transport::Pointee => object,
                        _ => address,
                    };
                    self.parameter(place, Expr::Int(0), MapFlags::TARGET_PARAM, name, capture);
                }
            }
        }
    }

    fn literal(&mut self, object: Expr, flags: MapFlags, capture: &Capture) {
        let name = self.object_name(capture.object);
        let slot = namer::argument(&name);
        let addressable = match capture.object {
            CapturedObject::Variable(symbol) if self.program.is_register(symbol) => {
                let ty = self.program.types.spell(capture.ty);
                Expr::Words(format_smolstr!("({ty}){{{name}}}"))
            }
            _ => object.clone(),
        };
        self.arrays.temporaries.push(Temporary {
            name: slot.clone(),
            value: TemporaryValue::Literal(addressable),
        });
        self.parameter(
            Expr::Name(slot),
            object.size_of(),
            flags,
            self.users_name(capture.object),
            capture,
        );
    }

    /// A variable whose type the instantiation of a template decides: functions of the host header tell value, size and type word.
    fn by_category(
        &mut self,
        [bytes, types]: [&'static str; 2],
        name: SmolStr,
        object: Expr,
        capture: &Capture,
    ) {
        let call = |function| Expr::Call(function, [object.clone()].into());
        let variable = capture.object.variable();
        let is_pack = variable.is_some_and(|it| self.program.packs.contains_key(&it));
        let value = call("rex_captured");
        self.push(MapEntry {
            at: Some(capture.at),
            types: Some(Box::new(call(types))),
            lambda: (capture.may_be_called || is_pack).then(|| Box::new(object.clone())),
            is_pack,
            ..entry(
                value.clone(),
                value,
                call(bytes),
                MapFlags::TARGET_PARAM,
                name,
            )
        });
    }

    /// What a mapped lambda has captured follows its entry, the first of these.
    fn may_be_lambda(&mut self, first: usize, capture: &Capture, object: &Expr) {
        let has_lambdas = matches!(
            self.program.types.category(capture.ty),
            Category::Dependent | Category::Unknown
        );
        if let Some(entry) = self.arrays.entries.get_mut(first)
            && capture.may_be_called
            && has_lambdas
            && entry.begin == object.clone().address()
        {
            entry.lambda = Some(Box::new(object.clone()));
        }
    }

    fn parameter(
        &mut self,
        address: Expr,
        size: Expr,
        flags: MapFlags,
        name: SmolStr,
        capture: &Capture,
    ) {
        self.push(MapEntry {
            at: Some(capture.at),
            ..entry(address.clone(), address, size, flags, name)
        });
    }

    /// Whether the captured object, or the elements of the captured array, are `const`.
    fn is_constant(&self, capture: &Capture) -> bool {
        let types = &self.program.types;
        types.get(types.innermost_element(capture.ty)).is_const
    }

    /// A variable that no clause maps.
    fn implicit(
        &mut self,
        capture: &Capture,
        name: SmolStr,
        object: Expr,
        defaultmaps: &[(DefaultmapCategory, DefaultmapBehavior)],
    ) {
        if capture.transport == Transport::Pointee && capture.object != CapturedObject::This {
            // A pointer is a zero-length section.
            let flags = MapFlags::TARGET_PARAM | MapFlags::IMPLICIT;
            self.parameter(object, Expr::Int(0), flags, name, capture);
            return;
        }
        let (kind, modifiers) = match self.behavior(capture, defaultmaps) {
            DefaultmapBehavior::Alloc => (MapKind::Alloc, MapModifiers::empty()),
            DefaultmapBehavior::To => (MapKind::To, MapModifiers::empty()),
            DefaultmapBehavior::From => (MapKind::From, MapModifiers::empty()),
            DefaultmapBehavior::Present => (MapKind::Alloc, MapModifiers::PRESENT),
            // A constant may stand in read-only memory: nothing comes back.
            DefaultmapBehavior::Default if self.is_constant(capture) => {
                (MapKind::To, MapModifiers::empty())
            }
            DefaultmapBehavior::Tofrom
            | DefaultmapBehavior::Default
            | DefaultmapBehavior::Firstprivate
            | DefaultmapBehavior::Private
            | DefaultmapBehavior::None => (MapKind::Tofrom, MapModifiers::empty()),
        };
        // The object of a member function is an aggregate behind a pointer.
        let steps = match self.program.types.element(capture.ty) {
            Some(class) if capture.object == CapturedObject::This => vec![Step {
                kind: StepValue::Deref,
                ty: class,
                follows_pointer: true,
            }],
            _ => Vec::new(),
        };
        let pieces = self.implicit_pieces(Piece {
            root: capture.object,
            root_ty: capture.ty,
            steps,
            kind,
            modifiers,
            is_implicit: true,
            is_span: false,
            loops: Vec::new(),
            name,
            at: capture.at,
        });
        self.blocks(&pieces, MapFlags::TARGET_PARAM);
    }

    fn behavior(
        &self,
        capture: &Capture,
        defaultmaps: &[(DefaultmapCategory, DefaultmapBehavior)],
    ) -> DefaultmapBehavior {
        let category = match self.program.types.category(capture.ty) {
            _ if capture.object == CapturedObject::This => DefaultmapCategory::Aggregate,
            Category::Aggregate => DefaultmapCategory::Aggregate,
            Category::Pointer => DefaultmapCategory::Pointer,
            _ => DefaultmapCategory::Scalar,
        };
        rex_ir::build::defaultmap_behavior(defaultmaps, category)
    }
}
