//! Authentication: trust, password, md5, SCRAM-SHA-256 with and without channel binding.

use dsbench_core::error::{Error, ErrorKind, Result};
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding as Binding, ScramSha256};

use super::options::{ChannelBinding, Options};
use super::reply::Fields;
use super::tls;
use crate::net::transport::Transport;

const SCRAM: &[u8] = b"SCRAM-SHA-256";
const SCRAM_PLUS: &[u8] = b"SCRAM-SHA-256-PLUS";

/// One login under way.
pub struct Authentication<'a> {
    options: &'a Options,
    /// Hash of the server's certificate, when there is TLS and the certificate allows it.
    end_point: Option<Vec<u8>>,
    /// By what the certificate is signed, when no login can be tied to it.
    unbindable: Option<String>,
    scram: Option<ScramSha256>,
    /// The server has named a way to log in.
    asked: bool,
    /// The login was tied to the TLS connection.
    bound: bool,
    /// The server has shown that it knows the password.
    proven: bool,
    done: bool,
}

impl<'a> Authentication<'a> {
    /// A login that has not begun.
    pub fn new(options: &'a Options, transport: &Transport) -> Self {
        let wanted = options.tls.channel_binding != ChannelBinding::Disable;
        let end_point = if wanted { tls::server_end_point(transport) } else { None };
        let unbindable = if end_point.is_none() { tls::signature_without_hash(transport) } else { None };
        Self { options, end_point, unbindable, scram: None, asked: false, bound: false, proven: false, done: false }
    }

    /// True when the server is satisfied.
    pub fn is_done(&self) -> bool {
        self.done
    }

    /// Takes the body of an Authentication message; gives the whole message to answer with, if any.
    pub fn answer(&mut self, body: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut fields = Fields(body);
        let code = fields.int32().map_err(refuse)?;
        self.check_way(code)?;
        match code {
            0 => self.accept().map(|()| None),
            3 => {
                self.forbid_unbound()?;
                let password = password(self.options)?;
                Ok(Some(message(&[password.as_bytes(), b"\0"])))
            }
            5 => {
                self.forbid_unbound()?;
                let salt = fields.bytes(4).map_err(refuse)?;
                let salt = [salt[0], salt[1], salt[2], salt[3]];
                let hash = md5_hash(self.options.user.as_bytes(), password(self.options)?.as_bytes(), salt);
                Ok(Some(message(&[hash.as_bytes(), b"\0"])))
            }
            10 => self.begin_scram(fields.0).map(Some),
            11 => {
                let scram = self.scram.as_mut().ok_or_else(out_of_order)?;
                few_rounds(fields.0)?;
                scram.update(fields.0).map_err(refuse)?;
                Ok(Some(message(&[scram.message()])))
            }
            12 => {
                let scram = self.scram.as_mut().ok_or_else(out_of_order)?;
                scram.finish(fields.0).map_err(refuse)?;
                self.proven = true;
                Ok(None)
            }
            other => Err(unsupported(other)),
        }
    }

    /// The server is satisfied; the client must be, too.
    fn accept(&mut self) -> Result<()> {
        self.forbid_unbound()?;
        if self.scram.is_some() && !self.proven {
            return Err(refuse("the server ended SCRAM without proving that it knows the password"));
        }
        self.done = true;
        Ok(())
    }

    /// The way by which the server wants the login must be one that require_auth allows.
    fn check_way(&mut self, code: i32) -> Result<()> {
        let way = match code {
            0 if !self.asked => "none",
            3 => "password",
            5 => "md5",
            7 => "gss",
            9 => "sspi",
            10 => "scram-sha-256",
            _ => return Ok(()),
        };
        self.asked = true;
        if self.options.required_auth.allows(way) {
            return Ok(());
        }
        let words = format!("the server wants a login by {way}, which require_auth excludes");
        Err(refuse(words).remedy("change pg_hba.conf of the server, or require_auth of the target"))
    }

    /// With channel_binding=require only a bound login will do.
    fn forbid_unbound(&self) -> Result<()> {
        if self.options.tls.channel_binding == ChannelBinding::Require && !self.bound {
            if let Some(signature) = &self.unbindable {
                let words = format!("channel_binding=require, but the server's certificate is signed by {signature}");
                return Err(refuse(words).remedy("give the server a certificate signed by RSA or ECDSA with SHA-2"));
            }
            let words = "channel_binding=require, but the server does not offer SCRAM-SHA-256-PLUS over TLS";
            return Err(
                refuse(words).remedy("use sslmode=require, a server with ssl = on and a password by scram-sha-256")
            );
        }
        Ok(())
    }

