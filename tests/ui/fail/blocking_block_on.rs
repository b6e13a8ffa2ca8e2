use idem_runtime::{Error, idempotent};

// What matters are the paths, not what is behind them.
mod futures {
    pub mod executor {
        pub fn block_on(_: impl Future) {}
    }
}
mod pollster {
    pub use super::futures::executor::block_on;
}
mod async_std {
    pub mod task {
        pub use super::super::futures::executor::block_on;
    }
}
use pollster::block_on;

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    futures::executor::block_on(async {});
    pollster::block_on(async {});
    async_std::task::block_on(async {});
    block_on(async {});
    tokio::runtime::Handle::current().block_on(async {});
    Ok(order)
}

fn main() {}
