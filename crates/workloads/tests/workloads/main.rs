//! The workloads on real databases: what they build, what they run, and that their checks can fail.
//!
//! What is the same on several products is one function, which `on` names with them:
//! `cargo test --release -p dsbench-workloads --test workloads firebird` runs all on Firebird.
#![cfg(unix)]

/// Makes each function a test on each of the products: see `home::Product::named`. Those that are `thorough` take long:
/// `scripts/test-rust` leaves them out, and `scripts/test-rust thorough` runs them.
macro_rules! on {
    (thorough [$($product:ident),+] $names:tt) => {
        mod thorough {
            use super::*;
            $(on!($product $names);)+
        }
    };
    ([$($product:ident),+] $names:tt) => {
        $(on!($product $names);)+
    };
    ($product:ident [$($name:ident),+ $(,)?]) => {
        mod $product {
            $(#[test]
            fn $name() {
                super::$name(crate::home::Product::named(stringify!($product)));
            })+
        }
    };
}

mod bed;
mod catalogue;
mod faults;
#[path = "../../../engines/tests/firebird/server.rs"]
#[allow(dead_code)]
mod firebird_server;
#[path = "../../../engines/tests/common/folder.rs"]
mod folder;
mod home;
mod insert;
mod mock;
mod mysql;
#[path = "../../../engines/tests/common/pool.rs"]
mod pool;
mod postgres;
mod procedures;
mod script;
#[path = "../../../engines/tests/common/server.rs"]
#[allow(dead_code)]
mod server;
mod sqlite;
mod tp1;
mod tpcb;
mod tpcc;
