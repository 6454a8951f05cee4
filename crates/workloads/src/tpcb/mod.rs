//! TPC-B, revision 2.0: updates of a bank's accounts, tellers and branches, and a history.
//!
//! Results are "tps (TPC-B-like)": what makes a TPC result (an audited report, a price) is not here.
//! Sent as a procedure, a transaction is one round trip, as in the paper, section 4.2; sent as
//! statements it is seven: BEGIN, five statements, COMMIT.

pub mod bank;
pub mod check;
pub mod client;
pub mod entry;
pub mod on_bank;
pub mod rows;

use std::sync::Arc;

use dsbench_core::error::Result;
use dsbench_core::workload::Workload;

use crate::entry::names_of;
use crate::Options;
use bank::TPCB;
use client::{Does, TpcbClient, REMOTE};
use on_bank::OnBank;

/// Opens the workload. Errors: see [`crate::open`].
fn open(options: &Options) -> Result<Box<dyn Workload>> {
    OnBank::open(
        options,
        &TPCB,
        const { &names_of(entry::KINDS) },
        |at, conn, expected| check::check(&at.bank, conn, expected),
        |at, who, seed| Box::new(TpcbClient::new(Arc::clone(&at.bank), Does::Whole(at.call), REMOTE, who.id, seed)),
    )
}
