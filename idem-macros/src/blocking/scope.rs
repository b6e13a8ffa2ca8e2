//! What names mean inside a body: `use` items, and variables of the types that matter here.

use std::collections::HashMap;

use syn::{GenericArgument, Ident, ItemUse, Path, PathArguments, Type, UseTree, ext::IdentExt};

use super::callees::{self, Kind};

/// The blocks around the place that is looked at, the innermost last.
#[derive(Default)]
pub(super) struct Scopes(Vec<Scope>);

#[derive(Default)]
struct Scope {
    /// `sleep` is `std::thread::sleep`.
    imports: HashMap<String, String>,
    /// `std::thread` in `use std::thread::*`.
    globs: Vec<String>,
    /// `None` for a variable that hides an outer one and is of no interest itself.
    variables: HashMap<String, Option<Kind>>,
}

impl Scopes {
    pub(super) fn enter(&mut self) {
        self.0.push(Scope::default());
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }

    pub(super) fn import(&mut self, import: &ItemUse) {
        if let Some(scope) = self.0.last_mut() {
            scope.import(String::new(), &import.tree);
        }
    }

    pub(super) fn bind(&mut self, variable: &Ident, kind: Option<Kind>) {
        if let Some(scope) = self.0.last_mut() {
            scope.variables.insert(variable.to_string(), kind);
        }
    }

    pub(super) fn kind_of(&self, variable: &Ident) -> Option<Kind> {
        let variable = variable.to_string();
        self.0.iter().rev().find_map(|scope| scope.variables.get(&variable)).copied().flatten()
    }

    /// The kind of `std::sync::Condvar`, `&std::sync::Condvar`, `Arc<std::sync::Condvar>`.
    pub(super) fn kind_of_type(&self, ty: &Type) -> Option<Kind> {
        let path = match ty {
            Type::Reference(reference) => return self.kind_of_type(&reference.elem),
            Type::Paren(paren) => return self.kind_of_type(&paren.elem),
            Type::Path(path) => &path.path,
            _ => return None,
        };
        if let Some(kind) = Kind::named(&self.resolve(path)) {
            return Some(kind);
        }
        let last = path.segments.last()?;
        match &last.arguments {
            PathArguments::AngleBracketed(args) if last.ident == "Arc" || last.ident == "Box" => {
                args.args.iter().find_map(|arg| match arg {
                    GenericArgument::Type(inner) => self.kind_of_type(inner),
                    _ => None,
                })
            }
            _ => None,
        }
    }

    /// In:  `thread::sleep` under `use std::thread`
    /// Out: `std::thread::sleep`
    pub(super) fn resolve(&self, path: &Path) -> String {
        let segments: Vec<String> =
            path.segments.iter().map(|segment| segment.ident.unraw().to_string()).collect();
        let written = segments.join("::");
        let Some((first, rest)) = segments.split_first() else {
            return written;
        };
        if path.leading_colon.is_some() {
            return written;
        }
        for scope in self.0.iter().rev() {
            // A local variable called `sleep` is not the function.
            if rest.is_empty() && scope.variables.contains_key(first) {
                return written;
            }
            if let Some(full) = scope.imports.get(first) {
                return rest.iter().fold(full.clone(), |full, segment| full + "::" + segment);
            }
            let in_glob = scope.globs.iter().map(|glob| format!("{glob}::{written}"));
            if let Some(full) = in_glob.into_iter().find(|full| callees::function(full).is_some()) {
                return full;
            }
        }
        written
    }
}

impl Scope {
    /// In:  `std::{thread::sleep, fs as files}`
    /// Out: `sleep` is `std::thread::sleep`, `files` is `std::fs`
    fn import(&mut self, before: String, tree: &UseTree) {
        let joined = |name: &Ident| match before.as_str() {
            "" => name.unraw().to_string(),
            before => format!("{before}::{}", name.unraw()),
        };
        match tree {
            UseTree::Path(path) => self.import(joined(&path.ident), &path.tree),
            // `use std::thread::{self}`
            UseTree::Name(name) if name.ident == "self" => {
                let last = before.rsplit("::").next().unwrap_or_default().to_owned();
                self.imports.insert(last, before);
            }
            UseTree::Name(name) => {
                self.imports.insert(name.ident.unraw().to_string(), joined(&name.ident));
            }
            UseTree::Rename(rename) => {
                let full = if rename.ident == "self" { before } else { joined(&rename.ident) };
                self.imports.insert(rename.rename.unraw().to_string(), full);
            }
            UseTree::Glob(_) => self.globs.push(before),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(before.clone(), tree);
                }
            }
        }
    }
}
