use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64, messages: std::sync::mpsc::Receiver<u64>) -> Result<u64, Error> {
    let (sender, receiver) = std::sync::mpsc::channel::<u64>();
    drop(sender);
    let _ = receiver.recv();
    let _ = receiver.recv_timeout(std::time::Duration::from_secs(1));
    let _ = receiver.iter().count();
    for message in &receiver {
        drop(message);
    }
    let _ = std::sync::mpsc::Receiver::recv(&receiver);
    let _ = messages.recv();
    Ok(order)
}

fn main() {}
