-- Put behind lib.lua in every script that changes what was accepted, where it is run once
-- more because the memory was full. Redis takes no write from a script that begins when it
-- is, and lets it end there with nothing done, except where the script has written before;
-- a deletion needs no memory and is always taken. So only new transactions are refused, and
-- those that are there go on.
call('DEL', P .. 'none')
