//! The status page: what the server has and does, for a person with a browser. It is written here
//! as a whole, without scripts and without anything from elsewhere, and asks to be loaded anew
//! every few seconds. It shows what the server knows anyway: names in certificates, names of
//! columns, sizes, times and counts. There is no plaintext on it, as the server has none.

use std::fmt::{self, Display, Write};
use std::time::{Duration, SystemTime};

use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};

use super::history::{PastQuery, Rates};
use super::replies::rfc3339;
use crate::metrics::StandingSize;
use crate::store::{StoredReadings, Uploader};
use tfhe_sbc_transport::human::Bytes;
use tfhe_sbc_transport::protocol::Status;

pub(super) const STYLE_PATH: &str = "/status.css";
const STYLE: &str = include_str!("page.css");

const REFRESH_SECONDS: u32 = 5;
/// The most rows of each table.
const ROWS: usize = 25;
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The content of the page.
pub(super) struct Page {
    pub(super) now: SystemTime,
    pub(super) up: Duration,
    pub(super) uploaders: Vec<Uploader>,
    pub(super) latest: Vec<StoredReadings>,
    pub(super) status: Status,
    pub(super) standing: StandingSize,
    pub(super) bootstraps: u64,
    pub(super) connections: u64,
    pub(super) revoked: u64,
    pub(super) rates: Rates,
    pub(super) queries: Vec<PastQuery>,
    pub(super) rejections: Vec<(&'static str, u64)>,
    pub(super) handshake_failures: Vec<(&'static str, u64)>,
}

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let headers = [
            (header::CONTENT_TYPE, "text/html; charset=utf-8"),
            (header::CONTENT_SECURITY_POLICY, POLICY),
            (header::CACHE_CONTROL, "no-store"),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (HeaderName::from_static("referrer-policy"), "no-referrer"),
        ];
        (headers, self.to_string()).into_response()
    }
}

/// The page's style.
pub(super) async fn style() -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/css; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ];
    (headers, STYLE).into_response()
}

impl Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"refresh\" content=\"{REFRESH_SECONDS}\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <title>tfhe-sbc server</title><link rel=\"stylesheet\" href=\"{STYLE_PATH}\">\
             </head><body>\n<header><h1>tfhe-sbc server</h1>\
             <p>{}, up for {}. It holds no secret key and shows no reading: it has none.</p></header>\n",
            rfc3339(self.now),
            Period(self.up),
        )?;
        self.figures(f)?;
        f.write_str("<div class=\"columns\">\n")?;
        self.queue(f)?;
        self.standing(f)?;
        self.history(f)?;
        self.uploaders(f)?;
        self.latest(f)?;
        self.refusals(f)?;
        f.write_str("</div></body></html>\n")
    }
}

impl Page {
    fn figures(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uploads: u64 = self.uploaders.iter().map(|u| u.uploads).sum();
        let bytes: u64 = self.uploaders.iter().map(|u| u.bytes).sum();
        f.write_str("<div class=\"figures\">")?;
        for (what, value) in [
            ("devices", self.uploaders.len().to_string()),
            ("batches stored", uploads.to_string()),
            ("stored", Bytes(bytes).to_string()),
            (
                "batches a second, last minute",
                format!("{:.1}", self.rates.uploads),
            ),
            (
                "bootstraps a second, last minute",
                format!("{:.1}", self.rates.bootstraps),
            ),
            ("bootstraps since the start", self.bootstraps.to_string()),
            ("queries waiting", self.status.waiting.to_string()),
            ("connections", self.connections.to_string()),
        ] {
            write!(f, "<div><b>{value}</b><span>{what}</span></div>")?;
        }
        f.write_str("</div>\n")
    }

