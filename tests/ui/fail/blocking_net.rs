use idem_runtime::{Error, idempotent};

#[idempotent(key = order)]
async fn charge(order: u64) -> Result<u64, Error> {
    let _ = std::net::TcpStream::connect("127.0.0.1:1");
    let _ = std::net::TcpStream::connect_timeout(&([127, 0, 0, 1], 1).into(), std::time::Duration::from_secs(1));
    if let Ok(socket) = std::net::UdpSocket::bind("127.0.0.1:0") {
        let _ = std::net::UdpSocket::connect(&socket, "localhost:1");
    }
    let _ = std::os::unix::net::UnixStream::connect("socket");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let _ = listener.accept();
    for stream in listener.incoming() {
        drop(stream);
    }
    Ok(order)
}

fn main() {}
