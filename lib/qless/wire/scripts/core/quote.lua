--- A string as JSON.
local quote = cjson.encode
