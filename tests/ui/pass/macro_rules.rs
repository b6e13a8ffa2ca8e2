//! What a `macro_rules!` macro was given stays together, as in the macro itself.
#![deny(warnings)]

use idem_runtime::{Error, Idem, MemoryBackend, idempotent, lease};

/// The key of the call whose body asks.
fn key_here() -> String {
    lease().expect("a body has a lease").key().to_owned()
}

macro_rules! keyed {
    ($name:ident, $arg:ident, $key:expr) => {
        #[idempotent(key = $key)]
        async fn $name($arg: u64) -> Result<String, Error> {
            let _ = $arg;
            Ok(key_here())
        }
    };
}
keyed!(sum, order, order + 1);
keyed!(template, order, "{order}/{{fixed}}");

macro_rules! computed {
    ($name:ident, $number:expr, $text:expr) => {
        #[idempotent(key = ($number * 2, $text.len()), fingerprint = $number)]
        async fn $name() -> Result<(String, u64), Error> {
            Ok((key_here(), $number * 2))
        }
    };
}
computed!(product, 1_u64 + 2, &"four");

trait Ship {}
impl Ship for u64 {}

macro_rules! whole {
    (
        $(#[$meta:meta])*
        $vis:vis $name:ident, $borrowed:ty, $pat:pat => $arg:ty, $len:expr, $ok:ty, $codec:path,
        $operation:literal, $lease:literal, $body:block
    ) => {
        $(#[$meta])*
        #[idempotent(name = $operation, key = 1, lease = $lease, codec = $codec)]
        $vis async fn $name(_: &$borrowed, $pat: $arg, _: [u8; $len * 2]) -> Result<$ok, Error> $body
    };
}
whole!(
    /// Docs.
    #[must_use]
    pub(super) every_fragment, dyn Ship + Send + Sync, (first, _) => (u64, u64), 1 + 2, Vec<u64>,
    idem_runtime::codec::Json, "macro_rules.every_fragment", "30s", { Ok(vec![first]) }
);

struct Card(u64);
struct Transfer(u64);
macro_rules! methods {
    ($($ty:ty, $operation:literal;)*) => { $(
        impl $ty {
            #[idempotent(name = $operation, key = self.0)]
            async fn charge(&self) -> Result<String, Error> {
                Ok($operation.to_owned())
            }
        }
    )* };
}
methods! {
    Card, "macro_rules.card";
    Transfer, "macro_rules.transfer";
}

#[tokio::test]
async fn keys_are_what_they_read_like() {
    let idem = Idem::builder().backend(MemoryBackend::new()).build().unwrap();
    idem.scope(async {
        assert_eq!(sum(1).await.unwrap(), "2");
        assert_eq!(template(1).await.unwrap(), "1/{fixed}");
        assert_eq!(product().await.unwrap(), ("6:4".to_owned(), 6));
        assert_eq!(every_fragment(&1, (1, 2), [0; 6]).await.unwrap(), [1]);
        assert_eq!(Card(1).charge().await.unwrap(), "macro_rules.card");
        assert_eq!(Transfer(1).charge().await.unwrap(), "macro_rules.transfer");
    })
    .await;
}
