//! Private Firebird servers, each in its own folder, lent to one test after another.

use std::fs;
use std::io::{copy, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::folder::Folder;
use crate::pool::{free_port, give_away, start, unprivileged, Lent, Pool, Reusable};

/// Debian's folder of the version under test.
const INSTALLED: &str = "/usr/lib/x86_64-linux-gnu/firebird/3.0";

/// Who runs the server when we are root.
const USER: &str = "firebird";

/// A server that a test has for itself.
pub type Server = Lent<Running>;

static IDLE: Pool<Running> = Pool::new(end);

extern "C" fn end() {
    IDLE.empty();
}

/// A running server.
pub struct Running {
    pub port: u16,
    process: Child,
    /// How many tests have used it: each has a folder for its databases.
    used: u32,
    // Last, so that it is removed after the server has ended.
    folder: Folder,
}

impl Reusable for Running {
    fn pool() -> &'static Pool<Self> {
        &IDLE
    }

    /// With another folder for databases. Nothing else of the server is changed by a test.
    fn renew(&mut self) -> bool {
        if !matches!(self.process.try_wait(), Ok(None)) {
            return false;
        }
        let _ = fs::remove_dir_all(self.data());
        self.used += 1;
        make_data(&self.data());
        true
    }
}

fn make_data(folder: &Path) {
    fs::create_dir(folder).unwrap();
    give_away(folder, USER);
}

impl Lent<Running> {
    /// A server in a mode: Super, SuperClassic or Classic.
    pub fn start(mode: &str) -> Self {
        Self::of(Some(mode.to_string()), || Running::start(mode))
    }
}

impl Running {
    fn start(mode: &str) -> Self {
        let folder = Folder::new(USER);
        let root = &folder.0;
        let port = free_port();
        for name in ["plugins", "intl", "firebird.msg", "plugins.conf"] {
            symlink(Path::new(INSTALLED).join(name), root.join(name)).unwrap();
        }
        for name in ["lock", "tmp", "data0"] {
            fs::create_dir(root.join(name)).unwrap();
        }
        fs::write(root.join("databases.conf"), "").unwrap();
        let security = root.join("security.fdb");
        let conf = format!(
            "ServerMode = {mode}\nRemoteServicePort = {port}\nRemoteBindAddress = 127.0.0.1\nSecurityDatabase = {}\n\
             DatabaseAccess = Full\nAuthServer = Srp\nUserManager = Srp\nWireCrypt = Enabled\nIpcName = FB{port}\n\
             TempDirectories = {}\nDeadlockTimeout = 1\n",
            security.display(),
            root.join("tmp").display()
        );
        fs::write(root.join("firebird.conf"), conf).unwrap();
        give_away(root, USER);
        secure(root, &security);
        let log = fs::File::create(root.join("out")).unwrap();
        let mut command = program("/usr/sbin/firebird", root);
        // So that its end is that of the processes that it starts, too.
        command.process_group(0);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let process = start(command);
        let mut server = Self { port, process, used: 0, folder };
        server.wait();
        server
    }

    fn wait(&mut self) {
        let end = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(self.process.try_wait().unwrap().is_none() && Instant::now() < end, "the server did not start");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// The URL of a database in its folder.
    pub fn url(&self, login: &str, parameters: &str) -> String {
        let file = self.data().join("test.fdb");
        format!("firebird://{login}@127.0.0.1:{}/{}?{parameters}", self.port, file.display())
    }

    /// Where it keeps databases.
    pub fn data(&self) -> PathBuf {
        self.folder.0.join(format!("data{}", self.used))
    }

    /// As `url`, by way of `hold`.
    pub fn url_through(&self, hold: &Hold, login: &str) -> String {
        self.url(login, "").replacen(&format!(":{}/", self.port), &format!(":{}/", hold.listen(self.port)), 1)
    }

    /// Ends it without a warning.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its data are of no use any more, and asked to end it takes up to ten seconds.
        let group = format!("-{}", self.process.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).stderr(Stdio::null()).status();
        let _ = self.process.wait();
    }
}

/// Forwards what clients send, and holds one packet until more has come: the server reads both at once.
#[derive(Clone, Default)]
pub struct Hold(Arc<AtomicUsize>);

impl Hold {
    /// How long a packet is held.
    const LONG: Duration = Duration::from_millis(400);

    /// Holds the packet that is sent after so many others.
    pub fn after(&self, packets: usize) {
        self.0.store(packets + 1, Ordering::Relaxed);
    }

    /// A port that leads to that of the server.
    fn listen(&self, server: u16) -> u16 {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let hold = self.clone();
        std::thread::spawn(move || {
            for client in listener.incoming() {
                let (mut from, mut to) = (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
                to.set_nodelay(true).unwrap();
                let (mut back, mut answers) = (from.try_clone().unwrap(), to.try_clone().unwrap());
                std::thread::spawn(move || {
                    let _ = copy(&mut answers, &mut back);
                    let _ = back.shutdown(Shutdown::Both);
                });
                let hold = hold.clone();
                std::thread::spawn(move || {
                    hold.forward(&mut from, &mut to);
                    let _ = to.shutdown(Shutdown::Both);
                });
            }
        });
        port
    }

    fn forward(&self, from: &mut TcpStream, to: &mut TcpStream) {
        let mut packet = [0; 65_536];
        while let Ok(length @ 1..) = from.read(&mut packet) {
            let left = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            let mut length = length;
            if left == Ok(1) {
                std::thread::sleep(Self::LONG);
                // Nothing more may have come.
                from.set_nonblocking(true).unwrap();
                length += from.read(&mut packet[length..]).unwrap_or(0);
                from.set_nonblocking(false).unwrap();
            }
            if to.write_all(&packet[..length]).is_err() {
                return;
            }
        }
    }
}

/// The password of SYSDBA.
pub const PASSWORD: &str = "testing";

/// Makes the security database and its one user, by the engine in the process of isql.
fn secure(root: &Path, security: &Path) {
    let script = format!(
        "create database '{0}';\ncommit;\nconnect '{0}';\nin /usr/share/firebird/3.0/security.sql;\ncommit;\n\
         create user sysdba password '{PASSWORD}' using plugin Srp;\ncommit;\n",
        security.display()
    );
    fs::write(root.join("secure.sql"), script).unwrap();
    let mut command = program("/usr/bin/isql-fb", root);
    let done = command.args(["-q", "-user", "sysdba", "-i"]).arg(root.join("secure.sql")).output().unwrap();
    assert!(
        done.status.success(),
        "{}{}",
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr)
    );
}

/// A program of Firebird's with its own root.
fn program(program: &str, root: &Path) -> Command {
    let mut command = unprivileged(Path::new(program), USER);
    command.current_dir("/").env_remove("ISC_USER").env_remove("ISC_PASSWORD");
    command.env("FIREBIRD", root).env("FIREBIRD_LOCK", root.join("lock")).env("FIREBIRD_TMP", root.join("tmp"));
    command
}
