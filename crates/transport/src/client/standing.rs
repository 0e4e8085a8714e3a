//! The client's side of standing queries.

use hyper::Method;
use hyper::body::Bytes;

use super::{Ask, Client, ClientError, QueryReply, most};
use crate::catalogue::{Filter, Names};
use crate::standing::{
    Period, PeriodFilter, PeriodList, STANDING_PATH, Standing, StandingList, StandingName, Terms,
};
use tfhe_sbc_upload::moments::Moment;
use tfhe_sbc_upload::readings::Column;

impl Client {
    /// Leaves a query with the server, which answers it for each period of time once it is over.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses: terms that do not fit the query, and a name that another query of this
    /// client's certificate has.
    pub fn leave(
        &self,
        name: &StandingName,
        terms: &Terms,
        query: &[u8],
    ) -> Result<Standing, ClientError> {
        let asked = Ask {
            timeout: self.timeouts.upload,
            ..self.about_standing("take the standing query", most::STATUS)
        };
        let path = format!("{STANDING_PATH}/{name}{}", terms.to_query());
        let body = Bytes::copy_from_slice(query);
        let reply = self.ask(asked, Method::POST, path, body)?;
        self.parse(reply.body())
    }

    /// Returns the standing queries of this client's certificate, by name.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn standing_queries(&self) -> Result<Vec<Standing>, ClientError> {
        let asked = self.about_standing("list its standing queries", most::LIST);
        let reply = self.ask(asked, Method::GET, STANDING_PATH.to_owned(), Bytes::new())?;
        self.parse::<StandingList>(reply.body())
            .map(|list| list.standing)
    }

    /// Returns a standing query.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses: a standing query that is not there, or another's.
    pub fn standing(&self, name: &StandingName) -> Result<Standing, ClientError> {
        self.standing_task(Method::GET, name, "")
    }

    /// Has the server compute nothing more for a standing query until it is resumed.
    ///
    /// # Errors
    /// Those of [`Client::standing`].
    pub fn pause_standing(&self, name: &StandingName) -> Result<Standing, ClientError> {
        self.standing_task(Method::POST, name, "/pause")
    }

    /// Has the server go on with a standing query, and try again the periods that failed.
    ///
    /// # Errors
    /// Those of [`Client::standing`].
    pub fn resume_standing(&self, name: &StandingName) -> Result<Standing, ClientError> {
        self.standing_task(Method::POST, name, "/resume")
    }

    /// Removes a standing query with all of its results. Returns what it was.
    ///
    /// # Errors
    /// Those of [`Client::standing`].
    pub fn remove_standing(&self, name: &StandingName) -> Result<Standing, ClientError> {
        self.standing_task(Method::DELETE, name, "")
    }

    /// Returns a page of the periods of a standing query, the latest first.
    ///
    /// # Errors
    /// Those of [`Client::standing`].
    pub fn periods(
        &self,
        name: &StandingName,
        filter: &PeriodFilter,
    ) -> Result<PeriodList, ClientError> {
        let asked = self.about_standing("list the periods", most::LIST);
        let path = format!("{STANDING_PATH}/{name}/periods{}", filter.to_query());
        let reply = self.ask(asked, Method::GET, path, Bytes::new())?;
        self.parse(reply.body())
    }

    /// Returns all periods of a standing query that meet a filter, the latest first, page by page.
    ///
    /// # Errors
    /// Those of [`Client::standing`].
    pub fn all_periods(
        &self,
        name: &StandingName,
        filter: PeriodFilter,
    ) -> Result<Vec<Period>, ClientError> {
        let mut filter = filter;
        let mut all = Vec::new();
        loop {
            let page = self.periods(name, &filter)?;
            all.extend(page.periods);
            match page.next {
                Some(next) => filter.before = Some(next),
                None => return Ok(all),
            }
        }
    }

    /// Returns the columns of the last upload of devices, which a standing query about them is sealed for; `None` if nothing of
    /// them is stored.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn columns_of(&self, names: &Names) -> Result<Option<Vec<Column>>, ClientError> {
        match self.list(&Filter::last_of(names.clone()))?.readings.first() {
            None => Ok(None),
            Some(upload) => Ok(Some(self.columns(&upload.id.into())?.columns)),
        }
    }

    /// Returns those of several names that nothing is stored of yet: they may be misspelt.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn unknown<'a>(&self, names: &'a Names) -> Result<Vec<&'a str>, ClientError> {
        let mut unknown = Vec::new();
        for (pattern, one) in names.patterns().iter().zip(names.each()) {
            if self.list(&Filter::last_of(one))?.readings.is_empty() {
                unknown.push(pattern.as_str());
            }
        }
        Ok(unknown)
    }

    /// Returns the result of the period of a standing query that begins at a moment.
    ///
    /// # Errors
    /// Those of [`Client::standing`], periods without a result, and [`ClientError::TooLong`] if it has more than `most`
    /// bytes.
    pub fn period_result(
        &self,
        name: &StandingName,
        from: Moment,
        most: u64,
    ) -> Result<QueryReply, ClientError> {
        let asked = Ask {
            timeout: self.timeouts.upload,
            ..self.about_standing("send the result", most)
        };
        let path = format!("{STANDING_PATH}/{name}/periods/{from}");
        let reply = self.ask(asked, Method::GET, path, Bytes::new())?;
        self.query_reply(reply)
    }

    fn standing_task(
        &self,
        method: Method,
        name: &StandingName,
        task: &str,
    ) -> Result<Standing, ClientError> {
        let asked = self.about_standing("find the standing query", most::STATUS);
        let path = format!("{STANDING_PATH}/{name}{task}");
        let reply = self.ask(asked, method, path, Bytes::new())?;
        self.parse(reply.body())
    }

    fn about_standing(&self, action: &'static str, most: u64) -> Ask {
        Ask {
            action,
            most,
            timeout: self.timeouts.small,
            fresh_connection: false,
        }
    }
}
