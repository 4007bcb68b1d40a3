//! A server on tokio's threads that computes an answer to each request.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

fn compute(rounds: u64) -> u64 {
    (1..rounds).fold(0, |sum, i| (sum * 31 + i % 97 * i) % 1_000_003)
}

async fn answer(mut client: TcpStream) -> std::io::Result<()> {
    let mut request = [0; 4096];
    if client.read(&mut request).await? == 0 {
        return Ok(());
    }
    let body = format!("{}\n", compute(200_000));
    let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    client.write_all((head + &body).as_bytes()).await?;
    client.shutdown().await
}

#[tokio::main]
async fn main() -> std::io::Result<()> {
    let port = std::env::args().nth(1).and_then(|port| port.parse().ok()).unwrap_or(0);
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    loop {
        let (client, _) = listener.accept().await?;
        tokio::spawn(answer(client));
    }
}
