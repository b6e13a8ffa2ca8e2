use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn serve(order: u64) -> Result<!, Error> {
    loop {
        tokio::task::yield_now().await;
        println!("{order}");
    }
}

#[idempotent(key = order)]
async fn run(order: u64) -> ! {
    loop {
        tokio::task::yield_now().await;
        println!("{order}");
    }
}

fn main() {}
