//! Pipelines of a script: where they begin and end.

use dsbench_core::engine::Connection;
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_script::{Action, Script};

use super::plan::at;

/// What a script has begun and not ended.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Open {
    pub(super) transaction: bool,
    pub(super) pipeline: bool,
}

/// Begins, synchronises or ends a pipeline.
pub(super) fn pipeline(conn: &mut dyn Connection, action: &Action, open: &mut Open) -> Result<()> {
    let Some(piping) = conn.pipeline() else {
        return Err(Error::configuration("this engine has no pipelines"));
    };
    match (action, open.pipeline) {
        (Action::StartPipeline, false) => open.pipeline = true,
        (Action::StartPipeline, true) => return Err(Error::configuration("already in pipeline mode")),
        (_, false) => return Err(Error::configuration("not in pipeline mode")),
        (Action::EndPipeline, true) => {
            open.pipeline = false;
            let done = piping.finish();
            // Whatever was open before the error still is; without a transaction nothing is rolled back.
            open.transaction |= done.is_err();
            return done;
        }
        (_, true) => return piping.sync(),
    }
    Ok(())
}

/// An error of this client with file and line; those of the database say by themselves what they are about.
pub(super) fn placed(script: &Script, number: usize, error: Error) -> Error {
    match error.kind {
        ErrorKind::Configuration => {
            let why = error.message.as_deref().unwrap_or_default();
            at(&script.name, script.commands[number].line, why)
        }
        _ => error,
    }
}
