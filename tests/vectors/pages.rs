//! The pages of `docs/contracts`: what each contract does with each answer, made from the contract and its vectors.

use std::fmt::Write as _;

use intento::core::contract::{CarrierPlace, ConclusiveWhen, Contract, KeyFormat};
use serde_json::Value;

use super::Shipped;
use super::vector::{Kind, Reply, Step, Then, Vector};

/// The page of one contract.
pub fn page(shipped: &Shipped) -> String {
    let contract = shipped.contract();
    let text: Value = serde_json::from_str(shipped.contract).unwrap_or_default();
    let mut page = format!("# {}\n\n", text["name"].as_str().unwrap_or(shipped.id));
    page += &format!(
        "Made from [`contracts/{id}.json`](../../contracts/{id}.json) and [its vectors](../../tests/contracts/{id}.json), \
         which run in every test.\nChecked {}. See [Choose or write a contract](README.md).\n\n",
        text["checked"].as_str().unwrap_or_default(),
        id = shipped.id
    );
    page += &facts(&contract, shipped.id);
    page += &list("## Mind", &text["notes"]);
    page += &list("## Not confirmed", &unconfirmed(&text));
    page += &answers(&shipped.vectors());
    page += &checks(&contract, &shipped.vectors());
    page += &list("## Sources", &text["sources"]);
    page
}

/// The name under which `intento/contracts` exports a contract.
pub fn export_of(id: &str) -> String {
    let mut words = id.split('-');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (head, tail) = word.split_at(1);
        name + &head.to_uppercase() + tail
    })
}

fn facts(contract: &Contract, id: &str) -> String {
    let mut table = String::from("| | |\n|---|---|\n");
    let mut row = |what: &str, is: String| _ = writeln!(table, "| {what} | {is} |");
    row("import", format!("`import {{ {} }} from 'intento/contracts'`", export_of(id)));
    row("the key", format!("{}; {}", carrier(contract), key(contract)));
    row("sent again", window(contract));
    row("methods", contract.methods.iter().map(|method| method.as_str()).collect::<Vec<_>>().join(", "));
    row("a repeated answer", marker(contract));
    let conclusive = match contract.refusal.conclusive {
        ConclusiveWhen::Stored => "where it carries the replay marker or the key's echo",
        ConclusiveWhen::ByRule if contract.rules.iter().any(|rule| rule.conclusive) => "where a rule says so",
        ConclusiveWhen::ByRule => "never",
    };
    row("a refusal is conclusive", conclusive.to_owned());
    row("in front of the key's layer", contract.before_layer.iter().map(u16::to_string).collect::<Vec<_>>().join(", "));
    table + "\n"
}

fn carrier(contract: &Contract) -> String {
    let carrier = &contract.carrier;
    let name = &carrier.name;
    let first_sent = carrier.first_sent.as_ref().map(|name| format!(", and when it was first sent in `{name}`"));
    match carrier.place {
        CarrierPlace::Header => {
            let how = if carrier.quoted { "in quotes" } else { "raw" };
            format!("header `{name}`, {how}{}", first_sent.unwrap_or_default())
        }
        CarrierPlace::Body => format!("in the body at `{name}`"),
        CarrierPlace::Query => format!("query parameter `{name}`"),
        CarrierPlace::Path => format!("in the path, where `{{{name}}}` stands"),
        CarrierPlace::None => "none travels".to_owned(),
    }
}

fn key(contract: &Contract) -> String {
    let format = match contract.key.format {
        KeyFormat::Uuid => "a UUID",
        KeyFormat::Hex32 => "32 hex digits",
        KeyFormat::Alphabet => "letters and digits",
    };
    let at_most = contract.key.max_length.map(|length| format!(", at most {length} characters"));
    let at_least = contract.key.min_length.map(|length| format!(", at least {length}"));
    format!("{format}{}{}", at_most.unwrap_or_default(), at_least.unwrap_or_default())
}

fn window(contract: &Contract) -> String {
    if !contract.resends() {
        return "never".to_owned();
    }
    let mut window = format!("for {}", span(contract.windows().usable_ms("/")));
    for special in &contract.retention_by_path {
        let usable_ms = special.retention_ms.saturating_sub(contract.margin_ms);
        _ = write!(window, "; `{}` for {}", special.prefix, span(usable_ms));
    }
    window + &format!(" after the first send (the documented or assumed time less {})", span(contract.margin_ms))
}

fn marker(contract: &Contract) -> String {
    let Some(replay) = &contract.replay else { return "has no marker".to_owned() };
    let header = replay.header.as_ref().map(|name| format!("`{name}: {}`", replay.values.join("` or `")));
    let statuses = replay.status.iter().map(|status| format!("status {status}"));
    header.into_iter().chain(statuses).collect::<Vec<_>>().join(", ")
}

/// A length of time in its largest whole units.
fn span(ms: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1_000, "s")];
    let mut left = ms;
    let mut parts = Vec::new();
    for (unit, name) in UNITS {
        if left >= unit {
            parts.push(format!("{} {name}", left / unit));
            left %= unit;
        }
    }
    parts.join(" ")
}

fn unconfirmed(text: &Value) -> Value {
    let rules = text["rules"].as_array().into_iter().flatten().filter_map(|rule| {
        let why = rule["unconfirmed"].as_str()?;
        Some(Value::from(format!("the rule for `{}`: {why}", condition(&rule["when"]))))
    });
    text["unconfirmed"].as_array().into_iter().flatten().cloned().chain(rules).collect()
}

fn condition(when: &Value) -> String {
    let values =
        when["pointer"]["is"].as_array().map(|is| is.iter().filter_map(Value::as_str).collect::<Vec<_>>().join("`, `"));
    values.unwrap_or_else(|| when["status"].to_string())
}

