//! The invisible groups around what a `macro_rules!` macro was given.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use syn::{Expr, Type};

/// In:  `key = ⟦order.id + 1⟧ * 2, codec = ⟦Json⟧`, where `⟦…⟧` is what stood for a `$…`
/// Out: `key = (order.id + 1) * 2, codec = Json`
///
/// rustc honours an invisible group that it has made itself, and not one that a syntax tree was
/// printed with: the key would be `order.id + 1 * 2`, and nobody would be told.
pub(crate) fn visible(tokens: TokenStream) -> TokenStream {
    tokens.into_iter().flat_map(visible_tree).collect()
}

/// The same for an item, up to its body: that is handed through as it is, groups and all.
pub(crate) fn visible_signature(item: TokenStream) -> TokenStream {
    let mut trees: Vec<TokenTree> = item.into_iter().collect();
    let body = trees.pop();
    trees.into_iter().flat_map(visible_tree).chain(body).collect()
}

fn visible_tree(tree: TokenTree) -> TokenStream {
    let TokenTree::Group(group) = tree else { return tree.into() };
    if group.delimiter() == Delimiter::None {
        let content = visible(group.stream());
        return match needed(content.clone()) {
            Needed::Nothing => content,
            Needed::Parentheses => with_content(&group, Delimiter::Parenthesis, content),
            Needed::Group => with_content(&group, Delimiter::None, content),
        };
    }
    // A group that is made anew has lost the places of its brackets.
    if !holds_invisible(group.stream()) {
        return TokenTree::Group(group).into();
    }
    with_content(&group, group.delimiter(), visible(group.stream()))
}

fn with_content(group: &Group, delimiter: Delimiter, content: TokenStream) -> TokenStream {
    let mut anew = Group::new(delimiter, content);
    anew.set_span(group.span());
    TokenTree::Group(anew).into()
}

fn holds_invisible(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|tree| match tree {
        TokenTree::Group(group) => {
            group.delimiter() == Delimiter::None || holds_invisible(group.stream())
        }
        _ => false,
    })
}

/// What keeps the content of an invisible group together.
enum Needed {
    Nothing,
    Parentheses,
    /// Neither an expression nor a type: `pub(crate)`, `ref order`.
    Group,
}

/// A pattern, an attribute or a type may read as an expression, too; what is said here is right for
/// each.
fn needed(content: TokenStream) -> Needed {
    match syn::parse2::<Expr>(content.clone()) {
        Ok(
            Expr::Array(_)
            | Expr::Assign(_)
            | Expr::Await(_)
            | Expr::Block(_)
            | Expr::Call(_)
            | Expr::Field(_)
            | Expr::Index(_)
            | Expr::Infer(_)
            | Expr::Lit(_)
            | Expr::Macro(_)
            | Expr::MethodCall(_)
            | Expr::Paren(_)
            | Expr::Path(_)
            | Expr::Repeat(_)
            | Expr::Struct(_)
            | Expr::Try(_)
            | Expr::Tuple(_),
        ) => Needed::Nothing,
        Ok(_) => Needed::Parentheses,
        Err(_) => match syn::parse2::<Type>(content) {
            // `&$ty` with `dyn Ship + Send`.
            Ok(Type::TraitObject(object)) if object.bounds.len() > 1 => Needed::Parentheses,
            Ok(_) => Needed::Nothing,
            Err(_) => Needed::Group,
        },
    }
}
