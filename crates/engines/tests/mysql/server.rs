//! Private MariaDB and MySQL servers, each in its own folder, lent to one test after another.

use std::fs;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Once, Weak};
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
    _template: Arc<Template>,
}

/// A fresh data folder, from which servers that live at the same time are copied.
struct Template(PathBuf);

impl Template {
    fn get(product: &Product) -> Arc<Self> {
        static SHARED: [Mutex<Weak<Template>>; 2] = [const { Mutex::new(Weak::new()) }; 2];
        let mut shared =
            SHARED[usize::from(product.is_mysql())].lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(found) = shared.upgrade() {
            return found;
        }
        let made = Arc::new(Self(fresh_folder()));
        let mut installation = product.installation(&made.0.join("data"));
        let done = installation.env("TMPDIR", &made.0).output().unwrap();
        let said = [done.stdout, done.stderr].concat();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&said));
        *shared = Arc::downgrade(&made);
        made
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Whose programs are run.
enum Product {
    /// Those on PATH.
    MariaDb,
    /// Those below a folder.
    Mysql(PathBuf),
}

impl Product {
    fn is_mysql(&self) -> bool {
        matches!(self, Self::Mysql(_))
    }

    /// Makes a data folder whose root has no password.
    fn installation(&self, data: &Path) -> Command {
        match self {
            Self::MariaDb => {
                let mut command = unprivileged(Path::new("mariadb-install-db"));
                command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
                command.arg(format!("--datadir={}", data.display()));
                command
            }
            Self::Mysql(base) => {
                let mut command = self.server(data);
                command.arg("--initialize-insecure").arg(format!("--basedir={}", base.display()));
                command
            }
        }
    }

    fn server(&self, data: &Path) -> Command {
        let mut command = match self {
            Self::MariaDb => unprivileged(Path::new("mariadbd")),
            Self::Mysql(base) => unprivileged(&base.join("bin/mysqld")),
        };
        command.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
        if let Self::Mysql(base) = self {
            command.arg(format!("--basedir={}", base.display()));
            command.arg(format!("--lc-messages-dir={}", base.join("share").display()));
            command.args(["--mysqlx=OFF", "--skip-log-bin"]);
        }
        command
    }
}

/// MySQL is not in Debian: its tests run where DSBENCH_TEST_MYSQL names the folder of one. Tests that are about
/// nothing else are ignored unless asked for; of the others the half that is left out is told.
fn mysql() -> Option<Product> {
    static TOLD: Once = Once::new();
    let base = std::env::var_os("DSBENCH_TEST_MYSQL").filter(|base| !base.is_empty());
    if base.is_none() {
        // What is printed is not shown of a test that passes; what is written to the stream is.
        let told = b"LEFT OUT: MySQL's half of the tests on MariaDB and MySQL: DSBENCH_TEST_MYSQL names no folder\n";
        TOLD.call_once(|| std::io::stderr().write_all(told).unwrap());
    }
    base.map(|base| Product::Mysql(base.into()))
}

/// A new folder that belongs to whoever runs the server.
fn fresh_folder() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("dsbench-my-{}-{number}", std::process::id()));
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

    /// Without sessions, databases and users of the test.
    fn renew(&mut self) -> bool {
        let Ok(mut admin) = self.engine().connect(ADMIN) else { return false };
        let end = Instant::now() + Duration::from_secs(5);
        while cells(&mut *admin, SESSIONS).len() > 1 {
            if Instant::now() > end {
                return false;
            }
            std::thread::sleep(Duration::from_millis(2));
        }
        let databases = cells(&mut *admin, DATABASES).into_iter().map(|name| format!("DROP DATABASE `{name}`"));
        let users = cells(&mut *admin, USERS).into_iter().map(|name| format!("DROP USER {name}"));
        databases.chain(users).all(|sql| admin.script(&[&sql]).is_ok())
    }
}

/// Sessions of clients.
const SESSIONS: &str = "SELECT ID FROM information_schema.PROCESSLIST \
    WHERE USER NOT IN ('system user', 'event_scheduler') AND COMMAND <> 'Daemon'";

/// Databases that a new server does not have.
const DATABASES: &str = "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA \
    WHERE SCHEMA_NAME NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')";

/// Users that a new server does not have.
const USERS: &str = "SELECT concat(quote(User), '@', quote(Host)) FROM mysql.user \
    WHERE User NOT IN ('root', 'mysql', 'mariadb.sys', 'mysql.infoschema', 'mysql.session', 'mysql.sys', 'PUBLIC')";

fn cells(connection: &mut dyn Connection, sql: &str) -> Vec<String> {
    let rows = connection.fetch(sql).unwrap().rows;
    rows.into_iter().map(|mut row| row.remove(0).unwrap_or_default()).collect()
}

