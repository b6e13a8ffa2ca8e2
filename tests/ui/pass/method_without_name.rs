#![deny(warnings)]

use idem_runtime::{Error, Idem, MemoryBackend, idempotent};

struct Card;
struct Transfer;

impl Card {
    #[idempotent(name = "cards.charge", key = order)]
    async fn charge(&self, order: u64) -> Result<String, Error> {
        Ok(format!("card {order}"))
    }

    // Not a method, and so it has a default name.
    #[idempotent(key = order)]
    async fn issue(order: u64) -> Result<u64, Error> {
        Ok(order)
    }
}

impl Transfer {
    #[idempotent(name = "transfers.charge", key = order)]
    async fn charge(&self, order: u64) -> Result<String, Error> {
        Ok(format!("transfer {order}"))
    }
}

#[tokio::test]
async fn each_type_has_its_own_results() {
    let idem = Idem::builder().backend(MemoryBackend::new()).build().unwrap();
    idem.scope(async {
        assert_eq!(Card.charge(1).await.unwrap(), "card 1");
        assert_eq!(Transfer.charge(1).await.unwrap(), "transfer 1");
        assert_eq!(Card::issue(1).await.unwrap(), 1);
    })
    .await;
}
