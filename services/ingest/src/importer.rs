//! Running imports for the worker that runs those which a mutation has started.

use std::pin::Pin;
use std::sync::Arc;

use vitrine_domain::Catalog;
use vitrine_domain::admin::imports::{FeedImporter, PreparedImport, Tables};
use vitrine_domain::import::ImportMode;
use vitrine_domain::import_runs::ImportRecord;
use vitrine_model::import_run::ImportPhase;

use crate::mapping::{Mapping, MappingError};
use crate::run::{ImportOptions, import_recorded};

/// Reads the feeds of a process with their mappings.
#[derive(Debug)]
pub struct Importer {
    process: String,
}

impl Importer {
    /// Returns an importer for a process with this name.
    #[must_use]
    pub const fn new(process: String) -> Self {
        Self { process }
    }
}

impl FeedImporter for Importer {
    fn process(&self) -> &str {
        &self.process
    }

    fn check(&self, mapping: &str, tables: &Tables) -> Result<String, Vec<String>> {
        let mut read = |name: &str| table(tables, name);
        match Mapping::parse(mapping, &mut read) {
            Ok(mapping) => Ok(mapping.system().to_owned()),
            Err(first) => {
                let mut all = Mapping::mistakes(mapping, &mut read);
                if all.is_empty() {
                    all.push(first);
                }
                Err(all.iter().map(shown).collect())
            }
        }
    }

    fn run<'a>(
        &'a self,
        catalog: &'a Catalog,
        record: &'a ImportRecord,
        import: PreparedImport,
    ) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        Box::pin(async move {
            // The whole of it, with the folder of the files.
            let import = import;
            let mapping = Mapping::parse(&import.mapping, &mut |name| table(&import.tables, name));
            let mapping = match mapping {
                Ok(mapping) => mapping,
                Err(error) => {
                    return record.end(ImportPhase::Failed, Some(&shown(&error))).await;
                }
            };
            let options = ImportOptions {
                files: import.feeds.clone(),
                mapping: Arc::new(mapping),
                mode: if import.dry_run {
                    ImportMode::DryRun
                } else {
                    ImportMode::Write
                },
                rejects: None,
                mappers: None,
            };
            // Its end, also a failed one, is in the record.
            let _ = import_recorded(catalog, &options, record, |_| ()).await;
        })
    }
}

fn table(tables: &Tables, name: &str) -> Result<Vec<u8>, MappingError> {
    tables.get(name).cloned().ok_or_else(|| MappingError::Read {
        path: name.into(),
        source: std::io::Error::other("it was not uploaded; upload it and name it in `tables`"),
    })
}

fn shown(error: &MappingError) -> String {
    match std::error::Error::source(error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
