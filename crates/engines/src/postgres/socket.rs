//! Where the server of a target may listen.

use std::path::PathBuf;

use super::options::Options;
use crate::net::socket::Address;

/// The places to try for `options`, in order: the one that is named, or else the usual socket
/// folders as far as a socket is there, then localhost.
pub fn addresses(options: &Options) -> Vec<Address> {
    let socket = |folder: &str| Address::Unix(PathBuf::from(folder).join(format!(".s.PGSQL.{}", options.port)));
    let tcp = |host: &str| Address::Tcp(host.to_owned(), options.port, options.address);
    match options.host.as_str() {
        "" if options.address.is_none() => {
            let folders = ["/var/run/postgresql", "/tmp"].into_iter().map(socket);
            let mut found: Vec<Address> =
                folders.filter(|address| matches!(address, Address::Unix(path) if path.exists())).collect();
            found.push(tcp("localhost"));
            found
        }
        "" => vec![tcp("localhost")],
        host if host.starts_with('/') => vec![socket(host)],
        host => vec![tcp(host)],
    }
}