impl Lent<Running> {
    /// A MariaDB server.
    pub fn start() -> Self {
        Self::of_product(&Product::MariaDb, &[])
    }

    /// A MariaDB server with MyRocks.
    pub fn start_with_rocksdb() -> Self {
        Self::of_product(&Product::MariaDb, &["--plugin-load-add=ha_rocksdb", "--rocksdb-block-cache-size=16M"])
    }

    /// A MariaDB server with options, for this test alone; `prepare` may put files into its folder.
    pub fn start_with(options: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        Self::of(None, || Running::start(&Product::MariaDb, options, prepare))
    }

    /// Servers of both products, as far as they are here.
    pub fn of_both(options: &[&str]) -> Vec<Self> {
        let products = [Some(Product::MariaDb), mysql()].into_iter().flatten();
        products.map(|product| Self::of_product(&product, options)).collect()
    }

    /// A MySQL server.
    pub fn mysql(options: &[&str]) -> Self {
        let product = mysql().expect("this test needs MySQL: DSBENCH_TEST_MYSQL names its folder");
        Self::of_product(&product, options)
    }

    fn of_product(product: &Product, options: &[&str]) -> Self {
        let kind = format!("{} {options:?}", if product.is_mysql() { "MySQL" } else { "MariaDB" });
        Self::of(Some(kind), || Running::start(product, options, |_| ()))
    }
}

impl Running {
    fn start(product: &Product, options: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        let template = Template::get(product);
        let folder = fresh_folder();
        let data = folder.join("data");
        let copied = Command::new("cp")
            .args(["-a", "--sparse=always"])
            .arg(template.0.join("data"))
            .arg(&data)
            .status()
            .unwrap();
        assert!(copied.success());
        // Two servers of one number would be the same.
        let _ = fs::remove_file(data.join("auto.cnf"));
        prepare(&folder);
        give_away(&folder);
        let port = free_port();
        let log = fs::File::create(folder.join("log")).unwrap();
        let mut command = product.server(&data);
        command.args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"]);
        command.args(["--innodb-buffer-pool-size=32M", "--innodb-lock-wait-timeout=1"]);
        command.arg(format!("--socket={}", folder.join("s").display())).arg(format!("--port={port}"));
        // A server that starts throws away what others keep in the folder for temporary files.
        command.arg(format!("--tmpdir={}", folder.display()));
        command.arg(format!("--pid-file={}", folder.join("pid").display())).args(options);
        let process = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        let mut server = Self { folder, port, process, _template: template };
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
        format!("mysql://root@/?socket={}", self.folder.join("s").display())
    }

    /// The URL of its TCP port.
    pub fn tcp(&self, login: &str, parameters: &str) -> String {
        format!("mysql://{login}@localhost:{}/?{parameters}", self.port)
    }

    /// The engine at its unix socket.
    pub fn engine(&self) -> Box<dyn Engine> {
        dsbench_engines::mysql::open(&self.url()).unwrap()
    }

    /// The same for another storage engine of the tables.
    pub fn engine_of(&self, storage_engine: &str) -> Box<dyn Engine> {
        dsbench_engines::mysql::open(&format!("{}&storage_engine={storage_engine}", self.url())).unwrap()
    }

    /// A session for administration.
    pub fn connect(&self) -> Box<dyn Connection> {
        self.engine().connect(ADMIN).unwrap()
    }

    /// A session in a new database `test`.
    pub fn connect_to_test(&self) -> Box<dyn Connection> {
        let mut connection = self.connect();
        connection.script(&["CREATE DATABASE IF NOT EXISTS test CHARACTER SET utf8mb4", "USE test"]).unwrap();
        connection
    }

    /// A session whose transactions have this isolation.
    pub fn session_of(&self, isolation: Isolation) -> Box<dyn Connection> {
        self.engine().connect(Session { isolation, in_place: false }).unwrap()
    }

    /// The same in the database `test`.
    pub fn session(&self, isolation: Isolation) -> Box<dyn Connection> {
        let mut connection = self.session_of(isolation);
        connection.script(&["USE test"]).unwrap();
        connection
    }

    /// Kills the server at once, as a loss of power would.
    pub fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its data are of no use any more.
        if matches!(self.process.try_wait(), Ok(None)) {
            self.kill();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// An administrative session.
pub const ADMIN: Session = Session { isolation: Isolation::ReadCommitted, in_place: false };

fn is_root() -> bool {
    fs::metadata("/proc/self").unwrap().uid() == 0
}

/// Who runs the server when we are root, whom it refuses.
fn user() -> &'static str {
    let known = fs::read_to_string("/etc/passwd").unwrap();
    if known.lines().any(|line| line.starts_with("mysql:")) {
        "mysql"
    } else {
        "nobody"
    }
}

/// A program of the server, run by somebody without privileges.
fn unprivileged(program: &Path) -> Command {
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