    /// Chooses a mechanism of the list that the server offers and sends the first message.
    fn begin_scram(&mut self, offered: &[u8]) -> Result<Vec<u8>> {
        let offers = |name: &[u8]| offered.split(|byte| *byte == 0).any(|offer| offer == name);
        let (mechanism, binding) = match self.end_point.take() {
            Some(hash) if offers(SCRAM_PLUS) => (SCRAM_PLUS, Binding::tls_server_end_point(hash)),
            // So the server notices when an attacker in between has removed its offer.
            Some(_) => (SCRAM, Binding::unrequested()),
            None => (SCRAM, Binding::unsupported()),
        };
        self.bound = mechanism == SCRAM_PLUS;
        self.forbid_unbound()?;
        if !offers(mechanism) {
            return Err(refuse("the server offers no SASL mechanism but unknown ones")
                .remedy("use scram-sha-256 in pg_hba.conf"));
        }
        let scram = self.scram.insert(ScramSha256::new(password(self.options)?.as_bytes(), binding));
        let first = scram.message();
        let length = (first.len() as u32).to_be_bytes();
        Ok(message(&[mechanism, b"\0", &length, first]))
    }
}

/// Refuses a server's first SCRAM message (RFC 5802, section 5.1: attribute i) whose rounds of hashing would
/// keep this thread for longer than a second. PostgreSQL asks for 4096 unless scram_iterations says otherwise.
fn few_rounds(first: &[u8]) -> Result<()> {
    const MOST: u32 = 1_000_000;
    let rounds = first.split(|byte| *byte == b',').find_map(|part| part.strip_prefix(b"i="));
    let rounds = rounds.and_then(|digits| std::str::from_utf8(digits).ok()?.parse().ok());
    match rounds {
        Some(1..=MOST) => Ok(()),
        _ => Err(refuse(format!("the server asks for no sound number of SCRAM rounds (1 to {MOST})"))),
    }
}

/// The password; an error that says how to give one when there is none.
fn password(options: &Options) -> Result<&str> {
    options.password.as_ref().map(|secret| secret.reveal()).ok_or_else(|| {
        let asked = format!("the server at {} asks for the password of user {:?}", options.place(), options.user);
        match &options.open_passfile {
            Some(file) => refuse(format!("{asked}; {} is not read, as others may read it", file.display()))
                .remedy(format!("chmod 600 {}", file.display())),
            None => refuse(asked).remedy("give it by PGPASSWORD or ~/.pgpass"),
        }
    })
}

/// A PasswordMessage or SASL response with these parts.
fn message(parts: &[&[u8]]) -> Vec<u8> {
    let length = 4 + parts.iter().map(|part| part.len()).sum::<usize>();
    let mut out = Vec::with_capacity(length + 1);
    out.push(b'p');
    out.extend_from_slice(&(length as u32).to_be_bytes());
    out.extend(parts.iter().flat_map(|part| part.iter()));
    out
}

fn refuse(message: impl ToString) -> Error {
    Error::with(ErrorKind::Setup, "log in", message.to_string())
}

fn out_of_order() -> Error {
    refuse("the server sent SCRAM messages out of order")
}

fn unsupported(code: i32) -> Error {
    let name = match code {
        2 => "Kerberos V5",
        7 | 8 => "GSSAPI",
        9 => "SSPI",
        _ => "an unknown method",
    };
    refuse(format!("the server asks for {name}, which dsbench does not speak"))
        .remedy("use scram-sha-256 in pg_hba.conf")
}

#[cfg(test)]
mod tests {
    use super::few_rounds;

    #[test]
    fn a_server_cannot_keep_the_client_hashing() {
        assert!(few_rounds(b"r=abc,s=c2FsdA==,i=4096").is_ok());
        for wrong in ["r=abc,s=c2FsdA==,i=1000001", "r=abc,s=c2FsdA==,i=0", "r=abc,s=c2FsdA==", "r=a,i=many"] {
            assert!(few_rounds(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
