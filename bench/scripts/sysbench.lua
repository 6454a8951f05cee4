-- dsbench's transactions for sysbench, on dsbench's tables, by the calls that its own oltp scripts make. --work is
-- select, tpcb or call; --db-ps-mode=disable sends them as text. Run with --rand-type=uniform.

sysbench.cmdline.options = {
   scale = {"Scale of the tables", 1},
   work = {"select, tpcb or call", "select"},
   call = {"Statement of the call", ""}
}

local INT = sysbench.sql.type.INT
local FILLER = "'Qm7rT2xWv9LkZp4JhN8sYc3BdF6g'"

local function statement(sql, names)
   local made = {names = names, params = {}}
   made.statement = con:prepare(sql)
   for i = 1, #names do
      made.params[i] = made.statement:bind_create(INT)
   end
   if #names > 0 then
      made.statement:bind_param(unpack(made.params))
   end
   return made
end

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   if sysbench.opt.work == "select" then
      work = {statement("SELECT abalance FROM account WHERE aid = ?", {"aid"})}
   elseif sysbench.opt.work == "call" then
      work = {statement(sysbench.opt.call, {"aid", "tid", "bid", "delta"})}
   else
      work = {
         statement("BEGIN", {}),
         statement("UPDATE account SET abalance = abalance + ? WHERE aid = ?", {"delta", "aid"}),
         statement("SELECT abalance FROM account WHERE aid = ?", {"aid"}),
         statement("UPDATE teller SET tbalance = tbalance + ? WHERE tid = ?", {"delta", "tid"}),
         statement("UPDATE branch SET bbalance = bbalance + ? WHERE bid = ?", {"delta", "bid"}),
         statement("INSERT INTO history (tid, bid, aid, delta, mtime, filler) VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, "
                   .. FILLER .. ")", {"tid", "bid", "aid", "delta"}),
         statement("COMMIT", {})
      }
   end
end

function event()
   local drawn = {
      aid = sysbench.rand.uniform(1, 100000 * sysbench.opt.scale),
      tid = sysbench.rand.uniform(1, 10 * sysbench.opt.scale),
      delta = sysbench.rand.uniform(0, 1999998) - 999999
   }
   drawn.bid = math.floor((drawn.tid - 1) / 10) + 1
   for _, one in ipairs(work) do
      for i, name in ipairs(one.names) do
         one.params[i]:set(drawn[name])
      end
      one.statement:execute()
   end
end

function thread_done()
   for _, one in ipairs(work) do
      one.statement:close()
   end
   con:disconnect()
end
