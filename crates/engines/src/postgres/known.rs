//! Statements as they were made known to a server, one copy for all sessions of a thread that are sent the same.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use super::statement::Prepared;
use super::text::Template;

/// A statement, as it was made known.
#[derive(PartialEq)]
pub enum Known {
    /// The server has it.
    Parsed(Prepared),
    /// It is sent anew each time.
    Text(Template),
}

thread_local! {
    /// The statements of the sessions that were opened on this thread.
    static SHARED: RefCell<Vec<Weak<Known>>> = const { RefCell::new(Vec::new()) };
}

impl Known {
    /// The copy that a session of this thread has already, else `self`: of a thousand copies none would stay in the caches
    /// from one transaction of its session to the next.
    // Not inlined, as the address of what belongs to a thread must not be kept while a client moves.
    #[inline(never)]
    pub fn shared(self) -> Arc<Self> {
        SHARED.with_borrow_mut(|shared| {
            shared.retain(|one| one.strong_count() > 0);
            let equal = shared.iter().filter_map(Weak::upgrade).find(|one| **one == self);
            equal.unwrap_or_else(|| {
                let new = Arc::new(self);
                shared.push(Arc::downgrade(&new));
                new
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use dsbench_core::engine::Statement;
    use dsbench_core::value::Type;

    use super::*;

    fn known(sql: &str, name: Option<&str>) -> Arc<Known> {
        let statement = Statement { sql, params: &[Type::Int32], columns: &[Type::Int64] };
        match name {
            Some(name) => Known::Parsed(Prepared::new(&statement, name).unwrap()),
            None => Known::Text(Template::new(&statement).unwrap()),
        }
        .shared()
    }

    #[test]
    fn sessions_of_a_thread_share_what_is_sent_alike_for_as_long_as_one_has_it() {
        let (first, second) = (known("SELECT $1", Some("s0")), known("SELECT $1", Some("s0")));
        assert!(Arc::ptr_eq(&first, &second));
        assert!(!Arc::ptr_eq(&first, &known("SELECT $1", Some("s1"))), "the server knows it by another name");
        let texts = [known("SELECT $1", None), known("SELECT $1", None), known("SELECT 2 + $1", None)];
        assert!(Arc::ptr_eq(&texts[0], &texts[1]) && !Arc::ptr_eq(&texts[0], &texts[2]));
        let elsewhere = std::thread::spawn(|| known("SELECT $1", Some("s0"))).join().unwrap();
        assert!(!Arc::ptr_eq(&first, &elsewhere));
        assert_eq!(SHARED.with_borrow(Vec::len), 3);
        drop((first, second, texts));
        let _last = known("SELECT $1", None);
        assert_eq!(SHARED.with_borrow(Vec::len), 1);
    }
}
