--- Every key and channel begins with this.
local ql = 'ql:'
