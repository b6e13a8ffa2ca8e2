use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    use std::thread::{self, sleep as nap};
    use std::time::Duration;
    thread::sleep(Duration::from_secs(1));
    nap(Duration::from_secs(1));
    {
        use std::fs as files;
        use std::thread::*;
        let _ = files::read("order");
        sleep(Duration::from_secs(1));
    }
    ::std::thread::sleep(Duration::from_secs(1));
    Ok(order)
}

fn main() {}
