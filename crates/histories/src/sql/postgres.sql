-- Lists of items on PostgreSQL.

-- word: {list} = text

-- name: append
UPDATE lists SET items = items || ? WHERE id = ?
