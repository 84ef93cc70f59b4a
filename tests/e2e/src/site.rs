//! A place that serves files with headers of a test's choosing.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Serves until it is dropped.
#[derive(Debug)]
pub struct Site {
    pub origin: String,
    serving: JoinHandle<()>,
}

#[derive(Debug)]
struct Content {
    /// Under these prefixes, the first that fits.
    folders: Vec<(&'static str, PathBuf)>,
    headers: String,
}

impl Site {
    pub async fn open(folders: Vec<(&'static str, PathBuf)>, headers: &[(&str, &str)]) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let origin = format!("http://localhost:{}", listener.local_addr()?.port());
        let headers = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let content = Arc::new(Content { folders, headers });
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let content = content.clone();
                tokio::spawn(async move { content.answer(stream).await });
            }
        });
        Ok(Self { origin, serving })
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Content {
    /// One request a connection.
    async fn answer(&self, stream: TcpStream) -> Result<()> {
        let mut stream = BufReader::new(stream);
        let mut request = String::new();
        stream.read_line(&mut request).await?;
        let mut header = String::new();
        while stream.read_line(&mut header).await? > 2 {
            header.clear();
        }
        let path = request.split([' ', '?']).nth(1).unwrap_or_default();
        let (status, body) = match self.find(path).and_then(|file| std::fs::read(file).ok()) {
            Some(body) => ("200 OK", body),
            None => ("404 Not Found", Vec::new()),
        };
        let (kind, length, headers) = (media_type(path), body.len(), &self.headers);
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(&body).await?;
        Ok(stream.shutdown().await?)
    }

    fn find(&self, path: &str) -> Option<PathBuf> {
        let (prefix, folder) = self.folders.iter().find(|(prefix, _)| path.starts_with(prefix))?;
        let name = path[prefix.len()..].trim_start_matches('/');
        Some(folder.join(if name.is_empty() { "index.html" } else { name }))
    }
}

fn media_type(path: &str) -> &'static str {
    match Path::new(path).extension().and_then(|extension| extension.to_str()) {
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        _ => "text/html",
    }
}
