//! Private servers of PostgreSQL, MariaDB and MySQL, each in its own folder, lent to one test after another.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, Once, Weak};
use std::time::{Duration, Instant};

use dsbench_core::engine::{Connection, Engine, Isolation, Session};

use crate::folder::Folder;
use crate::pool::{free_port, give_away, start, unprivileged, Lent, Pool, Reusable};

/// A server that a test has for itself.
pub type Server = Lent<Running>;

/// An administrative session.
pub const ADMIN: Session = Session { isolation: Isolation::ReadCommitted, in_place: false };

/// Whose programs are run.
#[derive(Clone, PartialEq)]
pub enum Product {
    /// Those on PATH, else Debian's newest.
    Postgres,
    /// Those on PATH.
    MariaDb,
    /// Those below a folder.
    Mysql(PathBuf),
}

impl Product {
    /// MySQL is not in Debian: its tests run where DSBENCH_TEST_MYSQL names the folder of one. Tests that are about
    /// nothing else are ignored unless asked for; of the others the part that is left out is written to the stream.
    fn mysql() -> Option<Self> {
        static WRITTEN: Once = Once::new();
        let base = std::env::var_os("DSBENCH_TEST_MYSQL").filter(|base| !base.is_empty());
        if base.is_none() {
            // What is printed is not shown of a test that passes; what is written to the stream is.
            let words =
                b"LEFT OUT: MySQL's part of the tests on MariaDB and MySQL: DSBENCH_TEST_MYSQL names no folder\n";
            WRITTEN.call_once(|| std::io::stderr().write_all(words).unwrap());
        }
        base.map(|base| Self::Mysql(base.into()))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::MariaDb => "MariaDB",
            Self::Mysql(_) => "MySQL",
        }
    }

    /// Who runs the server when we are root, whom it refuses.
    fn user(&self) -> &'static str {
        if *self == Self::Postgres {
            "postgres"
        } else {
            "mysql"
        }
    }

    fn program(&self, mariadb: &str, mysql: &str) -> Command {
        let program = match self {
            Self::Postgres => postgres_programs().join(mariadb),
            Self::MariaDb => mariadb.into(),
            Self::Mysql(base) => base.join(mysql),
        };
        unprivileged(&program, self.user())
    }

    /// Makes a data folder whose superuser has no password.
    fn installation(&self, data: &Path) -> Command {
        match self {
            Self::Postgres => {
                let mut command = self.program("initdb", "");
                command.args(["-A", "trust", "-U", "admin", "-N", "-E", "UTF8", "--locale=C", "-D"]).arg(data);
                command
            }
            Self::MariaDb => {
                let mut command = self.program("mariadb-install-db", "");
                command.args(["--no-defaults", "--auth-root-authentication-method=normal", "--skip-test-db"]);
                command.arg(format!("--datadir={}", data.display()));
                command
            }
            Self::Mysql(_) => {
                let mut command = self.mysqld(data);
                command.arg("--initialize-insecure");
                command
            }
        }
    }

    fn mysqld(&self, data: &Path) -> Command {
        let mut command = self.program("mariadbd", "bin/mysqld");
        command.arg("--no-defaults").arg(format!("--datadir={}", data.display()));
        if let Self::Mysql(base) = self {
            command.arg(format!("--basedir={}", base.display()));
            command.arg(format!("--lc-messages-dir={}", base.join("share").display()));
            command.args(["--mysqlx=OFF", "--skip-log-bin"]);
        }
        command
    }

    /// The server on the data in `folder`.
    fn server(&self, folder: &Path, port: u16, options: &[&str]) -> Command {
        let data = folder.join("data");
        if *self == Self::Postgres {
            let mut command = self.program("postgres", "");
            command.arg("-D").arg(data).arg("-k").arg(folder).args(["-p", &port.to_string()]);
            let common = ["listen_addresses=127.0.0.1", "fsync=off", "shared_buffers=16MB", "deadlock_timeout=50ms"];
            command.args(common.iter().chain(options).flat_map(|setting| ["-c", setting]));
            return command;
        }
        let mut command = self.mysqld(&data);
        command.args(["--bind-address=127.0.0.1", "--skip-name-resolve", "--innodb-flush-log-at-trx-commit=0"]);
        command.args(["--innodb-buffer-pool-size=32M", "--innodb-lock-wait-timeout=1"]);
        command.arg(format!("--socket={}", folder.join("s").display())).arg(format!("--port={port}"));
        // A server that starts throws away what others keep in the folder for temporary files.
        command.arg(format!("--tmpdir={}", folder.display()));
        command.arg(format!("--pid-file={}", folder.join("pid").display())).args(options);
        command
    }
}

/// The folder of PostgreSQL's programs: where PATH finds them, else Debian's newest.
fn postgres_programs() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    if let Some(found) = std::env::split_paths(&path).find(|folder| folder.join("initdb").exists()) {
        return found;
    }
    let versions = fs::read_dir("/usr/lib/postgresql").expect("these tests need PostgreSQL: initdb is not on PATH");
    let newest = versions.filter_map(|entry| entry.ok()?.file_name().into_string().ok()?.parse::<u32>().ok()).max();
    PathBuf::from(format!("/usr/lib/postgresql/{}/bin", newest.expect("these tests need PostgreSQL")))
}

