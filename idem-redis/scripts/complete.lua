#!lua flags=allow-oom
-- Stores the outcome over its owner's reservation, and only there.
-- KEYS[1] record   ARGV[1] head of the reservation   ARGV[2] the outcome   ARGV[3] ttl in ms
-- 0 gone, 1 stored, 2 already stored by this owner, or the record that stands
local stands = redis.call('GET', KEYS[1])
if not stands then
  return 0
end
-- A record that is shorter than its head cannot be read: somebody else's.
local head = #stands >= 68 and string.sub(stands, 1, 18)
if head == ARGV[1] then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  -- A user without the right to publish must not turn what is stored into an error.
  redis.pcall('SPUBLISH', KEYS[1], '')
  return 1
end
if head == string.sub(ARGV[2], 1, 18) then
  return 2
end
return stands
