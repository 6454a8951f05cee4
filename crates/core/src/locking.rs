//! Locks that go on after a panic elsewhere.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Takes the lock. That another thread panicked with it in hand does not matter: what dsbench keeps behind locks is
/// whole at all times.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
