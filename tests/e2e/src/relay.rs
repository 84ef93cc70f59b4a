//! Something on the way between the page and the API that spoils connections or hides headers.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// Passes requests on until it is dropped.
#[derive(Debug)]
pub struct Relay {
    pub origin: String,
    spoiled: Arc<Spoiled>,
    relaying: JoinHandle<()>,
}

/// What is wrong with it.
#[derive(Debug, Default)]
pub struct Spoiled {
    /// So many POSTs that come over a connection that has served before are passed on, and then the connection is reset.
    pub resets: AtomicU32,
    /// So many answers to a POST end in the middle of their body.
    pub cuts: AtomicU32,
    /// Answers' headers that do not get through, until it is mended.
    pub hides: Vec<&'static str>,
    pub mended: AtomicBool,
}

impl Relay {
    /// In front of that address.
    pub async fn open(api: &str, spoiled: Spoiled) -> Result<Self> {
        let upstream: SocketAddr = api.trim_start_matches("http://").parse()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let origin = format!("http://{}", listener.local_addr()?);
        let spoiled = Arc::new(spoiled);
        let its = spoiled.clone();
        let relaying = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let spoiled = its.clone();
                tokio::spawn(async move { spoiled.serve(stream, upstream).await });
            }
        });
        Ok(Self { origin, spoiled, relaying })
    }

    /// Resets so many more.
    pub fn reset(&self, times: u32) {
        self.spoiled.resets.store(times, Ordering::SeqCst);
    }

    /// Hides nothing any more.
    pub fn mend(&self) {
        self.spoiled.mended.store(true, Ordering::SeqCst);
    }

    /// Resets that are still to come.
    pub fn resets_left(&self) -> u32 {
        self.spoiled.resets.load(Ordering::SeqCst)
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.relaying.abort();
    }
}

impl Spoiled {
    /// One request after the other, for as long as the client likes.
    async fn serve(&self, stream: TcpStream, upstream: SocketAddr) -> Result<()> {
        let mut client = BufReader::new(stream);
        for served in 0.. {
            let Some(request) = Message::read(&mut client).await? else { return Ok(()) };
            let mut answer = request.answered_by(upstream).await?;
            // The API wants a connection for each request; the client is to keep its own.
            answer.drop_header("connection");
            let is_post = request.head.starts_with("POST ");
            if is_post && served > 0 && take(&self.resets) {
                client.get_ref().set_zero_linger()?;
                return Ok(());
            }
            if !self.mended.load(Ordering::SeqCst) {
                self.hides.iter().for_each(|name| answer.drop_header(name));
            }
            let cut = is_post && take(&self.cuts);
            let body = if cut { &answer.body[..answer.body.len() / 2] } else { &answer.body };
            client.write_all(answer.head.as_bytes()).await?;
            client.write_all(body).await?;
            if cut {
                return Ok(client.shutdown().await?);
            }
        }
        Ok(())
    }
}

/// One less, if there is one.
fn take(left: &AtomicU32) -> bool {
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1)).is_ok()
}

/// A request or an answer, whole: its head as it came, with the empty line, and its body.
#[derive(Debug)]
struct Message {
    head: String,
    body: Vec<u8>,
}

impl Message {
    /// `None` where the stream ends.
    async fn read(stream: &mut BufReader<TcpStream>) -> Result<Option<Self>> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await? == 0 {
                return Ok(None);
            }
        }
        let mut message = Self { head, body: Vec::new() };
        if message.header("transfer-encoding").is_some() {
            bail!("only bodies of a known length get through");
        }
        let length = message.header("content-length").map_or(Ok(0), str::parse)?;
        message.body.resize(length, 0);
        stream.read_exact(&mut message.body).await?;
        Ok(Some(message))
    }

    async fn answered_by(&self, upstream: SocketAddr) -> Result<Self> {
        let mut server = BufReader::new(TcpStream::connect(upstream).await?);
        server.write_all(self.head.as_bytes()).await?;
        server.write_all(&self.body).await?;
        if self.head.starts_with("HEAD ") {
            bail!("an answer to HEAD has a length and no body");
        }
        Self::read(&mut server).await?.context("the API went away")
    }

    fn header(&self, name: &str) -> Option<&str> {
        let headers = self.head.lines().filter_map(|line| line.split_once(':'));
        headers.into_iter().find(|(its, _)| its.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    fn drop_header(&mut self, name: &str) {
        let is_it = |line: &&str| line.split_once(':').is_some_and(|(its, _)| its.eq_ignore_ascii_case(name));
        self.head = self.head.split_inclusive("\r\n").filter(|line| !is_it(line)).collect();
    }
}
