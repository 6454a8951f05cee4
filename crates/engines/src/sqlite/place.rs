//! The file as dsbench's own place. Its mark is `application_id` in the file's header and the text in
//! table `dsbench_mark`; what does not carry both is never opened for writing, nor removed.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind as Io, Read};

use dsbench_core::engine::{Place, PlaceState};
use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::value::Table;

use super::claim::Claim;
use super::codes::During;
use super::connection::{fetch, script};
use super::raw::Db;
use super::target::Target;
use super::waiting::Waiting;
use crate::place::{self, alone, marked, ours, refuse, strange, vacant, MADE};

/// "DSB1", at offset 68 of the file.
const APPLICATION_ID: u32 = 0x4453_4231;

/// All that lies in the file by itself, with its kind.
const THERE: &str = "SELECT type || ' ' || name FROM sqlite_master WHERE type IN ('table', 'view') \
    AND substr(name, 1, 7) <> 'sqlite_'";
/// Of this, what may be somebody else's.
const OF_OTHERS: &str = "AND substr(name, 1, 8) <> 'dsbench_' ORDER BY 1";

/// The files that SQLite may put beside a database.
const BESIDE: [&str; 3] = ["-wal", "-shm", "-journal"];

/// The file of a target, and a claim to it.
#[derive(Debug)]
pub(super) struct FilePlace(pub Target, Claim);

impl FilePlace {
    pub(super) fn new(target: Target) -> Self {
        Self(target, Claim::default())
    }

    fn name(&self) -> std::path::Display<'_> {
        self.0.path.display()
    }

    fn open(&self, create: bool) -> Result<Db> {
        self.open_path(&self.0.path.to_string_lossy(), create)
    }

    /// Opens the file whoever made it; an error of kind `Setup` where there is none.
    pub(super) fn open_existing(&self) -> Result<Db> {
        if !self.0.path.is_file() {
            return Err(refuse("connect", format!("{} is no file: name the database that is there", self.name())));
        }
        self.open(false)
    }

    /// Opens an empty database in memory, which waits as the file would.
    pub(super) fn open_memory(&self) -> Result<Db> {
        self.open_path(":memory:", true)
    }

    fn open_path(&self, path: &str, create: bool) -> Result<Db> {
        Db::open(path, create, Waiting::new(self.0.busy_timeout_ms))
    }

    /// Who owns the file, and the file opened when dsbench does.
    pub(super) fn look(&self) -> Result<(PlaceState, Option<Db>)> {
        if let Some(state) = self.header()? {
            return Ok((state, None));
        }
        let db = self.open(false)?;
        let text = match fetch(&db, "SELECT text FROM dsbench_mark") {
            Ok(table) => table.rows.into_iter().next().and_then(|row| row.into_iter().next().flatten()),
            Err(error) if error.kind == ErrorKind::Syntax => None,
            Err(error) => return Err(set_up(error)),
        };
        Ok(match text {
            Some(text) => (PlaceState::Marked(text), Some(db)),
            None => (PlaceState::Foreign(format!("{} carries dsbench's number but not its mark", self.name())), None),
        })
    }

    /// Reads the header with plain file I/O: opening a foreign database might already change it
    /// (a hot journal is rolled back, a write-ahead log is folded in).
    fn header(&self) -> Result<Option<PlaceState>> {
        let foreign = |what: &str| Ok(Some(PlaceState::Foreign(format!("{} {what}", self.name()))));
        match fs::symlink_metadata(&self.0.path) {
            Err(error) if error.kind() == Io::NotFound => {
                let left = BESIDE.iter().map(|suffix| self.0.beside(suffix)).find(|path| path.exists());
                return match (left, self.0.path.parent()) {
                    (Some(path), _) => {
                        Ok(Some(PlaceState::Foreign(format!("{} is there without its database", path.display()))))
                    }
                    (None, Some(folder)) if !folder.is_dir() => {
                        Err(Error::configuration(format!("{} is not a directory", folder.display()))
                            .remedy("create it, and note that an absolute path has four slashes: sqlite:////"))
                    }
                    (None, _) => Ok(Some(PlaceState::Absent)),
                };
            }
            Err(error) => return Err(refuse("look for the place", format!("{}: {error}", self.name()))),
            Ok(found) if !found.is_file() => return foreign("is no plain file"),
            Ok(found) if found.len() == 0 => return foreign("is an empty file that dsbench did not make"),
            Ok(_) => {}
        }
        let mut header = [0_u8; 100];
        let read = File::open(&self.0.path).and_then(|mut file| file.read_exact(&mut header));
        match read {
            Err(error) if error.kind() == Io::UnexpectedEof => return foreign("is no SQLite database"),
            Err(error) => return Err(refuse("look for the place", format!("{}: {error}", self.name()))),
            Ok(()) => {}
        }
        match (&header[..16], &header[68..72]) {
            (b"SQLite format 3\0", id) if id == APPLICATION_ID.to_be_bytes() => Ok(None),
            (b"SQLite format 3\0", _) => foreign("is a database that dsbench did not make"),
            _ => foreign("is no SQLite database"),
        }
    }

    /// Writes the empty, marked database. The header is written before the journal mode becomes WAL,
    /// so that it stands in the file itself.
    fn write(&self, mark: &str) -> Result<()> {
        let db = self.open(true)?;
        if let Some(size) = self.0.page_size {
            script(&db, &format!("PRAGMA page_size={size}"), During::Connect)?;
        }
        let text = mark.replace('\'', "''");
        script(
            &db,
            &format!(
                "BEGIN; PRAGMA application_id={APPLICATION_ID}; CREATE TABLE dsbench_mark (text TEXT NOT NULL);
                 INSERT INTO dsbench_mark VALUES ('{text}'); COMMIT"
            ),
            During::Connect,
        )?;
        set_journal_mode(&db, self.0.journal_mode())
    }
}

