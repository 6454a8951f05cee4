//! Values that the tests of several engines write and read.

use dsbench_core::random::Stream;
use dsbench_core::value::{Type, Value};

/// Values that come back as they went.
pub(crate) const VALUES: &[(Type, Value<'static>)] = &[
    (Type::Int64, Value::Int(i64::MIN)),
    (Type::Int64, Value::Int(-1)),
    (Type::Int64, Value::Int(0)),
    (Type::Int64, Value::Int(i64::MAX)),
    (Type::Int32, Value::Int(i32::MIN as i64)),
    (Type::Int16, Value::Int(i16::MAX as i64)),
    (Type::Float64, Value::Float(-0.1)),
    (Type::Decimal(2), Value::Decimal { unscaled: -1250, scale: 2 }),
    (Type::Text, Value::Text("grün ✓ 🦀")),
    (Type::Text, Value::Text("")),
    (Type::Timestamp, Value::Timestamp(-1)),
];

/// Values that do not fit the declared type.
pub(crate) const MISFITS: &[(Type, Value<'static>)] = &[
    (Type::Int16, Value::Int(32_768)),
    (Type::Int32, Value::Int(-2_147_483_649)),
    (Type::Int64, Value::Text("1")),
    (Type::Text, Value::Int(1)),
    (Type::Float64, Value::Int(1)),
    (Type::Timestamp, Value::Timestamp(i64::MIN)),
    (Type::Decimal(2), Value::Float(0.5)),
];

/// Up to 63 bytes, most of them zero.
pub(crate) fn bytes(random: &mut Stream) -> Vec<u8> {
    let length = random.below(64);
    (0..length).map(|_| if random.below(3) == 0 { random.next_u64() as u8 } else { 0 }).collect()
}
