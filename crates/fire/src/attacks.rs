//! What a server must refuse.

use serde::Serialize;

use crate::Failure;
use crate::site::Site;

#[derive(Debug, Clone, Serialize)]
pub(crate) struct Attack {
    pub(crate) passed: bool,
}

pub(crate) async fn run(_site: &Site) -> Result<Vec<Attack>, Failure> {
    Ok(Vec::new())
}
