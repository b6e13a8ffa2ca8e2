//! The shortest program: a charge that is asked for twelve times and made once.
//!
//! `cargo run --bin quickstart`

use std::time::Duration;

use idem_runtime::{Idem, MemoryBackend, idempotent, observe};
use serde::{Deserialize, Serialize};

struct Order {
    id: u64,
    cents: u64,
}

#[derive(Debug, Serialize, Deserialize)]
struct Receipt {
    number: String,
    cents: u64,
}

#[idempotent(name = "payments.charge", key = order.id, fingerprint = order.cents)]
async fn charge(order: &Order) -> Result<Receipt, idem_runtime::Error> {
    println!("  the card of order {} is charged", order.id);
    tokio::time::sleep(Duration::from_millis(50)).await;
    Ok(Receipt { number: format!("R-{}", order.id), cents: order.cents })
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let idem = Idem::builder().backend(MemoryBackend::new()).build()?;
    idem.install()?;

    println!("Twice, one after the other:");
    for _ in 0..2 {
        ask(17).await?;
    }

    println!("Ten times at once:");
    let calls: Vec<_> = (0..10).map(|_| tokio::spawn(ask(18))).collect();
    for call in calls {
        call.await??;
    }

    idem.shutdown(Duration::from_secs(5)).await;
    Ok(())
}

/// Calls `charge` and says where its answer came from.
async fn ask(id: u64) -> Result<(), idem_runtime::Error> {
    let answer = observe(charge(&Order { id, cents: 4_200 })).await;
    let receipt = answer.result?;
    if let Some(facts) = answer.facts {
        println!("  receipt {} over {} cents: {:?}", receipt.number, receipt.cents, facts.source);
    }
    Ok(())
}
