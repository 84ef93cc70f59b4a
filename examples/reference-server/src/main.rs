use std::error::Error;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use reference_server::{Config, start};

/// Serves POST /payments with idempotency keys, and eight providers' contracts, on one SQLite file.
#[derive(Debug, Parser)]
#[command(version)]
struct Options {
    /// Address to listen on; port 0 takes a free one.
    #[arg(long, default_value = "127.0.0.1:8081")]
    listen: SocketAddr,
    /// The SQLite file, created if absent.
    #[arg(long)]
    database: PathBuf,
    /// Mount /control: fault switches, clock, reset and state. Loopback only.
    #[arg(long)]
    control: bool,
    /// An origin whose pages may call the server. May be repeated.
    #[arg(long = "allow-origin", value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// How long the handler may take; shorter than the lease.
    #[arg(long, value_name = "N", default_value_t = 5_000)]
    handler_timeout_ms: u64,
    /// How long a reservation holds before it may be taken over.
    #[arg(long, value_name = "N", default_value_t = 10_000)]
    lease_ms: u64,
    /// How long a stored answer of /payments is replayed before its key is refused with 410.
    #[arg(long, value_name = "N", default_value_t = 86_400_000)]
    retention_ms: u64,
    /// Serve the files of a directory under a path, for example /pkg=./pkg. May be repeated.
    #[arg(long = "static", value_name = "PATH=DIR", value_parser = parse_static_root)]
    static_roots: Vec<(String, PathBuf)>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match serve(Options::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("reference-server: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(options: Options) -> Result<(), Box<dyn Error>> {
    let running = start(Config {
        listen: options.listen,
        database: options.database,
        handler_timeout: Duration::from_millis(options.handler_timeout_ms),
        lease: Duration::from_millis(options.lease_ms),
        retention: Duration::from_millis(options.retention_ms),
        allowed_origins: options.allow_origin,
        control: options.control,
        static_roots: options.static_roots,
    })
    .await?;
    println!("listening on http://{}", running.addr);
    std::io::stdout().flush()?;
    tokio::signal::ctrl_c().await?;
    running.stop().await;
    Ok(())
}

fn parse_static_root(root: &str) -> Result<(String, PathBuf), &'static str> {
    let (prefix, dir) = root.split_once('=').ok_or("write it as PATH=DIR")?;
    Ok((prefix.to_owned(), PathBuf::from(dir)))
}
