//! Calls in the body that hold their thread.
//!
//! A body that blocks stops every other future of its thread, on a current-thread runtime all of
//! them. idem renews the lease from a thread of its own, so the key is safe; the service is not.
//!
//! Seen are full paths, names that a `use` inside the body brings in, and methods of values whose
//! type shows within the function: `Command::new("tar").status()`, `let (tx, rx) =
//! std::sync::mpsc::channel(); rx.recv()`. Not seen are names imported outside of the body and
//! whatever helper functions do.

mod callees;
mod macros;
mod scope;

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::{
    Block, Expr, ExprCall, ExprForLoop, ExprMethodCall, ExprPath, FnArg, Item, Local, Macro, Pat,
    Path, Stmt,
    visit::{self, Visit},
};

use self::{callees::Kind, scope::Scopes};
use crate::{
    ctxt::Ctxt,
    item::{Body, Function},
};

pub(crate) fn check(cx: &Ctxt, function: &Function) {
    let Body::Present { statements, .. } = &function.body else {
        return;
    };
    // A body that does not parse is rustc's to report.
    let Ok(body) = syn::parse::Parser::parse2(Block::parse_within, statements.clone()) else {
        return;
    };
    let mut calls = Calls { cx, scopes: Scopes::default() };
    calls.in_scope(&body, |calls| {
        for input in &function.sig.inputs {
            if let FnArg::Typed(arg) = input {
                calls.bind_typed(&arg.pat, &arg.ty);
            }
        }
        body.iter().for_each(|statement| calls.visit_stmt(statement));
    });
}

struct Calls<'a> {
    cx: &'a Ctxt,
    scopes: Scopes,
}

