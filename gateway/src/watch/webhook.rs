//! Webhooks: each answer is one request with all its rows.

use serde_json::json;
use zeroize::Zeroizing;

use super::Delivery;
use super::http::Post;
use super::target::objects;
use crate::error::Outcome;

/// A URL that answers are posted to.
pub(super) struct Webhook {
    url: String,
    name: String,
    authorization: Option<Zeroizing<String>>,
}

impl Webhook {
    pub(super) fn new(url: &str, name: &str, authorization: Option<Zeroizing<String>>) -> Self {
        Self {
            url: url.to_owned(),
            name: name.to_owned(),
            authorization,
        }
    }

    /// Returns the request of an answer; none if it has no rows.
    ///
    /// # Errors
    /// If a column has no form in JSON.
    pub(super) fn request(&self, delivery: &Delivery) -> Outcome<Option<Post>> {
        let rows = objects(delivery)?;
        if rows.is_empty() {
            return Ok(None);
        }
        let asked = delivery.answer.asked.to_string();
        let body = json!({"name": self.name, "asked": asked, "rows": rows});
        Ok(Some(Post {
            url: self.url.clone(),
            kind: "application/json",
            authorization: self.authorization.clone(),
            body: body.to_string().into_bytes(),
        }))
    }
}
