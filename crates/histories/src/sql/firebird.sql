-- Lists of items on Firebird.

-- word: {list} = varchar(4000)

-- name: append
UPDATE lists SET items = items || CAST(? AS varchar(20)) WHERE id = ?