impl Calls<'_> {
    /// Runs `visit` with the `use` items of `statements` in force.
    fn in_scope(&mut self, statements: &[Stmt], visit: impl FnOnce(&mut Self)) {
        self.scopes.enter();
        for statement in statements {
            if let Stmt::Item(Item::Use(import)) = statement {
                self.scopes.import(import);
            }
        }
        visit(self);
        self.scopes.leave();
    }

    fn report(&self, callee: TokenStream, name: &str, instead: &str) {
        self.cx.error_at(
            callee,
            format!(
                "`{name}` blocks the thread, and with it every other future there: {instead}; or \
                 wrap it in `tokio::task::spawn_blocking`, or say `allow(blocking)` in the \
                 attribute"
            ),
        );
    }

    fn check_path(&self, path: &Path) {
        let full = self.scopes.resolve(path);
        if let Some(instead) = callees::function(&full) {
            self.report(path.to_token_stream(), &full, instead);
        }
    }

    /// `std::process::Command`, if that is what `expr` evaluates to as far as can be seen.
    fn kind_of(&self, expr: &Expr) -> Option<Kind> {
        match expr {
            Expr::Path(path) => self.scopes.kind_of(path.path.get_ident()?),
            Expr::Call(call) => self.kind_of_call(call),
            Expr::MethodCall(call) => {
                let kind = self.kind_of(&call.receiver)?;
                kind.kept_by(&call.method.to_string()).then_some(kind)
            }
            Expr::Try(tried) => self.kind_of(&tried.expr),
            Expr::Reference(reference) => self.kind_of(&reference.expr),
            Expr::Paren(paren) => self.kind_of(&paren.expr),
            Expr::Group(group) => self.kind_of(&group.expr),
            _ => None,
        }
    }

    fn kind_of_call(&self, call: &ExprCall) -> Option<Kind> {
        let Expr::Path(callee) = &*call.func else {
            return None;
        };
        let full = self.scopes.resolve(&callee.path);
        // `Arc::new(Condvar::new())` is used like what is in it.
        if matches!(
            full.as_str(),
            "Arc::new" | "Box::new" | "std::sync::Arc::new" | "std::boxed::Box::new"
        ) {
            return self.kind_of(call.args.first()?);
        }
        Kind::made_by(&full)
    }

    /// Notes the kinds of the variables that `pat` binds to `value`.
    fn bind(&mut self, pat: &Pat, value: &Expr) {
        match pat {
            Pat::Type(typed) => {
                self.bind(&typed.pat, value);
                self.bind_typed(&typed.pat, &typed.ty);
            }
            Pat::Ident(ident) => {
                let kind = self.kind_of(value);
                self.scopes.bind(&ident.ident, kind);
            }
            // `let (tx, rx) = channel();`
            Pat::Tuple(pats) => match value {
                Expr::Tuple(values) => pats
                    .elems
                    .iter()
                    .zip(&values.elems)
                    .for_each(|(pat, value)| self.bind(pat, value)),
                Expr::Call(call) => {
                    if let (Expr::Path(callee), Some(Pat::Ident(receiver))) =
                        (&*call.func, pats.elems.last())
                        && callees::makes_channel(&self.scopes.resolve(&callee.path))
                    {
                        self.scopes.bind(&receiver.ident, Some(Kind::Receiver));
                    }
                }
                _ => {}
            },
            _ => {}
        }
    }

    fn bind_typed(&mut self, pat: &Pat, ty: &syn::Type) {
        if let (Pat::Ident(ident), Some(kind)) = (pat, self.scopes.kind_of_type(ty)) {
            self.scopes.bind(&ident.ident, Some(kind));
        }
    }
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_block(&mut self, block: &'ast Block) {
        self.in_scope(&block.stmts, |calls| visit::visit_block(calls, block));
    }

    fn visit_local(&mut self, local: &'ast Local) {
        visit::visit_local(self, local);
        match (&local.init, &local.pat) {
            (Some(init), pat) => self.bind(pat, &init.expr),
            (None, Pat::Type(typed)) => self.bind_typed(&typed.pat, &typed.ty),
            (None, _) => {}
        }
    }

    /// `sleep(…)`, and `map(std::fs::read)` as well.
    fn visit_expr_path(&mut self, expr: &'ast ExprPath) {
        if expr.qself.is_none() {
            self.check_path(&expr.path);
        }
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(callee) = &*call.func {
            let full = self.scopes.resolve(&callee.path);
            if callees::may_block(&full) {
                return;
            }
            // Reads anything, and blocks if that is stdin.
            let reader = call.args.first().and_then(|reader| self.kind_of(reader));
            if let ("std::io::read_to_string", Some(Kind::Stdin)) = (full.as_str(), reader)
                && let Some(instead) = Kind::Stdin.blocks_in("read_to_string")
            {
                self.report(callee.to_token_stream(), &full, instead);
            }
        }
        visit::visit_expr_call(self, call);
    }

    fn visit_expr_method_call(&mut self, call: &'ast ExprMethodCall) {
        let method = call.method.to_string();
        if callees::may_block(&method) {
            return self.visit_expr(&call.receiver);
        }
        visit::visit_expr_method_call(self, call);
        let found = match self.kind_of(&call.receiver) {
            Some(kind) => kind.blocks_in(&method).map(|instead| (kind.method(&method), instead)),
            None => callees::method(&method).map(|instead| (method.clone(), instead)),
        };
        if let Some((name, instead)) = found {
            self.report(call.method.to_token_stream(), &name, instead);
        }
    }

    /// `for message in rx` receives as `rx.recv()` does.
    fn visit_expr_for_loop(&mut self, each: &'ast ExprForLoop) {
        if let Some(kind @ (Kind::Receiver | Kind::Listener)) = self.kind_of(&each.expr)
            && let Some(instead) = kind.blocks_in("iter")
        {
            self.report(each.expr.to_token_stream(), &kind.method("iter"), instead);
        }
        visit::visit_expr_for_loop(self, each);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        for part in macros::parts(called) {
            match part {
                macros::Part::Expr(expr) => self.visit_expr(&expr),
                macros::Part::Statements(statements) => self.in_scope(&statements, |calls| {
                    statements.iter().for_each(|statement| calls.visit_stmt(statement));
                }),
            }
        }
    }

    /// A function, a constant, an `impl` inside the body is not run by standing there.
    fn visit_item(&mut self, _: &'ast Item) {}
}
