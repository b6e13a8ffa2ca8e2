use idem_runtime::{Error, idempotent};

// What matters are the paths, not what is behind them.
mod reqwest {
    pub mod blocking {
        pub struct Client;
        impl Client {
            pub fn new() {}
        }
        pub fn get(_: &str) {}
    }
}
mod ureq {
    pub fn get(_: &str) {}
}

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    reqwest::blocking::get("http://localhost");
    reqwest::blocking::Client::new();
    ureq::get("http://localhost");
    Ok(order)
}

fn main() {}
