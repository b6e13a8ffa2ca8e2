use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let text = std::fs::read_to_string("order").unwrap_or_default();
    let _ = std::fs::File::create("copy").map(|file| file.set_len(text.len() as u64));
    let _ = ["a", "b"].map(std::fs::remove_file);
    Ok(order)
}

fn main() {}