/// A fresh data folder, from which servers that live at the same time are copied.
struct Template {
    folder: Folder,
}

impl Template {
    fn of(product: &Product) -> Arc<Self> {
        static SHARED: [Mutex<Weak<Template>>; 3] = [const { Mutex::new(Weak::new()) }; 3];
        let at = ["PostgreSQL", "MariaDB", "MySQL"].iter().position(|name| *name == product.name()).unwrap();
        let mut shared = SHARED[at].lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(found) = shared.upgrade() {
            return found;
        }
        let made = Arc::new(Self { folder: Folder::new(product.user()) });
        give_away(&made.folder.0, product.user());
        let done = product.installation(&made.data()).env("TMPDIR", &made.folder.0).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&[done.stdout, done.stderr].concat()));
        *shared = Arc::downgrade(&made);
        made
    }

    fn data(&self) -> PathBuf {
        self.folder.0.join("data")
    }
}

/// A running server.
pub struct Running {
    product: Product,
    pub port: u16,
    process: Child,
    // Behind the process, so that they are removed after it has ended.
    folder: Folder,
    _template: Arc<Template>,
}

static IDLE: Pool<Running> = Pool::new(end);

extern "C" fn end() {
    IDLE.empty();
}

/// Sessions of clients.
const SESSIONS: &str = "SELECT ID FROM information_schema.PROCESSLIST \
    WHERE USER NOT IN ('system user', 'event_scheduler') AND COMMAND <> 'Daemon'";

/// What a new server does not have, as statements that take it away: databases and users; roles.
const TRACES_IN_MYSQL: [&str; 2] = [
    "SELECT concat('DROP DATABASE `', SCHEMA_NAME, '`') FROM information_schema.SCHEMATA \
     WHERE SCHEMA_NAME NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')",
    "SELECT concat('DROP USER ', quote(User), '@', quote(Host)) FROM mysql.user WHERE User NOT IN \
     ('root', 'mysql', 'mariadb.sys', 'mysql.infoschema', 'mysql.session', 'mysql.sys', 'PUBLIC')",
];
const TRACES_IN_POSTGRES: [&str; 1] = ["SELECT 'DROP ROLE ' || quote_ident(rolname) FROM pg_roles \
     WHERE rolname <> 'admin' AND left(rolname, 3) <> 'pg_'"];

