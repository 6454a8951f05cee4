//! Private PostgreSQL servers, each in its own folder, lent to one test after another.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::{Duration, Instant};

use dsbench_core::engine::{Connection, Engine, Isolation, Session};

use crate::pool::{free_port, Lent, Pool, Reusable};

/// A server that a test has for itself.
pub type Server = Lent<Running>;

/// A running server.
pub struct Running {
    pub folder: PathBuf,
    pub port: u16,
    process: Child,
    _cluster: Arc<Cluster>,
}

/// A fresh database cluster, from which servers that live at the same time are copied.
struct Cluster(PathBuf);

impl Cluster {
    fn get() -> Arc<Self> {
        static SHARED: Mutex<Weak<Cluster>> = Mutex::new(Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(found) = shared.upgrade() {
            return found;
        }
        let made = Arc::new(Self(fresh_folder()));
        let mut initdb = unprivileged("initdb");
        initdb.args(["-A", "trust", "-U", "admin", "-N", "-E", "UTF8", "--locale=C", "-D"]).arg(made.0.join("data"));
        let done = initdb.output().unwrap();
        assert!(done.status.success(), "initdb: {}", String::from_utf8_lossy(&done.stderr));
        *shared = Arc::downgrade(&made);
        made
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A new folder that belongs to whoever runs the server.
fn fresh_folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("dsbench-pg-{}-{number}", std::process::id()));
    fs::create_dir(&folder).unwrap();
    give_away(&folder);
    folder
}

static IDLE: Pool<Running> = Pool::new(end);

extern "C" fn end() {
    IDLE.empty();
}

impl Reusable for Running {
    fn pool() -> &'static Pool<Self> {
        &IDLE
    }

    /// With a new database and without roles of the test.
    fn renew(&mut self) -> bool {
        let elsewhere = dsbench_engines::postgres::open(&self.url().replace("/postgres?", "/template1?")).unwrap();
        let Ok(mut admin) = elsewhere.connect(ADMIN) else { return false };
        let again = ["DROP DATABASE postgres WITH (FORCE)", "CREATE DATABASE postgres TEMPLATE template0"];
        // One by one: neither may stand in a transaction.
        if again.iter().any(|sql| admin.script(&[sql]).is_err()) {
            return false;
        }
        let roles = "SELECT quote_ident(rolname) FROM pg_roles WHERE rolname <> 'admin' AND left(rolname, 3) <> 'pg_'";
        let roles = admin.fetch(roles).unwrap().rows;
        roles.iter().all(|row| admin.script(&[&format!("DROP ROLE {}", row[0].as_deref().unwrap_or_default())]).is_ok())
    }
}

impl Lent<Running> {
    /// A server that trusts everybody.
    pub fn start() -> Self {
        let hba = "local all all trust\nhost all all 127.0.0.1/32 trust\n";
        Self::of(Some("trusting".to_string()), || Running::start(&[], hba, |_| ()))
    }

    /// A server with `settings` and the lines `hba` of pg_hba.conf, for this test alone; `prepare` may put files
    /// into its folder.
    pub fn start_with(settings: &[&str], hba: &str, prepare: impl FnOnce(&Path)) -> Self {
        Self::of(None, || Running::start(settings, hba, prepare))
    }
}

impl Running {
    fn start(settings: &[&str], hba: &str, prepare: impl FnOnce(&Path)) -> Self {
        let cluster = Cluster::get();
        let folder = fresh_folder();
        let data = folder.join("data");
        let copied = Command::new("cp").arg("-a").arg(cluster.0.join("data")).arg(&data).status().unwrap();
        assert!(copied.success());
        fs::write(data.join("pg_hba.conf"), hba).unwrap();
        prepare(&folder);
        give_away(&folder);
        let port = free_port();
        let log = fs::File::create(folder.join("log")).unwrap();
        let mut command = unprivileged("postgres");
        command.arg("-D").arg(&data).arg("-k").arg(&folder).args(["-p", &port.to_string()]);
        for setting in ["listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=16MB", "deadlock_timeout=50ms"]
            .iter()
            .chain(settings)
        {
            command.args(["-c", setting]);
        }
        let process = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut server = Self { folder, port, process, _cluster: cluster };
        server.wait();
        server
    }

    fn wait(&mut self) {
        let end = Instant::now() + Duration::from_secs(60);
        while let Err(error) = self.engine().connect(ADMIN) {
            let ended = self.process.try_wait().unwrap();
            assert!(ended.is_none() && Instant::now() < end, "{error}\n{}", self.log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// What the server wrote.
    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// The URL of its unix socket for the superuser.
    pub fn url(&self) -> String {
        format!("postgresql://admin@/postgres?host={}&port={}", self.folder.display(), self.port)
    }

    /// The URL of its TCP port.
    pub fn tcp(&self, login: &str, parameters: &str) -> String {
        format!("postgresql://{login}@localhost:{}/postgres?hostaddr=127.0.0.1&{parameters}", self.port)
    }

    /// The engine at its unix socket.
    pub fn engine(&self) -> Box<dyn Engine> {
        dsbench_engines::postgres::open(&self.url()).unwrap()
    }

    /// A session for administration.
    pub fn connect(&self) -> Box<dyn Connection> {
        self.engine().connect(ADMIN).unwrap()
    }

    /// A session whose transactions have this isolation.
    pub fn session(&self, isolation: Isolation) -> Box<dyn Connection> {
        self.engine().connect(Session { isolation, in_place: false }).unwrap()
    }

    /// Kills the postmaster and all its children at once, as a loss of power would.
    pub fn kill(&mut self) {
        self.signal("KILL");
        self.process.wait().unwrap();
    }

    /// Sends a signal to the postmaster and all its children at once.
    pub fn signal(&self, name: &str) {
        let postmaster = self.process.id().to_string();
        let children = Command::new("pgrep").args(["-P", &postmaster]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        for process in std::iter::once(postmaster.as_str()).chain(children.split_whitespace()) {
            // One that has ended by itself meanwhile is as good.
            let _ = Command::new("kill").args([&format!("-{name}"), process]).stderr(Stdio::null()).status();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            let _ = Command::new("kill").args(["-QUIT", &self.process.id().to_string()]).status();
            let _ = self.process.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// An administrative session.
pub const ADMIN: Session = Session { isolation: Isolation::ReadCommitted, in_place: false };

/// The folder of the server's programs: where PATH finds them, else Debian's newest.
pub fn programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(found) = std::env::split_paths(&path).find(|folder| folder.join("initdb").exists()) {
        return found;
    }
    let versions = fs::read_dir("/usr/lib/postgresql").expect("these tests need PostgreSQL: initdb is not on PATH");
    let newest = versions.filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.parse::<u32>().ok()).max();
    PathBuf::from(format!("/usr/lib/postgresql/{}/bin", newest.expect("these tests need PostgreSQL")))
}

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Who runs the server when we are root, whom it refuses.
fn user() -> &'static str {
    let known = fs::read_to_string("/etc/passwd").unwrap();
    if known.lines().any(|line| line.starts_with("postgres:")) {
        "postgres"
    } else {
        "nobody"
    }
}

/// A program of the server, run by somebody without privileges.
fn unprivileged(program: &str) -> Command {
    let program = programs().join(program);
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args([&format!("--reuid={}", user()), "--regid=nogroup", "--clear-groups"]).arg(program);
    command.current_dir("/");
    command
}

/// Gives a folder and all in it to the server.
pub fn give_away(folder: &Path) {
    if is_root() {
        assert!(Command::new("chown").args(["-R", user()]).arg(folder).status().unwrap().success());
    }
}
