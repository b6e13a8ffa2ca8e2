use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    use std::process::Command;
    let _ = std::process::Command::new("true").arg("x").status();
    let _ = Command::new("true").output();
    let mut command = Command::new("true");
    command.env_clear();
    let _ = command.status();
    let _ = Command::output(&mut command);
    Ok(order)
}

fn main() {}
