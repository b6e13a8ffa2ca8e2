use idem_runtime::{Error, idempotent};

use std::io::BufRead as _;

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    let input = std::io::stdin();
    let _ = input.lock().read_line(&mut line);
    for line in input.lines() {
        drop(line);
    }
    let _ = std::io::read_to_string(std::io::stdin());
    Ok(order)
}

fn main() {}
