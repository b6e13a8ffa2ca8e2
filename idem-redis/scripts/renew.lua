#!lua flags=allow-oom
-- Sets the life and the retention of the owner's reservation anew. Never creates.
-- KEYS[1] record   ARGV[1] head of the reservation   ARGV[2] retention, 8 bytes   ARGV[3] life in ms
-- ARGV[4] checksum of the reservation with this retention, 4 bytes
-- 0 gone, 1 renewed, 2 taken by another, 3 completed
local stands = redis.call('GET', KEYS[1])
if not stands then
  return 0
end
-- A record that is shorter than its head cannot be read: somebody else's.
if #stands < 68 then
  return 2
end
if string.sub(stands, 1, 18) == ARGV[1] then
  if string.sub(stands, 35, 42) ~= ARGV[2] then
    redis.call('SETRANGE', KEYS[1], 34, ARGV[2])
    redis.call('SETRANGE', KEYS[1], 64, ARGV[4])
  end
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return 1
end
-- Version 1 and state completed.
if string.sub(stands, 1, 2) == '\1\1' then
  return 3
end
return 2
