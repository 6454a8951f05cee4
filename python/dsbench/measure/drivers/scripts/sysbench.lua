-- dsbench's transactions for sysbench, on dsbench's tables, by the calls that its own oltp scripts make. --work is
-- select or tpcb, --call the statement of a call in its place; --db-ps-mode=disable sends statements as text.

sysbench.cmdline.options = {
   scale = {"Scale of the tables", 1},
   work = {"select or tpcb", "select"},
   call = {"Statement of the call, if any", ""},
   setup = {"Statement for each new session, if any", ""}
}

local INT = sysbench.sql.type.INT
local FILLER = "'Qm7rT2xWv9LkZp4JhN8sYc3BdF6g'"
local NAMES = {select = {"aid"}, tpcb = {"aid", "tid", "bid", "delta"}}

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
   if sysbench.opt.setup ~= "" then
      con:query(sysbench.opt.setup)
   end
   if sysbench.opt.call ~= "" then
      work = {statement(sysbench.opt.call, NAMES[sysbench.opt.work])}
   elseif sysbench.opt.work == "select" then
      work = {statement("SELECT abalance FROM account WHERE aid = ?", {"aid"})}
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

local function account(bid)
   local home = bid
   if sysbench.opt.scale > 1 and sysbench.rand.uniform(1, 100) > 85 then
      home = 1 + (bid + sysbench.rand.uniform(0, sysbench.opt.scale - 2)) % sysbench.opt.scale
   end
   return (home - 1) * 100000 + sysbench.rand.uniform(1, 100000)
end

function event()
   local drawn = {tid = sysbench.rand.uniform(1, 10 * sysbench.opt.scale)}
   drawn.bid = math.floor((drawn.tid - 1) / 10) + 1
   if sysbench.opt.work == "select" then
      drawn.aid = sysbench.rand.uniform(1, 100000 * sysbench.opt.scale)
   else
      drawn.aid = account(drawn.bid)
      drawn.delta = sysbench.rand.uniform(0, 1999998) - 999999
   end
   for _, one in ipairs(work) do
      for i, name in ipairs(one.names) do
         one.params[i]:set(drawn[name])
      end
      one.statement:execute()
   end
end

-- What a collision ended is begun anew, which PostgreSQL does not do before it was taken back.
function sysbench.hooks.before_restart_event(_)
   con:query("ROLLBACK")
end

function thread_done()
   for _, one in ipairs(work) do
      one.statement:close()
   end
   con:disconnect()
end