    fn queue(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<section id=\"queue\"><h2>Queue</h2>")?;
        if self.status.running.is_empty() {
            f.write_str("<p>No query is being evaluated.</p>")?;
        }
        for query in &self.status.running {
            let (done, expected) = (query.bootstraps, query.expected);
            write!(
                f,
                "<p>A query has been running for {:.0} s: ",
                query.seconds
            )?;
            if expected == 0 {
                write!(f, "{done} bootstraps.</p>")?;
            } else {
                write!(
                    f,
                    "{done} of {expected} bootstraps.</p><progress max=\"{expected}\" value=\"{done}\">{done} of {expected}</progress>"
                )?;
            }
        }
        match self.status.waiting {
            0 => f.write_str("<p>None waits.</p>")?,
            waiting => write!(f, "<p>Waiting: {waiting}.</p>")?,
        }
        f.write_str("</section>\n")
    }

    fn standing(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let StandingSize {
            queries,
            waiting,
            failed,
            results,
            bytes,
        } = self.standing;
        if queries == 0 {
            return Ok(());
        }
        writeln!(
            f,
            "<section id=\"standing\"><h2>Standing queries ({queries})</h2><p>Results: {results}, {}. Periods that wait: \
             {waiting}. Periods that failed: {failed}.</p></section>",
            Bytes(bytes)
        )
    }

    fn history(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.queries.iter().take(ROWS).map(|query| {
            [
                Text(&rfc3339(query.asked_at)).to_string(),
                Text(&query.by).to_string(),
                query.uploads.to_string(),
                query.bootstraps.to_string(),
                format!("{:.1} s", query.took.as_secs_f64()),
                Text(query.outcome).to_string(),
            ]
        });
        let headings = ["asked", "by", "#batches", "#bootstraps", "#took", "outcome"];
        table(f, "queries", "Queries since the start", headings, rows)
    }

    fn uploaders(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.uploaders.iter().take(ROWS).map(|uploader| {
            [
                Text(&uploader.name).to_string(),
                uploader.uploads.to_string(),
                Bytes(uploader.bytes).to_string(),
                Text(&self.ago(uploader.last)).to_string(),
            ]
        });
        let headings = ["device", "#batches", "#bytes", "last new batch"];
        let title = match self.uploaders.len() {
            count @ ..=ROWS => format!("Devices ({count})"),
            count => format!("Devices ({ROWS} of {count}, the latest first)"),
        };
        table(f, "devices", &title, headings, rows)
    }

    fn latest(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.latest.iter().take(ROWS).map(|stored| {
            let id = stored.id.to_string();
            [
                format!("<code>{}…</code>", id.get(..12).unwrap_or(&id)),
                Text(&stored.uploader).to_string(),
                stored.summary.rows.to_string(),
                Bytes(stored.bytes).to_string(),
                Text(&self.ago(stored.created_at)).to_string(),
                Text(&stored.summary.columns.join(", ")).to_string(),
            ]
        });
        let headings = ["batch", "device", "#rows", "#bytes", "stored", "columns"];
        table(f, "batches", "Latest batches", headings, rows)
    }

    fn refusals(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let connections = self
            .handshake_failures
            .iter()
            .map(|row| ("connection", row));
        let requests = self.rejections.iter().map(|row| ("request", row));
        let rows = connections
            .chain(requests)
            .filter(|(_, (_, count))| *count > 0)
            .map(|(what, (reason, count))| {
                let count = format!("<span class=\"bad\">{count}</span>");
                [what.to_owned(), reason.replace('_', " "), count]
            });
        let title = format!(
            "Refused since the start ({} certificates revoked)",
            self.revoked
        );
        table(f, "refused", &title, ["what", "why", "#times"], rows)
    }

    fn ago(&self, then: SystemTime) -> String {
        match self.now.duration_since(then) {
            Ok(elapsed) => format!("{} ago", Period(elapsed)),
            // The clock was set back in the meantime.
            Err(_) => rfc3339(then),
        }
    }
}

/// A table of cells in HTML; a heading with `#` is over numbers.
fn table<const COLUMNS: usize>(
    f: &mut fmt::Formatter<'_>,
    id: &str,
    title: &str,
    headings: [&str; COLUMNS],
    rows: impl Iterator<Item = [String; COLUMNS]>,
) -> fmt::Result {
    write!(f, "<section id=\"{id}\"><h2>{}</h2>", Text(title))?;
    let mut rows = rows.peekable();
    if rows.peek().is_none() {
        return f.write_str("<p>None.</p></section>\n");
    }
    let class = |heading: &str| {
        if heading.starts_with('#') {
            " class=\"n\""
        } else {
            ""
        }
    };
    f.write_str("<table><tr>")?;
    for heading in headings {
        let text = heading.trim_start_matches('#');
        write!(f, "<th{}>{text}</th>", class(heading))?;
    }
    f.write_str("</tr>\n")?;
    for row in rows {
        f.write_str("<tr>")?;
        for (heading, cell) in headings.iter().zip(row) {
            write!(f, "<td{}>{cell}</td>", class(heading))?;
        }
        f.write_str("</tr>\n")?;
    }
    f.write_str("</table></section>\n")
}

/// Text that cannot become markup.
struct Text<'a>(&'a str);

impl Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

struct Period(Duration);

impl Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_secs() {
            seconds @ ..120 => write!(f, "{seconds} s"),
            seconds @ ..7200 => write!(f, "{} min", seconds / 60),
            seconds @ ..172_800 => write!(f, "{} h", seconds / 3600),
            seconds => write!(f, "{} days", seconds / 86_400),
        }
    }
}

/// Returns whether a browser on this machine asks for the page under this host name. Another name
/// would be that of a site that had itself resolved to this machine, to read the page.
pub(super) fn is_local(host: &str) -> bool {
    let name = host.rsplit_once(':').map_or(host, |(name, port)| {
        if port.bytes().all(|byte| byte.is_ascii_digit()) {
            name
        } else {
            host
        }
    });
    ["localhost", "127.0.0.1", "[::1]"].contains(&name)
}
