//! A payments endpoint that keeps the server half of the idempotency contract, on one SQLite file.
//!
//! Read it in the order a request travels:
//!
//! | module | what it decides |
//! |---|---|
//! | `connection` | accepts; can close without an answer |
//! | `wire` | writes down what arrived |
//! | `faults` | what goes wrong on purpose |
//! | `dialect` | the contracts, as data: the server's own and eight providers' |
//! | `key`, `caller` | whose request this is, under which key |
//! | `idempotency` | fingerprint; replays, refuses or runs |
//! | [`decide`] | what a key may do: a pure function |
//! | [`ledger`] | T0 and T1, the two transactions around the handler |
//! | [`payments`] | the handler, which knows nothing of all this |
//! | `answers` | what is sent the first time, and what ever after |
//! | `status` | answers who asks after a payment, changing nothing |
//! | `lookup` | answers who reconciles, and seals the key if nothing happened |
//! | `clock` | the one clock, which the test bench may set forward |
//! | [`mod@inspect`], `control` | what happened, read from the file or over HTTP |

#![forbid(unsafe_code)]

mod answers;
mod caller;
mod clock;
mod connection;
mod control;
mod database;
pub mod decide;
mod dialect;
mod faults;
mod idempotency;
pub mod inspect;
mod key;
pub mod ledger;
mod lookup;
pub mod payments;
mod problem;
mod static_files;
mod status;
mod wire;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, DATE, LOCATION, RETRY_AFTER};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use axum::routing::{any, get};
use axum::{Extension, Router};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower_http::cors::CorsLayer;
use tower_http::set_header::SetResponseHeaderLayer;

pub use crate::database::OpenError;

use crate::answers::IDEMPOTENT_REPLAYED;
use crate::clock::Clock;
use crate::database::Database;
use crate::dialect::{Dialect, HINTS, KEY_HEADERS, OWN, PROVIDERS};
use crate::faults::Switchboard;
use crate::key::IDEMPOTENCY_KEY;
use crate::ledger::Ledger;

const PREFLIGHT_MAX_AGE: Duration = Duration::from_secs(600);
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How to run the server.
#[derive(Debug, Clone)]
pub struct Config {
    /// Port 0 takes a free one; [`Running::addr`] says which.
    pub listen: SocketAddr,
    /// The SQLite file, created if absent.
    pub database: PathBuf,
    /// How long the handler may take before it counts as a transient failure.
    pub handler_timeout: Duration,
    /// How long a reservation holds before another request may take it over. Longer than
    /// `handler_timeout`.
    pub lease: Duration,
    /// How long a stored answer is replayed under `/payments`. Afterwards its key is refused with 410.
    /// The providers' contracts have their own.
    pub retention: Duration,
    /// Origins whose pages may call the server, compared exactly.
    pub allowed_origins: Vec<String>,
    /// Mounts `/control`: fault switches, clock, reset and state. Loopback only.
    pub control: bool,
    /// Directories of files to serve, each under a path prefix such as `/` or `/pkg`.
    pub static_roots: Vec<(String, PathBuf)>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            database: PathBuf::from("payments.sqlite"),
            handler_timeout: Duration::from_secs(5),
            lease: Duration::from_secs(10),
            retention: Duration::from_secs(24 * 60 * 60),
            allowed_origins: Vec::new(),
            control: false,
            static_roots: Vec::new(),
        }
    }
}

/// A running server. Dropping it does not stop it.
#[derive(Debug)]
pub struct Running {
    pub addr: SocketAddr,
    stop: CancellationToken,
    tasks: [JoinHandle<()>; 2],
    executions: TaskTracker,
    writer: JoinHandle<()>,
}

/// Why the server did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error(
        "the handler timeout ({handler_timeout:?}) must be shorter than the lease ({lease:?}), or a run could be taken over while it is still running"
    )]
    LeaseTooShort { handler_timeout: Duration, lease: Duration },
    #[error("{0:?} is not an origin such as http://127.0.0.1:8080")]
    BadOrigin(String),
    #[error("the control endpoints can wipe the ledger; listen on loopback to use them, not on {0}")]
    ControlOffLoopback(SocketAddr),
    #[error("files cannot be served under {0:?}; use a path of plain words that is not used yet")]
    BadStaticPrefix(String),
    #[error("cannot open the database {path}: {source}")]
    Database { path: PathBuf, source: OpenError },
    #[error("cannot listen on {addr}: {source}")]
    Listen { addr: SocketAddr, source: std::io::Error },
}

/// What every request needs.
#[derive(Debug, Clone)]
struct App {
    ledger: Ledger,
    database: Database,
    clock: Clock,
    faults: Switchboard,
    handler_timeout: Duration,
    executions: TaskTracker,
}

