--- Every key and channel begins with this.
local prefix = 'ql:'
