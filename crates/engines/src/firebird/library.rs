//! Finds and loads `libfbclient`: nothing is linked, so that dsbench runs where there is no Firebird.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use dsbench_core::error::{Error, ErrorKind, Result};
use dsbench_core::locking::lock;
use libloading::Library;

use super::api::Api;
use super::signals;

/// Where the library is looked for when the target does not name it: by the system's own rules, then
/// where Firebird's own packages put it.
const USUAL: &[&str] = if cfg!(windows) {
    &["fbclient.dll"]
} else if cfg!(target_os = "macos") {
    &["libfbclient.dylib", "/Library/Frameworks/Firebird.framework/Firebird"]
} else {
    &["libfbclient.so.2", "/opt/firebird/lib/libfbclient.so.2", "/usr/local/firebird/lib/libfbclient.so.2"]
};

const HOW_TO_GET_ONE: &str = "install it (apt install libfbclient2, dnf install libfbclient2) or name it by \
                              client_library=/path/libfbclient.so.2 in the target or by FIREBIRD_CLIENT_LIBRARY";

/// A library that is loaded for the rest of the process: Firebird's threads and engine live in it.
struct Loaded {
    path: PathBuf,
    api: &'static Api,
}

static LOADED: Mutex<Option<Loaded>> = Mutex::new(None);

/// Loads the library at `wish`, or the first of the usual ones; a library that is loaded already
/// serves every target that does not name another.
///
/// A process works with one library: a second one would share names with the first, and the engine
/// that it loads would be bound to the wrong one (tried: version 5 beside 3.0 fails for want of a
/// symbol, two copies of version 5 hang).
pub(super) fn load(wish: Option<&Path>) -> Result<&'static Api> {
    let mut loaded = lock(&LOADED);
    if let Some(Loaded { path, api }) = &*loaded {
        return match wish {
            Some(wish) if !same(wish, path) => Err(setup(format!(
                "this process works with {} already and cannot take {} as well: run dsbench anew for it",
                path.display(),
                wish.display()
            ))),
            _ => Ok(api),
        };
    }
    let found = match wish {
        Some(wish) => open(wish)?,
        None => usual()?,
    };
    Ok(loaded.insert(found).api)
}

fn usual() -> Result<Loaded> {
    let mut refusals = Vec::new();
    for name in USUAL {
        match open(Path::new(name)) {
            Ok(found) => return Ok(found),
            Err(error) => refusals.push(error.message.unwrap_or_default()),
        }
    }
    let first = refusals.first().map_or("", |text| text);
    Err(setup(format!("no client library of Firebird was found ({first}): {HOW_TO_GET_ONE}")))
}

fn open(path: &Path) -> Result<Loaded> {
    // SAFETY: Firebird's library starts nothing that a load could disturb; that it is Firebird's is
    // the user's promise.
    let library = unsafe { Library::new(path) };
    let library = library.map_err(|error| setup(format!("{error}: {HOW_TO_GET_ONE}")))?;
    let api = Api::of(library).map_err(|error| {
        setup(format!("{} is no client library of Firebird ({error}): {HOW_TO_GET_ONE}", path.display()))
    })?;
    signals::keep(&api);
    Ok(Loaded { path: path.into(), api: Box::leak(Box::new(api)) })
}

fn same(left: &Path, right: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.into());
    left == right || real(left) == real(right)
}

fn setup(message: String) -> Error {
    Error::with(ErrorKind::Setup, "load client library", message)
}
