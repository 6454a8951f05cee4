-- sysbench's oltp_point_select on dsbench's table: the same calls of its interface in the same order,
-- with the statement of the other clients. Run with --rand-type=uniform.

sysbench.cmdline.options = {
   accounts = {"Rows of the table account", 100000}
}

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   stmt = con:prepare("SELECT abalance FROM account WHERE aid = ?")
   param = stmt:bind_create(sysbench.sql.type.INT)
   stmt:bind_param(param)
end

function event()
   param:set(sysbench.rand.default(1, sysbench.opt.accounts))
   stmt:execute()
end

function thread_done()
   stmt:close()
   con:disconnect()
end
