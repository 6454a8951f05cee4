//! The sweep: a session that removes all versions of rows which no transaction can see any more, and moves
//! the oldest interesting transaction on. Firebird asks for it by the parameters of an attachment.

use std::sync::Arc;

use dsbench_core::error::Result;

use super::api::Api;
use super::attachment::Attachment;
use super::blocks;
use super::target::Target;

/// How the database of a session is swept.
pub(super) struct Sweep(pub Arc<Target>);

impl Sweep {
    /// Sweeps, and comes back when that is done.
    pub(super) fn run(&self, api: &'static Api) -> Result<()> {
        match Attachment::open(api, &self.0.database, &blocks::sweep(&self.0)) {
            Ok(_swept) => Ok(()),
            Err(status) => Err(status.error(api, "sweep")),
        }
    }
}
