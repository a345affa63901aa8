--- The server's commands: `call` stops the script with the error of a command, `try` returns it as a table with `err`.
-- Gives call, try
local call, try = redis.call, redis.pcall
