//! Descriptors of rows (`XSQLDA`) with the memory that their columns lie in.

use std::ffi::c_void;
use std::mem::{offset_of, size_of};

/// Version of the structure.
pub(super) const VERSION: u16 = 1;

/// Types of a column; the lowest bit of `sqltype` says that NULL is allowed.
pub(super) mod kind {
    pub const DOUBLE: i16 = 480;
    pub const FLOAT: i16 = 482;
    pub const VARYING: i16 = 448;
    pub const TEXT: i16 = 452;
    pub const LONG: i16 = 496;
    pub const SHORT: i16 = 500;
    pub const TIMESTAMP: i16 = 510;
    pub const BLOB: i16 = 520;
    pub const TYPE_DATE: i16 = 570;
    pub const INT64: i16 = 580;
    pub const TIMESTAMP_TZ_EX: i16 = 32748;
    pub const INT128: i16 = 32752;
    pub const TIMESTAMP_TZ: i16 = 32754;
}

/// One column (`XSQLVAR`).
#[repr(C)]
pub(super) struct Var {
    pub sqltype: i16,
    pub sqlscale: i16,
    pub sqlsubtype: i16,
    pub sqllen: i16,
    sqldata: *mut u8,
    sqlind: *mut i16,
    names: [(i16, [u8; 32]); 4],
}

impl Var {
    /// Type without the bit for NULL.
    pub(super) fn kind(&self) -> i16 {
        self.sqltype & !1
    }

    /// Sets the type, NULL allowed.
    pub(super) fn set(&mut self, kind: i16, length: u16, scale: i16) {
        self.sqltype = kind | 1;
        self.sqllen = length as i16;
        self.sqlscale = scale;
    }

    /// Bytes of a value, without the length in front of a VARYING.
    pub(super) fn length(&self) -> usize {
        // Firebird takes the field as unsigned: texts go up to 65,535 bytes.
        usize::from(self.sqllen as u16)
    }

    /// Name under which the column was asked for.
    pub(super) fn alias(&self) -> String {
        let (length, bytes) = &self.names[3];
        String::from_utf8_lossy(&bytes[..(*length).clamp(0, 32) as usize]).into_owned()
    }
}

/// Descriptor of a row as the library sees it; `vars` are as many as `sqln` says.
#[repr(C)]
pub(super) struct Sqlda {
    version: i16,
    sqldaid: [u8; 8],
    sqldabc: i32,
    sqln: i16,
    sqld: i16,
    vars: [Var; 0],
}

/// A row: its descriptor, its values, and which of them are NULL. The memory is kept, so that a
/// prepared statement runs without an allocation of ours.
pub(super) struct Row {
    // Whole words of 8 bytes keep every structure and every number where the processor wants it.
    descriptor: Box<[u64]>,
    values: Box<[u64]>,
    nulls: Box<[i16]>,
    places: Box<[usize]>,
}

// SAFETY: the pointers in the descriptor lead into the row's own memory only.
unsafe impl Send for Row {}

impl Row {
    /// A descriptor with room for `columns`, all of them without memory yet.
    pub(super) fn with_room(columns: usize) -> Self {
        let bytes = offset_of!(Sqlda, vars) + columns.max(1) * size_of::<Var>();
        let mut row = Self {
            descriptor: vec![0; bytes.div_ceil(8)].into(),
            values: Box::default(),
            nulls: Box::default(),
            places: Box::default(),
        };
        let head = row.head();
        head.version = VERSION as i16;
        head.sqln = columns.max(1) as i16;
        row
    }

    fn head(&mut self) -> &mut Sqlda {
        // SAFETY: the memory is larger than the structure, aligned to 8 and filled; all its bit patterns are valid.
        unsafe { &mut *self.descriptor.as_mut_ptr().cast::<Sqlda>() }
    }

    /// What the library's functions take.
    pub(super) fn as_mut_ptr(&mut self) -> *mut Sqlda {
        self.descriptor.as_mut_ptr().cast()
    }

    /// Columns that the statement has, by the last description; may be more than there is room for.
    pub(super) fn described(&mut self) -> usize {
        usize::from(self.head().sqld as u16)
    }

    /// The columns that are described and have room.
    pub(super) fn vars(&mut self) -> &mut [Var] {
        let count = self.described().min(usize::from(self.head().sqln as u16));
        let start = self.descriptor.as_mut_ptr().cast::<u8>();
        // SAFETY: `with_room` made room for `sqln` columns behind the head, zeroed; a zeroed `Var` is valid.
        unsafe { std::slice::from_raw_parts_mut(start.add(offset_of!(Sqlda, vars)).cast::<Var>(), count) }
    }

    /// Gives every column the memory that its type needs. Values that were there are lost.
    pub(super) fn allocate(&mut self) {
        let mut words = 0;
        let mut places = Vec::new();
        for var in self.vars() {
            places.push(words * 8);
            let prefix = if var.kind() == kind::VARYING { 2 } else { 0 };
            words += (prefix + var.length()).div_ceil(8).max(1);
        }
        self.places = places.into();
        self.values = vec![0; words].into();
        self.nulls = vec![0; self.places.len()].into();
        let (values, nulls) = (self.values.as_mut_ptr().cast::<u8>(), self.nulls.as_mut_ptr());
        for at in 0..self.places.len() {
            let place = self.places[at];
            let var = &mut self.vars()[at];
            // SAFETY: both lie within the memory made above.
            (var.sqldata, var.sqlind) = unsafe { (values.add(place), nulls.add(at)) };
        }
    }

    /// Bytes of column `at`.
    #[inline]
    pub(super) fn bytes(&self, at: usize) -> &[u8] {
        let range = self.range(at);
        // SAFETY: the values are this long, and any bytes are valid.
        let all = unsafe { std::slice::from_raw_parts(self.values.as_ptr().cast::<u8>(), self.values.len() * 8) };
        &all[range]
    }

    /// Bytes of column `at`, to be written.
    #[inline]
    pub(super) fn bytes_mut(&mut self, at: usize) -> &mut [u8] {
        let (range, length) = (self.range(at), self.values.len() * 8);
        // SAFETY: as in `bytes`.
        let all = unsafe { std::slice::from_raw_parts_mut(self.values.as_mut_ptr().cast::<u8>(), length) };
        &mut all[range]
    }

    /// Where column `at` lies among the values.
    fn range(&self, at: usize) -> std::ops::Range<usize> {
        self.places[at]..self.places.get(at + 1).copied().unwrap_or(self.values.len() * 8)
    }

    /// Whether column `at` is NULL.
    #[inline]
    pub(super) fn is_null(&self, at: usize) -> bool {
        self.nulls[at] < 0
    }

    /// Says whether column `at` is NULL.
    #[inline]
    pub(super) fn set_null(&mut self, at: usize, null: bool) {
        self.nulls[at] = if null { -1 } else { 0 };
    }
}

// Sizes by ibase.h where pointers have 64 bits.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<*mut c_void>() == 8 && size_of::<Var>() == 160 && offset_of!(Sqlda, vars) == 24);
