//! What each contract says, as a client sees it: the table that the stories are told from.

/// One contract.
#[derive(Debug)]
pub(super) struct Contract {
    pub(super) name: &'static str,
    pub(super) carriage: Carriage,
    pub(super) longest_key: usize,
    pub(super) retention_s: u64,
    pub(super) first: u16,
    pub(super) replay: Replay,
    pub(super) in_progress: Told,
    /// `None`: it is not noticed, and the first answer comes again.
    pub(super) other_payload: Option<Told>,
    pub(super) declined: Told,
    pub(super) after_declined: Again,
    pub(super) lost_reply: Told,
    pub(super) after_lost_reply: Again,
    pub(super) transient: Told,
    pub(super) unauthorized: Told,
    /// `None`: it runs, unprotected.
    pub(super) keyless: Option<Told>,
    pub(super) malformed: Told,
}

/// Where the key travels.
#[derive(Debug, Clone, Copy)]
pub(super) enum Carriage {
    Raw(&'static str),
    Quoted(&'static str),
    Member(&'static str),
}

/// What the repetition of a payment made gets.
#[derive(Debug, Clone, Copy)]
pub(super) enum Replay {
    /// The first bytes; with the marker or without.
    Original { marked: bool },
    /// 200 and the payment as it is now.
    CurrentState,
    /// 409 and the name of the payment.
    Conflict,
}

/// What a repetition of something else gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Again {
    Replayed,
    Executed,
}

/// An answer: its status, and what must be in its headers and its body. A header of `""` must be
/// absent; a member of `""` must be absent.
#[derive(Debug, Clone, Copy)]
pub(super) struct Told(
    pub(super) u16,
    pub(super) &'static [(&'static str, &'static str)],
    pub(super) &'static [(&'static str, &'static str)],
);

const KEY: &str = "idempotency-key";
const SHOULD_RETRY: &str = "stripe-should-retry";
const TRANSIENT: &str = "transient-error";
const DRAFT_TYPE: (&str, &str) = ("/type", "https://developer.example.com/idempotency");
const NO_RETRY_AFTER: (&str, &str) = ("retry-after", "");

const HOUR: u64 = 3_600;
const DAY: u64 = 24 * HOUR;

pub(super) const CONTRACTS: [Contract; 8] = [
    Contract {
        name: "ietf",
        carriage: Carriage::Quoted(KEY),
        longest_key: 255,
        retention_s: DAY,
        first: 201,
        replay: Replay::Original { marked: false },
        in_progress: Told(
            409,
            &[("content-type", "application/problem+json"), NO_RETRY_AFTER],
            &[DRAFT_TYPE, ("/title", "A request is outstanding for this Idempotency-Key")],
        ),
        other_payload: Some(Told(422, &[], &[DRAFT_TYPE, ("/title", "Idempotency-Key is already used")])),
        declined: Told(402, &[("content-type", "application/problem+json")], &[("/type", "about:blank")]),
        after_declined: Again::Replayed,
        lost_reply: Told(500, &[], &[("/type", "about:blank")]),
        after_lost_reply: Again::Replayed,
        transient: Told(503, &[], &[("/type", "about:blank")]),
        unauthorized: Told(401, &[], &[("/type", "about:blank")]),
        keyless: Some(Told(400, &[], &[DRAFT_TYPE, ("/title", "Idempotency-Key is missing")])),
        malformed: Told(400, &[], &[DRAFT_TYPE]),
    },
    Contract {
        name: "stripe",
        carriage: Carriage::Raw(KEY),
        longest_key: 255,
        retention_s: DAY,
        first: 200,
        replay: Replay::Original { marked: true },
        in_progress: Told(
            409,
            &[NO_RETRY_AFTER],
            &[("/error/type", "invalid_request_error"), ("/error/code", "idempotency_key_in_use")],
        ),
        other_payload: Some(Told(400, &[], &[("/error/type", "idempotency_error"), ("/error/code", "")])),
        declined: Told(402, &[(SHOULD_RETRY, "")], &[("/error/type", "card_error"), ("/error/code", "card_declined")]),
        after_declined: Again::Replayed,
        lost_reply: Told(500, &[(SHOULD_RETRY, "false")], &[("/error/type", "api_error")]),
        after_lost_reply: Again::Replayed,
        transient: Told(503, &[(SHOULD_RETRY, "true")], &[("/error/type", "api_error")]),
        unauthorized: Told(401, &[], &[("/error/type", "invalid_request_error")]),
        keyless: None,
        malformed: Told(400, &[], &[("/error/type", "invalid_request_error")]),
    },
    Contract {
        name: "stripe-v2",
        carriage: Carriage::Raw(KEY),
        longest_key: 255,
        retention_s: 30 * DAY,
        first: 200,
        replay: Replay::CurrentState,
        in_progress: Told(409, &[], &[("/error/type", "idempotency_error"), ("/error/code", "idempotency_key_in_use")]),
        other_payload: Some(Told(400, &[], &[("/error/type", "idempotency_error"), ("/error/code", "")])),
        declined: Told(402, &[], &[("/error/type", "card_error")]),
        after_declined: Again::Executed,
        lost_reply: Told(500, &[(SHOULD_RETRY, "true")], &[("/error/type", "api_error")]),
        after_lost_reply: Again::Executed,
        transient: Told(503, &[(SHOULD_RETRY, "true")], &[("/error/type", "api_error")]),
        unauthorized: Told(401, &[], &[("/error/type", "invalid_request_error")]),
        keyless: None,
        malformed: Told(400, &[], &[("/error/type", "invalid_request_error")]),
    },
    Contract {
        name: "adyen",
        carriage: Carriage::Raw(KEY),
        longest_key: 64,
        retention_s: 7 * DAY,
        first: 200,
        replay: Replay::Original { marked: false },
        in_progress: Told(422, &[(TRANSIENT, "true")], &[("/errorCode", "704"), ("/errorType", "validation")]),
        other_payload: None,
        declined: Told(422, &[(TRANSIENT, "")], &[("/errorCode", "14_030"), ("/errorType", "validation")]),
        after_declined: Again::Replayed,
        lost_reply: Told(500, &[(TRANSIENT, "")], &[("/errorType", "internal")]),
        after_lost_reply: Again::Replayed,
        transient: Told(500, &[(TRANSIENT, "true")], &[("/errorType", "internal")]),
        unauthorized: Told(401, &[(KEY, "")], &[("/errorType", "security")]),
        keyless: None,
        malformed: Told(400, &[(KEY, "")], &[("/errorType", "validation")]),
    },
    Contract {
        name: "paypal",
        carriage: Carriage::Raw("paypal-request-id"),
        longest_key: 38,
        retention_s: 6 * HOUR,
        first: 201,
        replay: Replay::CurrentState,
        in_progress: Told(
            409,
            &[NO_RETRY_AFTER],
            &[("/name", "RESOURCE_CONFLICT"), ("/details/0/issue", "PREVIOUS_REQUEST_IN_PROGRESS")],
        ),
        other_payload: Some(Told(422, &[], &[("/details/0/issue", "PAYPAL_REQUEST_ID_PREVIOUSLY_USED")])),
        declined: Told(422, &[], &[("/name", "UNPROCESSABLE_ENTITY"), ("/details/0/issue", "INSTRUMENT_DECLINED")]),
        after_declined: Again::Executed,
        lost_reply: Told(500, &[], &[("/name", "INTERNAL_SERVER_ERROR")]),
        after_lost_reply: Again::Executed,
        transient: Told(503, &[], &[("/name", "SERVICE_UNAVAILABLE")]),
        unauthorized: Told(401, &[], &[("/name", "AUTHENTICATION_FAILURE")]),
        keyless: None,
        malformed: Told(400, &[], &[("/name", "INVALID_REQUEST")]),
    },
    Contract {
        name: "gocardless",
        carriage: Carriage::Raw(KEY),
        longest_key: 128,
        retention_s: 30 * DAY,
        first: 201,
        replay: Replay::Conflict,
        in_progress: Told(
            409,
            &[],
            &[
                ("/error/type", "invalid_state"),
                ("/error/errors/0/reason", "idempotent_creation_conflict"),
                ("/error/errors/0/links", ""),
            ],
        ),
        other_payload: None,
        declined: Told(422, &[], &[("/error/type", "validation_failed")]),
        after_declined: Again::Executed,
        lost_reply: Told(500, &[], &[("/error/type", "gocardless")]),
        after_lost_reply: Again::Executed,
        transient: Told(503, &[], &[("/error/type", "gocardless")]),
        unauthorized: Told(401, &[], &[("/error/errors/0/reason", "unauthorized")]),
        keyless: None,
        malformed: Told(400, &[], &[("/error/type", "invalid_api_usage")]),
    },
    Contract {
        name: "square",
        carriage: Carriage::Member("idempotency_key"),
        longest_key: 45,
        retention_s: DAY,
        first: 200,
        replay: Replay::Original { marked: false },
        in_progress: Told(400, &[], &[("/errors/0/code", "IDEMPOTENCY_KEY_REUSED")]),
        other_payload: Some(Told(400, &[], &[("/errors/0/code", "IDEMPOTENCY_KEY_REUSED")])),
        declined: Told(402, &[], &[("/errors/0/code", "CARD_DECLINED")]),
        after_declined: Again::Executed,
        lost_reply: Told(500, &[], &[("/errors/0/code", "INTERNAL_SERVER_ERROR")]),
        after_lost_reply: Again::Executed,
        transient: Told(503, &[], &[("/errors/0/code", "SERVICE_UNAVAILABLE")]),
        unauthorized: Told(401, &[], &[("/errors/0/code", "UNAUTHORIZED")]),
        keyless: Some(Told(400, &[], &[("/errors/0/code", "MISSING_REQUIRED_PARAMETER")])),
        malformed: Told(400, &[], &[("/errors/0/code", "BAD_REQUEST")]),
    },
    Contract {
        name: "mollie",
        carriage: Carriage::Raw(KEY),
        longest_key: 255,
        retention_s: HOUR,
        first: 201,
        replay: Replay::Original { marked: true },
        in_progress: Told(409, &[NO_RETRY_AFTER], &[("/title", "Conflict"), ("/type", "")]),
        other_payload: Some(Told(400, &[], &[("/title", "Bad Request")])),
        declined: Told(422, &[], &[("/title", "Unprocessable Entity")]),
        after_declined: Again::Replayed,
        lost_reply: Told(500, &[], &[("/title", "Internal Server Error")]),
        after_lost_reply: Again::Replayed,
        transient: Told(503, &[], &[("/title", "Service Unavailable")]),
        unauthorized: Told(401, &[], &[("/title", "Unauthorized")]),
        keyless: None,
        malformed: Told(400, &[], &[("/title", "Bad Request")]),
    },
];