impl Reusable for Running {
    fn pool() -> &'static Pool<Self> {
        &IDLE
    }

    /// Without sessions, databases, users and roles of the test.
    fn renew(&mut self) -> bool {
        let Ok(mut admin) = dsbench_engines::open(&self.beside()).unwrap().connect(ADMIN) else { return false };
        let traces: &[&str] = match self.product {
            Product::Postgres => {
                // One by one: neither may stand in a transaction.
                let again = ["DROP DATABASE postgres WITH (FORCE)", "CREATE DATABASE postgres TEMPLATE template0"];
                if again.iter().any(|sql| admin.script(&[sql]).is_err()) {
                    return false;
                }
                &TRACES_IN_POSTGRES
            }
            _ => {
                let end = Instant::now() + Duration::from_secs(5);
                while admin.fetch(SESSIONS).unwrap().rows.len() > 1 {
                    if Instant::now() > end {
                        return false;
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                &TRACES_IN_MYSQL
            }
        };
        let drops: Vec<_> = traces.iter().flat_map(|sql| admin.fetch(sql).unwrap().rows).collect();
        drops.iter().all(|row| admin.script(&[row[0].as_deref().unwrap()]).is_ok()) && self.furnish()
    }
}

impl Lent<Running> {
    /// A server of one product.
    pub fn start(product: &Product, options: &[&str]) -> Self {
        Self::of(Some(format!("{} {options:?}", product.name())), || Running::start(product, options, |_| ()))
    }

    /// A server with options for this test alone; `prepare` may put files into its folder, whose `data` is the server's.
    pub fn start_with(product: &Product, options: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        Self::of(None, || Running::start(product, options, prepare))
    }

    /// A PostgreSQL server that trusts everybody.
    pub fn postgres() -> Self {
        Self::start(&Product::Postgres, &[])
    }

    /// A MariaDB server.
    pub fn mariadb() -> Self {
        Self::start(&Product::MariaDb, &[])
    }

    /// A MariaDB server with MyRocks.
    pub fn mariadb_with_rocksdb() -> Self {
        Self::start(&Product::MariaDb, &["--plugin-load-add=ha_rocksdb", "--rocksdb-block-cache-size=16M"])
    }

    /// A MySQL server.
    pub fn mysql() -> Self {
        let product = Product::mysql().expect("this test needs MySQL: DSBENCH_TEST_MYSQL names its folder");
        Self::start(&product, &[])
    }

    /// Servers of MariaDB and MySQL, as far as they are here.
    pub fn of_both(options: &[&str]) -> Vec<Self> {
        let products = [Some(Product::MariaDb), Product::mysql()].into_iter().flatten();
        products.map(|product| Self::start(&product, options)).collect()
    }
}

impl Running {
    fn start(product: &Product, options: &[&str], prepare: impl FnOnce(&Path)) -> Self {
        let template = Template::of(product);
        let folder = Folder::new(product.user());
        let root = &folder.0;
        let mut copy = Command::new("cp");
        copy.args(["-a", "--sparse=always"]).arg(template.data()).arg(root.join("data"));
        assert!(copy.status().unwrap().success());
        // Two servers of one number would be the same.
        let _ = fs::remove_file(root.join("data/auto.cnf"));
        prepare(root);
        give_away(root, product.user());
        let port = free_port();
        let log = fs::File::create(root.join("log")).unwrap();
        let mut command = product.server(root, port, options);
        command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        let process = start(command);
        let mut server = Self { product: product.clone(), port, process, folder, _template: template };
        server.wait();
        assert!(server.furnish());
        server
    }

    fn wait(&mut self) {
        let end = Instant::now() + Duration::from_secs(60);
        while let Err(error) = dsbench_engines::open(&self.beside()).unwrap().connect(ADMIN) {
            let ended = self.process.try_wait().unwrap();
            let log = || fs::read_to_string(self.folder().join("log")).unwrap_or_default();
            assert!(ended.is_none() && Instant::now() < end, "{error}\n{}", log());
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Makes the database that `url` names, where a new server does not have it.
    fn furnish(&self) -> bool {
        let create = "CREATE DATABASE test CHARACTER SET utf8mb4";
        let beside = || dsbench_engines::open(&self.beside()).unwrap().connect(ADMIN);
        self.product == Product::Postgres || beside().is_ok_and(|mut admin| admin.script(&[create]).is_ok())
    }

    /// Where it keeps its data, its log and what `prepare` has put there.
    pub fn folder(&self) -> &Path {
        &self.folder.0
    }

    /// Whether its programs are those of MySQL itself.
    pub fn is_mysql(&self) -> bool {
        matches!(self.product, Product::Mysql(_))
    }

    /// The URL of its unix socket for the superuser and a database for tests, in which a renewed server has nothing.
    pub fn url(&self) -> String {
        match self.product {
            Product::Postgres => self.socket("admin"),
            _ => self.socket("root").replace("/?", "/test?"),
        }
    }

    /// The same beside that database.
    fn beside(&self) -> String {
        match self.product {
            Product::Postgres => self.socket("admin").replace("/postgres?", "/template1?"),
            _ => self.socket("root"),
        }
    }

    /// The URL of its unix socket for anybody; in MariaDB and MySQL without a database.
    pub fn socket(&self, login: &str) -> String {
        let folder = self.folder().display();
        match self.product {
            Product::Postgres => format!("postgresql://{login}@/postgres?host={folder}&port={}", self.port),
            _ => format!("mysql://{login}@/?socket={folder}/s"),
        }
    }

    /// The URL of its TCP port for anybody; in MariaDB and MySQL without a database.
    pub fn tcp(&self, login: &str, parameters: &str) -> String {
        let port = self.port;
        match self.product {
            Product::Postgres => {
                format!("postgresql://{login}@localhost:{port}/postgres?hostaddr=127.0.0.1&{parameters}")
            }
            _ => format!("mysql://{login}@localhost:{port}/?{parameters}"),
        }
    }

    /// The engine at its unix socket.
    pub fn engine(&self) -> Box<dyn Engine> {
        dsbench_engines::open(&self.url()).unwrap()
    }

    /// The same for another storage engine of MariaDB's tables.
    pub fn engine_of(&self, storage_engine: &str) -> Box<dyn Engine> {
        dsbench_engines::open(&format!("{}&storage_engine={storage_engine}", self.url())).unwrap()
    }

    /// A session for administration.
    pub fn connect(&self) -> Box<dyn Connection> {
        self.engine().connect(ADMIN).unwrap()
    }

    /// A session whose transactions have this isolation.
    pub fn session(&self, isolation: Isolation) -> Box<dyn Connection> {
        self.engine().connect(Session { isolation, in_place: false }).unwrap()
    }

    /// Kills the server and all its processes at once, as a loss of power would.
    pub fn kill(&mut self) {
        self.signal("KILL");
        self.process.wait().unwrap();
    }

    /// Sends a signal to the server and all its processes at once.
    pub fn signal(&self, name: &str) {
        let server = self.process.id().to_string();
        let children = Command::new("pgrep").args(["-P", &server]).output().unwrap();
        let children = String::from_utf8(children.stdout).unwrap();
        for process in std::iter::once(server.as_str()).chain(children.split_whitespace()) {
            // One that has ended by itself meanwhile is as good.
            let _ = Command::new("kill").args([&format!("-{name}"), process]).stderr(Stdio::null()).status();
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !matches!(self.process.try_wait(), Ok(None)) {
            return;
        }
        // The data are of no use any more, but PostgreSQL's shared memory would stay.
        let signal = if self.product == Product::Postgres { "-QUIT" } else { "-KILL" };
        let _ = Command::new("kill").args([signal, &self.process.id().to_string()]).status();
        let _ = self.process.wait();
    }
}
