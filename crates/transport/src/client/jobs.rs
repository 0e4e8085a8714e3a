//! The client's side of jobs.

use hyper::Method;
use hyper::body::Bytes;

use super::{Ask, Client, ClientError, QueryReply, most};
use crate::jobs::{JOBS_PATH, Job, JobId, JobList};
use crate::protocol::Selection;

impl Client {
    /// Has an encrypted query evaluated on stored readings, and does not wait for it. The server goes on when this client is gone.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn detach(&self, readings: &Selection, query: &[u8]) -> Result<Job, ClientError> {
        // A query of its own connection is never sent twice.
        let asked = Ask {
            action: "take the query",
            most: most::STATUS,
            timeout: self.timeouts.upload,
            fresh_connection: true,
        };
        let body = Bytes::copy_from_slice(query);
        let reply = self.ask(asked, Method::POST, format!("{JOBS_PATH}/{readings}"), body)?;
        self.parse(reply.body())
    }

    /// Returns the jobs of this client's certificate, those that were asked last first.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses.
    pub fn jobs(&self) -> Result<Vec<Job>, ClientError> {
        let asked = self.about_jobs("list its jobs", most::LIST);
        let reply = self.ask(asked, Method::GET, JOBS_PATH.to_owned(), Bytes::new())?;
        self.parse::<JobList>(reply.body()).map(|list| list.jobs)
    }

    /// Returns a job.
    ///
    /// # Errors
    /// If the server cannot be reached, or refuses: a job that is not there, or another's.
    pub fn job(&self, id: JobId) -> Result<Job, ClientError> {
        let asked = self.about_jobs("show the job", most::STATUS);
        let path = format!("{JOBS_PATH}/{id}");
        let reply = self.ask(asked, Method::GET, path, Bytes::new())?;
        self.parse(reply.body())
    }

    /// Calls a job off, or removes it and its result if it has ended. Returns the job as it is then.
    ///
    /// # Errors
    /// Those of [`Client::job`].
    pub fn cancel_job(&self, id: JobId) -> Result<Job, ClientError> {
        let asked = self.about_jobs("call the job off", most::STATUS);
        let path = format!("{JOBS_PATH}/{id}");
        let reply = self.ask(asked, Method::DELETE, path, Bytes::new())?;
        self.parse(reply.body())
    }

    /// Returns the result of a job that has been answered.
    ///
    /// # Errors
    /// Those of [`Client::job`], jobs without a result, and [`ClientError::TooLong`] if it has more than `most` bytes.
    pub fn job_result(&self, id: JobId, most: u64) -> Result<QueryReply, ClientError> {
        let asked = Ask {
            timeout: self.timeouts.upload,
            ..self.about_jobs("send the result", most)
        };
        let path = format!("{JOBS_PATH}/{id}/result");
        let reply = self.ask(asked, Method::GET, path, Bytes::new())?;
        self.query_reply(reply)
    }

    fn about_jobs(&self, action: &'static str, most: u64) -> Ask {
        Ask {
            action,
            most,
            timeout: self.timeouts.small,
            fresh_connection: false,
        }
    }
}
