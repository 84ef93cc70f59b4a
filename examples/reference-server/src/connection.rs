//! Accepting connections, and closing one without an answer.
//!
//! The accept loop is our own because a lost answer must be lost for real: the client has to see
//! its connection end without a byte of a response head. hyper does exactly that when the service
//! fails, which an axum router by itself never does.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::response::Response;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const MAX_CONNECTIONS: usize = 1_024;
/// How long open connections may finish their answers when the server stops.
const STOP_GRACE: Duration = Duration::from_millis(500);
/// After a failed accept (too many open files), so that the loop does not spin.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Marks a response that must not be sent: its connection is closed instead.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("closed without an answer, as ordered")]
pub(crate) struct Severed;

impl Severed {
    pub(crate) fn response() -> Response {
        let mut response = Response::new(Body::empty());
        response.extensions_mut().insert(Self);
        response
    }

    pub(crate) fn is(response: &Response) -> bool {
        response.extensions().get::<Self>().is_some()
    }
}

/// Serves until `stop` is cancelled, then lets open connections finish for a moment and cuts them.
pub(crate) async fn serve(listener: TcpListener, router: Router, keep_alive: bool, stop: CancellationToken) {
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    while let Some(stream) = accept(&listener, &mut connections, &stop).await {
        let Ok(place) = Arc::clone(&room).acquire_owned().await else {
            break;
        };
        let (router, stop) = (router.clone(), stop.clone());
        connections.spawn(async move {
            serve_connection(stream, router, keep_alive, stop).await;
            drop(place);
        });
    }
    drop(listener);
    let finished = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(STOP_GRACE, finished).await.is_err() {
        connections.shutdown().await;
    }
}

/// The next connection; `None` once stopped. Reaps ended connections while it waits.
async fn accept(listener: &TcpListener, connections: &mut JoinSet<()>, stop: &CancellationToken) -> Option<TcpStream> {
    loop {
        tokio::select! {
            () = stop.cancelled() => return None,
            Some(_) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _peer)) => return Some(stream),
                Err(_) => tokio::time::sleep(ACCEPT_PAUSE).await,
            },
        }
    }
}

async fn serve_connection(stream: TcpStream, router: Router, keep_alive: bool, stop: CancellationToken) {
    let service = service_fn(move |request: hyper::Request<Incoming>| {
        let router = router.clone();
        async move {
            let answer: Result<Response, Infallible> = router.oneshot(request.map(Body::new)).await;
            let Ok(response) = answer;
            if Severed::is(&response) { Err(Severed) } else { Ok(response) }
        }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .keep_alive(keep_alive)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    // A connection that ends in an error has nobody left to tell.
    tokio::select! {
        _ = connection.as_mut() => {}
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            let _ = connection.await;
        }
    }
}
