-- Lists of items on MariaDB and MySQL.

-- word: {list} = varchar(4000)

-- name: append
UPDATE lists SET items = CONCAT(items, ?) WHERE id = ?