fn list(heading: &str, entries: &Value) -> String {
    let entries: Vec<&str> = entries.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if entries.is_empty() {
        return String::new();
    }
    let link = |entry: &str| if entry.starts_with("https://") { linked(entry) } else { entry.to_owned() };
    entries.iter().fold(format!("{heading}\n\n"), |list, entry| list + "- " + &link(entry) + "\n") + "\n"
}

fn linked(entry: &str) -> String {
    let (url, rest) = entry.split_once(' ').map_or((entry, String::new()), |(url, rest)| (url, format!(" {rest}")));
    format!("<{url}>{rest}")
}

fn answers(vectors: &[Vector]) -> String {
    let mut table = String::from("## Answers\n\n| answer | intento | why | source |\n|---|---|---|---|\n");
    for vector in vectors {
        if let Ok(Kind::Verdict(then)) = vector.kind() {
            let row = [told(vector), outcome(then), vector.name.clone(), vector.source.clone()];
            _ = writeln!(table, "| {} |", row.map(|cell| cell.replace('|', "\\|")).join(" | "));
        }
    }
    table + "\n"
}

fn told(vector: &Vector) -> String {
    let before: Vec<String> = vector.history.iter().map(step).collect();
    let before = if before.is_empty() { String::new() } else { format!("after {}: ", before.join(", ")) };
    let late = if vector.after_ms > 0 { format!("{} later: ", span(vector.after_ms)) } else { String::new() };
    let usual = vector.method == "POST" && vector.path == "/payments";
    let request = if usual { String::new() } else { format!("`{} {}` ", vector.method, vector.path) };
    let last = Step { answer: vector.answer.clone(), fault: vector.fault.clone(), after_ms: 0 };
    let now = if last.answer.is_none() && last.fault.is_none() { "nothing is sent".to_owned() } else { step(&last) };
    format!("{request}{before}{late}{now}")
}

fn step(step: &Step) -> String {
    match (&step.answer, step.fault.as_deref()) {
        (Some(reply), _) => answer(reply),
        (None, Some("timeout")) => "a timeout".to_owned(),
        (None, Some("network")) => "a network error".to_owned(),
        (None, Some("redirected")) => "a redirect".to_owned(),
        (None, Some("truncated")) => "a body that broke off".to_owned(),
        (None, Some(fault)) => fault.to_owned(),
        (None, None) => "an attempt of which nothing was recorded".to_owned(),
    }
}

fn answer(reply: &Reply) -> String {
    let mut answer = format!("`{}`", reply.status);
    for (name, value) in &reply.headers {
        _ = write!(answer, " `{name}: {value}`");
    }
    match (&reply.body, &reply.text, &reply.decoded) {
        (_, _, Some(decoded)) => {
            _ = write!(answer, " {}, decoded `{decoded}`", reply.media_type.as_deref().unwrap_or_default())
        }
        (Some(body), _, _) => _ = write!(answer, " `{body}`"),
        (_, Some(_), _) => _ = write!(answer, " {}", reply.media_type.as_deref().unwrap_or_default()),
        (None, None, None) => answer += " without a body",
    }
    answer
}

fn outcome(then: &Then) -> String {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut outcome = match then.state.as_str() {
        "waiting" => format!("waits (`{}`), same key", text(&then.cause)),
        "held" => format!("holds it: `{}`", text(&then.reason)),
        "accepted" => "looks for the result, and never sends it again".to_owned(),
        "succeeded" => format!("`succeeded`, replay `{}`", text(&then.replay)),
        "rejected" if then.safe_to_replace => "`rejected`, safe to replace".to_owned(),
        "rejected" => "`rejected`, not safe to replace before it was looked up".to_owned(),
        state => format!("`{state}`"),
    };
    if let Some(ms) = then.waits_at_least_ms {
        outcome += &format!(", at least {}", span(ms));
    }
    if then.gated {
        outcome += "; nothing else goes to this origin meanwhile";
    }
    if let Some(resource) = &then.resource {
        outcome += &format!("; `resource` is `{resource}`");
    }
    outcome
}

fn checks(contract: &Contract, vectors: &[Vector]) -> String {
    let mut table = String::from("## On the wire\n\n| what | how | source |\n|---|---|---|\n");
    for vector in vectors {
        let request = format!("`{} {}`", vector.method, vector.path);
        let how = match vector.kind() {
            Ok(Kind::Wire(wire)) => {
                let header = wire.header.as_ref().and_then(Value::as_object).into_iter().flatten();
                let headers = header.map(|(name, value)| format!("`{name}: {}`", value.as_str().unwrap_or_default()));
                let first_sent = wire.first_sent.iter().map(|name| format!("`{name}: <date>`"));
                let url = wire.url.iter().map(|url| format!("`{url}`"));
                let body = wire.body.iter().map(|body| format!("`{body}`"));
                let parts: Vec<String> = headers.chain(first_sent).chain(url).chain(body).collect();
                parts.join(", ")
            }
            Ok(Kind::NotSubmitted(code)) => format!("{request} is refused: `{code}`"),
            Ok(Kind::Refused { change, field }) => format!("`{change}` is refused: `{field}`"),
            Ok(Kind::Lookup { answer: reply, finding }) => {
                let method = contract.reconcile.as_ref().map_or("", |lookup| lookup.method());
                format!("lookup by `{method}`: {} is `{finding}`", answer(reply))
            }
            Ok(Kind::Verdict(_)) | Err(_) => continue,
        };
        _ = writeln!(
            table,
            "| {} | {} | {} |",
            vector.name,
            how.replace('|', "\\|"),
            vector.source.replace('|', "\\|")
        );
    }
    table + "\n"
}