/// Starts a server on the current runtime. When this returns, it accepts requests.
///
/// # Errors
/// [`StartError`], before anything is served.
pub async fn start(config: Config) -> Result<Running, StartError> {
    let origins = check(&config)?;
    let (database, writer) = Database::open(&config.database)
        .map_err(|source| StartError::Database { path: config.database.clone(), source })?;
    let listen = |source| StartError::Listen { addr: config.listen, source };
    let listener = TcpListener::bind(config.listen).await.map_err(listen)?;
    let addr = listener.local_addr().map_err(listen)?;

    let clock = Clock::default();
    let app = App {
        ledger: Ledger {
            database: database.clone(),
            clock: clock.clone(),
            lease: config.lease,
            retention: config.retention,
        },
        database,
        clock,
        faults: Switchboard::default(),
        handler_timeout: config.handler_timeout,
        executions: TaskTracker::new(),
    };
    let stop = CancellationToken::new();
    let executions = app.executions.clone();
    let sweeper = tokio::spawn(sweep(app.ledger.clone(), stop.clone()));
    // A browser re-sends a POST by itself when a connection it had kept alive closes without an
    // answer. Where answers are dropped to order, that would hide the drop from the page.
    let keep_alive = !config.control;
    let router = router(app, &config, origins);
    let accepting = tokio::spawn(connection::serve(listener, router, keep_alive, stop.clone()));
    Ok(Running { addr, stop, tasks: [accepting, sweeper], executions, writer })
}

impl Running {
    /// Stops accepting, lets runs that hold a reservation end, and closes the database file.
    pub async fn stop(self) {
        self.stop.cancel();
        for task in self.tasks {
            let _ = task.await;
        }
        self.executions.close();
        self.executions.wait().await;
        let _ = self.writer.await;
    }
}

fn check(config: &Config) -> Result<Vec<HeaderValue>, StartError> {
    if config.handler_timeout >= config.lease {
        return Err(StartError::LeaseTooShort { handler_timeout: config.handler_timeout, lease: config.lease });
    }
    if config.control && !config.listen.ip().is_loopback() {
        return Err(StartError::ControlOffLoopback(config.listen));
    }
    for (index, (prefix, _)) in config.static_roots.iter().enumerate() {
        let repeated = config.static_roots[..index].iter().any(|(earlier, _)| earlier == prefix);
        if repeated || !static_files::is_prefix(prefix) {
            return Err(StartError::BadStaticPrefix(prefix.clone()));
        }
    }
    config
        .allowed_origins
        .iter()
        .map(|origin| parse_origin(origin).ok_or_else(|| StartError::BadOrigin(origin.clone())))
        .collect()
}

/// Scheme, host and port only: a trailing slash or a path would never match, silently.
fn parse_origin(origin: &str) -> Option<HeaderValue> {
    let host = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"))?;
    if host.is_empty() || host.contains(['/', '*', '?', '#', '@']) {
        return None;
    }
    HeaderValue::from_str(origin).ok()
}

fn router(app: App, config: &Config, origins: Vec<HeaderValue>) -> Router {
    let mut router = Router::new().route("/health", get(health));
    for dialect in PROVIDERS.into_iter().chain([&OWN]) {
        router = router.merge(contract(&app, dialect));
    }
    if config.control {
        router = router.merge(control::routes());
    }
    for (prefix, root) in &config.static_roots {
        router = static_files::mount(router, prefix, root);
    }
    let clock = app.clock.clone();
    let date = SetResponseHeaderLayer::overriding(DATE, move |_: &Response| clock.http_date());
    router.layer(cors(origins)).layer(date).with_state(app)
}

/// The endpoints of one contract.
fn contract(app: &App, dialect: &'static Dialect) -> Router<App> {
    let payments = any(not_a_post)
        .post(idempotency::pay)
        .layer(from_fn_with_state(app.clone(), faults::inject))
        .layer(from_fn_with_state(app.clone(), wire::record));
    Router::new()
        .route(&dialect.path("/payments"), payments)
        .route(&dialect.path(status::PATH), status::route())
        .route(&dialect.path(lookup::PATH), lookup::route())
        .layer(Extension(dialect))
}

async fn health() -> StatusCode {
    StatusCode::NO_CONTENT
}

/// Also in the wire log: a followed redirect turns a POST into a GET, and that must be seen.
async fn not_a_post() -> StatusCode {
    StatusCode::METHOD_NOT_ALLOWED
}

fn cors(origins: Vec<HeaderValue>) -> CorsLayer {
    let sent = [CONTENT_TYPE, AUTHORIZATION].into_iter().chain(KEY_HEADERS);
    let read = [RETRY_AFTER, DATE, LOCATION, IDEMPOTENCY_KEY, IDEMPOTENT_REPLAYED].into_iter().chain(HINTS);
    CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::DELETE, Method::PATCH])
        .allow_headers(sent.collect::<Vec<_>>())
        .expose_headers(read.collect::<Vec<_>>())
        .max_age(PREFLIGHT_MAX_AGE)
}

async fn sweep(ledger: Ledger, stop: CancellationToken) {
    let mut ticks = tokio::time::interval(SWEEP_EVERY);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => {
                if let Err(error) = ledger.sweep().await {
                    eprintln!("reference-server: sweep: {error}");
                }
            }
        }
    }
}
