#!lua flags=no-writes
-- The record and what is left of its life in ms, in one step: a record with the life of the one
-- after it could look as if it had lapsed. (A transaction would do, but not at maxmemory.)
-- KEYS[1] record
-- nil, or the record and its life; -1: it has no end
local stands = redis.call('GET', KEYS[1])
if not stands then
  return false
end
return {stands, redis.call('PTTL', KEYS[1])}
