-- Put behind lib.lua in every script that changes what was accepted. Redis takes
-- no write from a script that begins when the memory is full, except where the
-- script has written before; a deletion needs no memory and is always taken. So
-- only new transactions are refused, and those that are there go on.
call('DEL', P .. 'none')
