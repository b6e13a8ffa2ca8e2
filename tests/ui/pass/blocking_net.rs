#![deny(warnings)]

use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let _ = tokio::net::TcpStream::connect("127.0.0.1:1").await;
    if let Ok(listener) = tokio::net::TcpListener::bind("127.0.0.1:0").await {
        let _ = listener.accept().await;
    }
    Ok(order)
}

#[test]
fn compiles() {
    drop(charge(1));
}