fn strangers(db: &Db) -> Result<Vec<String>> {
    let made = match fetch(db, &format!("SELECT name FROM {MADE}")) {
        Err(error) if error.kind == ErrorKind::Syntax => Table::default(),
        made => made.map_err(set_up)?,
    };
    Ok(strange(fetch(db, &format!("{THERE} {OF_OTHERS}")).map_err(set_up)?, made))
}

/// What a statement finds wrong with the file while a place or a session is set up is of kind `Setup`.
pub(super) fn set_up(error: Error) -> Error {
    match error.kind {
        ErrorKind::Statement | ErrorKind::Syntax => Error { kind: ErrorKind::Setup, ..error },
        _ => error,
    }
}

/// Asks for a journal mode; an error of kind `Setup` when the file does not take it.
pub(super) fn set_journal_mode(db: &Db, mode: &str) -> Result<()> {
    let answer = fetch(db, &format!("PRAGMA journal_mode={mode}"))?;
    let got = answer.rows.first().and_then(|row| row.first().cloned().flatten()).unwrap_or_default();
    if got == mode {
        return Ok(());
    }
    let message = format!("the file keeps journal_mode={got} instead of {mode}: choose {got} or another file system");
    Err(Error::with(ErrorKind::Setup, "connect", message))
}

impl Place for FilePlace {
    fn state(&self) -> Result<PlaceState> {
        Ok(self.look()?.0)
    }

    fn create(&self, mark: &str) -> Result<()> {
        vacant(self.state()?, self.name(), "name another file, or remove it yourself")?;
        // Fails if another process has made the file in between.
        let made = OpenOptions::new().write(true).create_new(true).open(&self.0.path).map_err(|error| {
            refuse(place::CREATE, format!("{}: {error}: its folder must exist and be writable", self.name()))
        })?;
        self.1.lock(made);
        let written = self.write(mark).map_err(set_up);
        if written.is_err() {
            // The file is ours, so remove it; the first error is the one to report.
            let _ = fs::remove_file(&self.0.path);
            self.leave();
        }
        written
    }

    fn remark(&self, mark: &str) -> Result<()> {
        let (state, db) = self.look()?;
        marked(state)?;
        let db = db.expect("a mark is only seen in an open file");
        let text = mark.replace('\'', "''");
        script(&db, &format!("UPDATE dsbench_mark SET text = '{text}'"), During::Connect).map_err(set_up)
    }

    fn take_stock(&self) -> Result<()> {
        let (state, db) = self.look()?;
        marked(state)?;
        let db = db.expect("a mark is only seen in an open file");
        let note = format!(
            "BEGIN IMMEDIATE; CREATE TABLE IF NOT EXISTS {MADE} (name TEXT NOT NULL); DELETE FROM {MADE};
             INSERT INTO {MADE} {THERE}; COMMIT"
        );
        script(&db, &note, During::Connect).map_err(set_up)
    }

    fn strangers(&self) -> Result<Vec<String>> {
        match self.look()?.1 {
            Some(db) => strangers(&db),
            None => Ok(Vec::new()),
        }
    }

    fn drop(&self) -> Result<()> {
        let (state, db) = self.look()?;
        if !ours(state)? {
            return Ok(());
        }
        alone(self.name(), &db.map_or(Ok(Vec::new()), |db| strangers(&db))?)?;
        if !self.take()? {
            return Err(refuse(place::DROP, format!("{}: another process works with it", self.name())));
        }
        // The marked file goes last: a drop that was cut short can be repeated.
        for path in BESIDE.iter().map(|suffix| self.0.beside(suffix)).chain([self.0.path.clone()]) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != Io::NotFound => {
                    return Err(refuse(place::DROP, format!("{}: {error}", path.display())));
                }
                _ => {}
            }
        }
        self.leave();
        Ok(())
    }

    fn take(&self) -> Result<bool> {
        match self.1.holds(&self.0.path) {
            true => Ok(true),
            false => match File::open(&self.0.path) {
                Ok(file) => Ok(self.1.lock(file)),
                Err(error) if error.kind() == Io::NotFound => Ok(true),
                Err(error) => Err(refuse("claim the place", format!("{}: {error}", self.name()))),
            },
        }
    }

    fn leave(&self) {
        self.1.leave();
    }

    /// Length of the database's file and of those beside it (write-ahead log and its index, journal).
    fn size_bytes(&self) -> Result<Option<u64>> {
        let main = fs::metadata(&self.0.path)
            .map_err(|error| refuse("measure the place", format!("{}: {error}", self.name())))?;
        let beside = BESIDE.iter().filter_map(|suffix| fs::metadata(self.0.beside(suffix)).ok());
        Ok(Some(main.len() + beside.map(|found| found.len()).sum::<u64>()))
    }
}
