#!lua flags=allow-oom
-- Removes a completed record of the owner.
-- KEYS[1] record   ARGV[1] head of the completed record
-- 1 discarded, 0 not there
local stands = redis.call('GET', KEYS[1])
-- A record that is shorter than its head cannot be read: somebody else's.
if not stands or #stands < 68 or string.sub(stands, 1, 18) ~= ARGV[1] then
  return 0
end
redis.call('DEL', KEYS[1])
redis.pcall('SPUBLISH', KEYS[1], '')
return 1
