if #KEYS > 0 then error('No Keys should be provided') end
