//! What happens beside the messages themselves, which `tests/ui/fail` pins.

use quote::{format_ident, quote};

use crate::{ctxt::Ctxt, generate};

/// The messages in an expansion, in their order.
fn messages(args: proc_macro2::TokenStream, item: proc_macro2::TokenStream) -> Vec<String> {
    struct Messages(Vec<String>);
    impl<'ast> syn::visit::Visit<'ast> for Messages {
        fn visit_macro(&mut self, called: &'ast syn::Macro) {
            if called.path.segments.last().is_some_and(|last| last.ident == "compile_error") {
                let message: syn::LitStr = called.parse_body().expect("a message");
                self.0.push(message.value());
            }
        }
    }
    let file: syn::File = syn::parse2(generate(args, item)).expect("errors and the item");
    let mut messages = Messages(Vec::new());
    syn::visit::Visit::visit_file(&mut messages, &file);
    messages.0
}

#[test]
fn the_item_comes_out_untouched() {
    let item = quote! {
        /// Docs.
        pub async fn charge(order: &Order) -> Result<Receipt, Error> {
            Ok(order.into())
        }
    };
    let tokens = generate(quote!(), item.clone()).to_string();
    assert!(tokens.contains("compile_error"), "{tokens}");
    assert!(tokens.ends_with(&item.to_string()), "{tokens}");
}

#[test]
fn what_is_no_function_comes_out_untouched() {
    let item = quote!(
        struct Order {
            id: u64,
        }
    );
    let tokens = generate(quote!(key = id), item.clone()).to_string();
    assert!(tokens.contains("compile_error"), "{tokens}");
    assert!(tokens.ends_with(&item.to_string()), "{tokens}");
}

#[test]
fn one_error_for_each_mistake() {
    let found = messages(
        quote!(name = "a b", leese = "30s", ttl = 3, key = "{order:?}", on_lost = stop(now)),
        quote! {
            fn charge(order: &Order) {
                std::thread::sleep(PAUSE);
            }
        },
    );
    assert_eq!(found.len(), 8, "{found:#?}");
}

#[test]
fn a_key_that_is_wrong_is_not_missing() {
    let found = messages(
        quote!(key = ""),
        quote!(
            async fn a<T>() -> Result<T, Error> {
                Ok(b())
            }
        ),
    );
    assert_eq!(found.len(), 1, "{found:#?}");
}

#[test]
fn a_method_with_a_wrong_name_has_one() {
    let item = quote! {
        async fn charge(&self, id: u64) -> Result<(), Error> {
            Ok(())
        }
    };
    let found = messages(quote!(key = id, name = "a b"), item.clone());
    assert_eq!(found.len(), 1, "{found:#?}");
    let found = messages(quote!(key = id), item);
    assert!(found[0].ends_with("write `name = \"payments.charge\"`"), "{found:#?}");
    assert_eq!(found.len(), 1, "{found:#?}");
}

/// Each of the standard library's modules that block, by each way of naming it.
#[test]
fn every_listed_function_blocks() {
    for call in [
        quote!(std::thread::sleep(pause)),
        quote!(std::fs::write(path, text)),
        quote!(std::fs::OpenOptions::new()),
        quote!(std::net::TcpStream::connect(address)),
        quote!(std::net::TcpListener::accept(&listener)),
        quote!(std::process::Command::new("tar").arg("x").output()),
        quote!(std::process::Command::new("tar").status()?),
        quote!(std::io::stdin().lock().read_line(&mut line)),
        quote!(std::io::stdin().lines()),
        quote!(reqwest::blocking::get(url)),
        quote!(ureq::post(url).send(text)),
        quote!(futures::executor::block_on(future)),
        quote!(runtime.block_on(future)),
        quote!(std::sync::mpsc::Receiver::recv(&receiver)),
        quote!(std::sync::Condvar::wait(&changed, guard)),
    ] {
        let found = messages(
            quote!(key = id),
            quote!(async fn a(id: u64) -> Result<(), Error> { #call; Ok(()) }),
        );
        assert_eq!(found.len(), 1, "{call}: {found:#?}");
        assert!(found[0].contains("blocks the thread"), "{found:#?}");
    }
}

#[test]
fn what_only_looks_like_it_does_not_block() {
    for call in [
        quote!(tokio::fs::write(path, text).await),
        quote!(my::thread::sleep(pause)),
        quote!(sleep(pause).await),
        quote!(receiver.recv().await),
        quote!(tokio::process::Command::new("tar").output().await),
        quote!(std::process::Command::new("tar").spawn()),
        quote!(std::io::read_to_string(&bytes[..])),
        quote!(tokio::task::spawn_blocking(|| std::fs::read(path)).await),
        quote!(handle.spawn_blocking(move || std::thread::sleep(pause))),
        quote!(tokio::task::block_in_place(|| runtime.block_on(future))),
        quote!(std::thread::spawn(|| std::thread::sleep(pause))),
        quote!({
            fn helper() {
                std::thread::sleep(pause)
            }
        }),
        quote!(unknown!(std::thread::sleep(pause))),
        quote!({
            use tokio::time as thread;
            thread::sleep(pause).await
        }),
    ] {
        let found = messages(
            quote!(key = id),
            quote!(async fn a(id: u64) -> Result<(), Error> { #call; Ok(()) }),
        );
        assert_eq!(found, Vec::<String>::new(), "{call}");
    }
}

#[test]
fn an_import_holds_in_its_block_only() {
    let found = messages(
        quote!(key = id),
        quote! {
            async fn a(id: u64) -> Result<(), Error> {
                { use std::thread::sleep; sleep(pause); }
                sleep(pause).await;
                { use std::{thread as t, fs::{self, File}}; t::sleep(pause); fs::read(path); File::open(path); }
                Ok(())
            }
        },
    );
    assert_eq!(found.len(), 4, "{found:#?}");
}

#[test]
#[should_panic(expected = "not checked")]
fn errors_cannot_be_forgotten() {
    let cx = Ctxt::new();
    cx.error_at(format_ident!("charge"), "wrong");
}

#[test]
fn all_errors_come_out() {
    let cx = Ctxt::new();
    cx.error_at(format_ident!("charge"), "first");
    cx.error_at(format_ident!("charge"), "second");
    let error = cx.check().expect_err("two of them");
    let messages: Vec<_> = error.into_iter().map(|error| error.to_string()).collect();
    assert_eq!(messages, ["first", "second"]);
}
