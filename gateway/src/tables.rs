//! What SQL sees: a schema whose tables are those of the catalogue at the moment in which a statement is planned.

mod lists;
pub(crate) mod readings;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{SchemaProvider, TableProvider};
use datafusion::error::{DataFusionError, Result};

use crate::serve::Gateway;
pub(crate) use readings::{Readings, TIME_TYPE_ZONE, time_type};

/// The tables that are always there.
const LISTS: [&str; 3] = ["devices", "uploads", "queries"];

/// The schema `public`.
pub(crate) struct Tables {
    gateway: Arc<Gateway>,
}

impl fmt::Debug for Tables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tables")
    }
}

impl Tables {
    pub(crate) fn new(gateway: Arc<Gateway>) -> Self {
        Self { gateway }
    }
}

/// The class of the table of this name: `Some(None)` for the table of all.
fn class_of(name: &str, classes: usize) -> Option<Option<usize>> {
    if name == "readings" {
        return Some(None);
    }
    let number: usize = name.strip_prefix("readings_")?.parse().ok()?;
    let is_one = classes > 1 && (1..=classes).contains(&number);
    is_one.then(|| Some(number - 1))
}

#[async_trait]
impl SchemaProvider for Tables {
    fn table_names(&self) -> Vec<String> {
        let classes = self.gateway.catalogue.latest().classes.len();
        let mut names = vec!["readings".to_owned()];
        if classes > 1 {
            names.extend((1..=classes).map(|number| format!("readings_{number}")));
        }
        names.extend(LISTS.map(str::to_owned));
        names.extend(self.gateway.tables.iter().map(|(name, _)| name.clone()));
        names
    }

    async fn table(&self, name: &str) -> Result<Option<Arc<dyn TableProvider>>> {
        let own = self.gateway.tables.iter().find(|(own, _)| own == name);
        if let Some((_, table)) = own {
            return Ok(Some(Arc::clone(table)));
        }
        if name == "queries" {
            return lists::queries(&self.gateway.journal.entries()).map(Some);
        }
        let is_ours = LISTS.contains(&name) || name.starts_with("readings");
        if !is_ours {
            return Ok(None);
        }
        let gateway = Arc::clone(&self.gateway);
        let snapshot = tokio::task::spawn_blocking(move || gateway.catalogue.refresh());
        let snapshot = snapshot
            .await
            .map_err(|error| DataFusionError::External(Box::new(error)))??;
        Ok(match name {
            "devices" => Some(lists::devices(&snapshot)?),
            "uploads" => Some(lists::uploads(&snapshot)?),
            _ => class_of(name, snapshot.classes.len()).map(|class| {
                let table = Readings::new(Arc::clone(&self.gateway), snapshot, class);
                Arc::new(table) as Arc<dyn TableProvider>
            }),
        })
    }

    fn table_exist(&self, name: &str) -> bool {
        self.table_names().iter().any(|known| known == name)
    }
}
