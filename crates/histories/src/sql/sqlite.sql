-- Lists of items on SQLite.

-- word: {list} = text

-- name: append
UPDATE lists SET items = items || ? WHERE id = ?
