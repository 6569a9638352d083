//! Variables of file and namespace scope in the device file, and the types that their declarations define.

use rex_ir::item::DeviceStorage;
use rex_ir::namer;
use rex_ir::symbol::SymbolId;
use rex_syntax::edit::EditConflict;
use rex_syntax::{TextRange, TextSize, lex};

use super::function::without_extern;
use super::{Device, instances, references, statics};

impl<'p> Device<'p> {
    pub(super) fn storage(&self, symbol: SymbolId) -> Option<DeviceStorage> {
        self.program.device_storage(symbol)
    }

    /// The definition of a type that stands in a declaration of variables: `struct S { int x; } s;`.
    pub(super) fn type_in_declaration(
        &mut self,
        symbols: &[SymbolId],
        range: TextRange,
    ) -> Result<(), EditConflict> {
        if let Some(definition) = self.type_of_declaration(symbols, range) {
            let text = self.classes.print(definition)?;
            self.header();
            self.line(&format!("{};", text.trim_end()));
        }
        Ok(())
    }

    /// From the keyword to the closing brace of that type.
    pub(super) fn type_of_declaration(
        &self,
        symbols: &[SymbolId],
        range: TextRange,
    ) -> Option<TextRange> {
        let source = self.program.source();
        let first = symbols
            .first()
            .and_then(|symbol| self.program.symbols[*symbol].declared_at);
        let before = first.map_or(range, |at| TextRange::new(range.start(), at.start()));
        let mut tokens = lex::tokens(source, before);
        let keyword = tokens
            .find(|token| matches!(token.text(source), "struct" | "union" | "class" | "enum"));
        let end = self.program.text(before).rfind('}');
        let (keyword, end) = (keyword?, end?);
        let end = before.start() + TextSize::try_from(end + 1).unwrap_or_default();
        let has_tag = tokens
            .find(|token| {
                !matches!(
                    token.kind,
                    lex::TokenKind::Comment | lex::TokenKind::Newline
                )
            })
            .is_some_and(|token| token.text(source) != "{");
        // The kernels that capture objects of a struct without a name define it.
        let is_here = keyword.text(source) == "enum" || has_tag;
        (is_here && keyword.range.end() < end).then(|| TextRange::new(keyword.range.start(), end))
    }

    pub(super) fn variables(
        &mut self,
        symbols: &[SymbolId],
        range: TextRange,
    ) -> Result<(), EditConflict> {
        let storages: Vec<DeviceStorage> = symbols
            .iter()
            .filter_map(|symbol| self.storage(*symbol))
            .collect();
        let Some(storage) = storages.first() else {
            self.type_in_declaration(symbols, range)?;
            self.host_variables(symbols, range);
            return Ok(());
        };
        self.header();
        let members = &self.program.static_members;
        if symbols.iter().any(|symbol| members.contains_key(symbol)) {
            for symbol in symbols {
                for line in statics::definition(self.program, *symbol) {
                    self.line(&line);
                }
            }
            return Ok(());
        }
        if storages.iter().any(|storage| storage.needs_reference()) {
            self.type_in_declaration(symbols, range)?;
            for symbol in symbols {
                if let Some(line) = references::declaration(self.program, *symbol) {
                    self.line(&line);
                }
            }
            self.host_variables(symbols, range);
            return Ok(());
        }
        let text = self.text_of(range);
        let types = &self.program.types;
        let is_scalar = symbols.iter().all(|symbol| {
            matches!(
                types.category(self.program.symbols[*symbol].ty),
                rex_ir::ty::Category::Scalar
            )
        });
        match storage {
            DeviceStorage::Constant if is_scalar => self.line(&text),
            DeviceStorage::Constant => self.line(&format!("__device__ {text}")),
            DeviceStorage::Group => {
                self.type_in_declaration(symbols, range)?;
                for symbol in symbols {
                    let found = &self.program.symbols[*symbol];
                    let declared = self.program.types.declare(found.ty, &found.name);
                    self.line(&format!("__shared__ {declared};"));
                }
            }
            DeviceStorage::Enter
            | DeviceStorage::Local
            | DeviceStorage::Link
            | DeviceStorage::Shared
            | DeviceStorage::Constructed => {
                // Internal linkage: the device symbol must be found by its name and be the file's own.
                for symbol in symbols {
                    let name = self.program.symbols[*symbol].declared_name();
                    let device_name = namer::device_identifier(self.program, *symbol);
                    if device_name != name {
                        self.line(&format!("#define {name} {device_name}"));
                    }
                }
                let text = without_word(&text, "static");
                match without_extern(&text) {
                    rest if rest.len() < text.len() => {
                        self.line(&format!("extern __device__ {rest}"));
                    }
                    _ => {
                        let is_shared = symbols
                            .iter()
                            .any(|symbol| self.program.is_shared_by_files(*symbol));
                        let (linkage, text) = match is_shared {
                            true => (references::SHARED_BY_FILES, without_word(&text, "inline")),
                            false => ("", text),
                        };
                        self.line(&format!("__device__ {linkage}{text}"));
                    }
                }
            }
        }
        Ok(())
    }

    /// Variables of the host that the code which leads to kernels of templates uses.
    pub(super) fn host_variables(&mut self, symbols: &[SymbolId], range: TextRange) {
        let instances = &self.program.instances;
        if symbols
            .iter()
            .any(|symbol| instances.names.contains(self.program.name(*symbol)))
        {
            self.header();
            for line in instances::variables(self.program, symbols, range) {
                self.line(&line);
            }
        }
        let initializer = symbols
            .iter()
            .find(|symbol| instances.initializers.contains(*symbol));
        if let Some(symbol) = initializer {
            self.header();
            let text = instances::initializer(self.program, *symbol, range);
            self.line(&text);
        }
    }
}

/// Removes a leading specifier.
fn without_word(text: &str, word: &str) -> String {
    let range = TextRange::up_to(rex_syntax::TextSize::of(text));
    let found = lex::identifiers(text, range).find(|at| &text[*at] == word);
    match found {
        Some(at) => {
            let mut edited = text.to_string();
            let end =
                usize::from(at.end()) + usize::from(text[usize::from(at.end())..].starts_with(' '));
            edited.replace_range(usize::from(at.start())..end, "");
            edited
        }
        None => {
            let trimmed = text.trim_start();
            trimmed
                .strip_prefix(&format!("{word} "))
                .unwrap_or(trimmed)
                .to_string()
        }
    }
}
