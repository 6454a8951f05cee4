//! Firebird's C interface (`ibase.h`), as far as dsbench calls it.
//!
//! The calls go to the library without a wrapper in between: it is one path for the versions 3, 4
//! and 5, for servers and for the embedded engine, and it gives whole status vectors.

use std::ffi::{c_char, c_int, c_long, c_short, c_uint, c_ushort, c_void};

use libloading::Library;

use super::sqlda::Sqlda;

/// Handle of an attachment, a transaction or a statement; 0 is none. (`FB_API_HANDLE` is a number of
/// 32 bits on 64-bit systems and a pointer, of 32 bits too, on the others.)
pub(super) type Handle = c_uint;

/// What a call that failed leaves behind: see [`super::status`].
pub(super) type StatusVector = [isize; 20];

/// Result of a call: 0, or the first code of the status vector.
pub(super) type Code = isize;

/// One database of a transaction and the transaction's parameter block.
#[repr(C)]
pub(super) struct Existence {
    pub attachment: *mut Handle,
    pub length: c_int,
    pub parameters: *const u8,
}

/// What the library asks before it shuts down: reason, mask and argument in, 0 is consent.
pub(super) type Shutdown = extern "C" fn(c_int, c_int, *mut c_void) -> c_int;

macro_rules! functions {
    ($($(#[$doc:meta])* fn $name:ident($($kind:ty),*) -> $result:ty;)*) => {
        /// The functions of a loaded client library.
        pub(super) struct Api {
            $($(#[$doc])* pub $name: unsafe extern "system" fn($($kind),*) -> $result,)*
            /// Keeps the functions where they are.
            _library: Library,
        }

        impl Api {
            /// Looks all functions up in `library`.
            pub(super) fn of(library: Library) -> Result<Self, libloading::Error> {
                // SAFETY: the names stand for these types in ibase.h, in every version since 2.5; the
                // library stays loaded for as long as the functions are kept.
                unsafe {
                    Ok(Self { $($name: *library.get(concat!(stringify!($name), "\0").as_bytes())?,)* _library: library })
                }
            }
        }
    };
}

functions! {
    fn isc_attach_database(*mut isize, c_short, *const c_char, *mut Handle, c_short, *const u8) -> Code;
    fn isc_create_database(*mut isize, c_short, *const c_char, *mut Handle, c_short, *const u8, c_short) -> Code;
    fn isc_database_info(*mut isize, *mut Handle, c_short, *const u8, c_short, *mut u8) -> Code;
    fn isc_detach_database(*mut isize, *mut Handle) -> Code;
    fn isc_drop_database(*mut isize, *mut Handle) -> Code;
    fn isc_service_attach(*mut isize, c_ushort, *const c_char, *mut Handle, c_ushort, *const u8) -> Code;
    fn isc_start_multiple(*mut isize, *mut Handle, c_short, *mut Existence) -> Code;
    fn isc_commit_transaction(*mut isize, *mut Handle) -> Code;
    fn isc_rollback_transaction(*mut isize, *mut Handle) -> Code;
    fn isc_dsql_allocate_statement(*mut isize, *mut Handle, *mut Handle) -> Code;
    fn isc_dsql_prepare(*mut isize, *mut Handle, *mut Handle, c_ushort, *const c_char, c_ushort, *mut Sqlda) -> Code;
    fn isc_dsql_describe(*mut isize, *mut Handle, c_ushort, *mut Sqlda) -> Code;
    fn isc_dsql_describe_bind(*mut isize, *mut Handle, c_ushort, *mut Sqlda) -> Code;
    fn isc_dsql_execute(*mut isize, *mut Handle, *mut Handle, c_ushort, *const Sqlda) -> Code;
    fn isc_dsql_execute2(*mut isize, *mut Handle, *mut Handle, c_ushort, *const Sqlda, *const Sqlda) -> Code;
    fn isc_dsql_exec_immed2(
        *mut isize, *mut Handle, *mut Handle, c_ushort, *const c_char, c_ushort, *const Sqlda, *const Sqlda
    ) -> Code;
    fn isc_dsql_fetch(*mut isize, *mut Handle, c_ushort, *const Sqlda) -> Code;
    fn isc_dsql_free_statement(*mut isize, *mut Handle, c_ushort) -> Code;
    fn isc_dsql_sql_info(*mut isize, *mut Handle, c_short, *const u8, c_short, *mut u8) -> Code;
    /// The only call that may come from another thread than the one that uses the attachment.
    fn fb_cancel_operation(*mut isize, *mut Handle, c_ushort) -> Code;
    fn fb_shutdown_callback(*mut isize, Shutdown, c_int, *mut c_void) -> Code;
    fn fb_interpret(*mut c_char, c_uint, *mut *const isize) -> c_long;
}

// `void*` never appears in the signatures above; the handle has the width of a pointer's lower half.
const _: () = assert!(std::mem::size_of::<Handle>() <= std::mem::size_of::<*mut c_void>());

/// Dialect of SQL: 3 has exact numbers of 64 bits and quoted names.
pub(super) const DIALECT: c_ushort = 3;

/// Answer of a fetch when there is no further row.
pub(super) const NO_MORE_ROWS: Code = 100;

/// What `isc_dsql_free_statement` does.
pub(super) mod free {
    /// Closes the cursor; the statement stays prepared.
    pub const CLOSE: u16 = 1;
    /// Forgets the statement.
    pub const DROP: u16 = 2;
}

/// What `fb_cancel_operation` does.
pub(super) mod cancel {
    /// Forgets a wish to end a statement, and takes no other.
    pub const DISABLE: u16 = 1;
    /// Takes such wishes again.
    pub const ENABLE: u16 = 2;
    /// Ends the statement under way at the server.
    pub const RAISE: u16 = 3;
    /// Gives the attachment up, whatever it waits for.
    pub const ABORT: u16 = 4;
}

/// Items that can be asked for, and their values (`inf_pub.h`).
pub(super) mod info {
    /// End of an answer.
    pub const END: u8 = 1;
    /// Bytes of a page.
    pub const PAGE_SIZE: u8 = 14;
    /// Pages of the file.
    pub const ALLOCATION: u8 = 21;
    /// Version of the structure on disk.
    pub const STRUCTURE: u8 = 32;
    /// What kind a statement is of.
    pub const SQL_STATEMENT_TYPE: u8 = 21;
    /// Rows that a statement changed, by verb.
    pub const SQL_RECORDS: u8 = 23;
    /// Rows inserted, updated and deleted, within the answer to [`SQL_RECORDS`].
    pub const CHANGES: [u8; 3] = [14, 15, 16];
}
