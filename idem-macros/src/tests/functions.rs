//! Shapes of functions.

use super::snapshot;

#[test]
fn plain() {
    snapshot! {
        #[idempotent(
            name = "payments.charge", key = order.id, lease = "30s", fingerprint = (order.cents, &order.currency)
        )]
        async fn charge(order: &Order) -> Result<Receipt, ChargeError> {
            let receipt = gateway().charge(order).await?;
            Ok(receipt)
        }
    }
}

#[test]
fn default_name() {
    snapshot! {
        #[idempotent(key = id)]
        async fn r#type(id: u64) -> Result<(), Error> {
            Ok(())
        }
    }
}

#[test]
fn method() {
    snapshot! {
        #[idempotent(name = "shop.charge", key = order.id, runtime = self.idem)]
        pub(crate) async fn charge(&self, order: Order) -> Result<Receipt, ChargeError> {
            self.gateway.charge(order).await
        }
    }
}

#[test]
fn self_by_value() {
    snapshot! {
        #[idempotent(name = "shop.close", key = self.id)]
        async fn close(mut self: Box<Self>) -> Result<Self, Error> {
            self.open = false;
            Ok(*self)
        }
    }
}

#[test]
fn method_of_a_trait() {
    snapshot! {
        #[idempotent(name = "payments.charge", key = order)]
        async fn charge(&mut self, order: u64) -> Result<u64, Self::Error> {
            self.last = order;
            Ok(order)
        }
    }
}

#[test]
fn generics_with_bounds() {
    snapshot! {
        #[idempotent(name = "store.load", key = (T::KIND, N, &id))]
        async fn load<T: Entity, I, const N: usize>(id: I) -> Result<[T; N], Error>
        where
            I: ToKey + Clone,
        {
            fetch(id).await
        }
    }
}

#[test]
fn lifetimes() {
    snapshot! {
        #[idempotent(name = "names.check", key = name)]
        async fn check<'a, 'b: 'a>(name: &'a str, others: &'b [String]) -> Result<bool, Invalid<'a>> {
            Ok(others.iter().any(|other| other == name))
        }
    }
}

#[test]
fn patterns() {
    snapshot! {
        #[idempotent(name = "orders.ship", key = id)]
        async fn ship(
            Order { id, mut lines, .. }: Order,
            (first, _): (u64, Address),
            [ref a, b @ ..]: [String; 3],
            _unused: Extra,
        ) -> Result<u64, Error> {
            lines.clear();
            Ok(first + lines.len() + a.len() + b.len())
        }
    }
}

#[test]
fn impl_trait_argument() {
    snapshot! {
        #[idempotent(name = "mail.send", key = "{to}/{subject}")]
        async fn send(to: impl AsRef<str> + ToKey, subject: &str, body: impl Into<String>) -> Result<(), Error> {
            deliver(to.as_ref(), subject, body.into()).await
        }
    }
}

/// The invented names have mixed-site spans, which a snapshot does not show; `ui/pass/hygiene.rs`
/// compiles this.
#[test]
fn arguments_named_like_the_expansion() {
    snapshot! {
        #[idempotent(name = "words", key = (key, r#type), fingerprint = (call, ident))]
        async fn words(
            key: u64, lease: u64, result: u64, owner: u64, call: u64, ident: u64, outcome: u64, r#type: u64,
        ) -> Result<u64, Error> {
            Ok(key + lease + result + owner + call + ident + outcome + r#type)
        }
    }
}

#[test]
fn early_return_and_question_mark() {
    snapshot! {
        #[idempotent(name = "orders.price", key = parse(text)?, fingerprint = quote(text).await)]
        async fn price(text: &str) -> Result<u64, Error> {
            if text.is_empty() {
                return Ok(0);
            }
            let price = lookup(text).await?;
            Ok(price)
        }
    }
}

#[test]
fn attributes() {
    snapshot! {
        #[idempotent(name = "orders.price", key = id)]
        /// The price of an order.
        #[tracing::instrument(skip_all)]
        #[must_use]
        async fn price(#[cfg(feature = "audit")] who: User, #[allow(unused)] id: u64) -> Result<u64, Error> {
            #![allow(clippy::float_cmp)]
            //! Hoisted, too.
            #[allow(unused_variables)]
            let price = 1;
            Ok(price)
        }
    }
}

#[test]
fn arguments_move_whole() {
    snapshot! {
        #[idempotent(name = "orders.ship", key = order.id)]
        async fn ship(
            self, order: Order, note: &str, count: u64, unmentioned: Order, _marked: Order,
        ) -> Result<u64, Error> {
            Ok(order.cents + count)
        }
    }
}

#[test]
fn template_key() {
    snapshot! {
        #[idempotent(name = "orders.ship", key = "{{v1}}/{T::KIND}/{self.tenant}:{order.id.0}")]
        async fn ship<T: Kind>(&self, order: &Order) -> Result<u64, Error> {
            Ok(1)
        }
    }
}

#[test]
fn constant_key() {
    snapshot! {
        #[idempotent(name = "report.nightly", key = const { "nightly" })]
        async fn nightly() -> Result<(), Error> {
            Ok(())
        }
    }
}

#[test]
fn operators_in_arguments() {
    snapshot! {
        #[idempotent(
            name = "sums", key = a + b, fingerprint = a as u64, runtime = *idem, on_crash = reconcile(!find(a))
        )]
        async fn sums(a: u32, b: u32, idem: &Idem) -> Result<u32, Error> {
            Ok(a + b)
        }
    }
}

/// The item comes out as well as it went in; what is wrong with the body is rustc's to say.
#[test]
fn body_that_is_not_rust() {
    let args = quote::quote!(name = "broken", key = id);
    let item = quote::quote! {
        async fn broken(id: u64) -> Result<u64, Error> {
            let x = ;
            id.
        }
    };
    let tokens = crate::generate(args, item).to_string();
    assert!(tokens.contains("let x = ; id ."), "{tokens}");
    assert!(tokens.contains("renew_while"), "{tokens}");
}
