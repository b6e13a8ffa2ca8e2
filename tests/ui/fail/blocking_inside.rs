use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let nap = || std::thread::sleep(std::time::Duration::ZERO);
    nap();
    async { std::thread::sleep(std::time::Duration::ZERO) }.await;
    assert!(std::fs::exists("a").is_ok(), "{}", std::fs::read("b").is_ok());
    let _ = format!("{text}", text = std::fs::read_to_string("c").unwrap_or_default());
    let _ = tokio::join!(async { std::fs::read("d") }, async { std::fs::read("e") });
    tokio::select! {
        biased;
        _ = async { std::fs::read("f") }, if std::fs::exists("g").is_ok() => {
            let _ = std::fs::read("h");
        }
        _ = tokio::task::yield_now() => drop(std::fs::read("i")),
        else => drop(std::fs::read("j")),
    }
    let _ = vec![std::fs::read("k").is_ok(); 1].len();
    Ok(order)
}

fn main() {}
