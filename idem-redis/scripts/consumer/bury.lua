#!lua
-- Moves a message to the dead letters if it is still pending as it was seen.
-- KEYS[1] stream   KEYS[2] dead letters   ARGV[1] group   ARGV[2] consumer   ARGV[3] id
-- ARGV[4] deliveries   ARGV[5] least idle time in ms   ARGV[6] '1': deletes it for every group
-- ARGV[7] error
-- 0 pending for nobody, 1 moved, 2 deleted from the stream before, 3 delivered again since
local id = ARGV[3]
local row = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)[1]
if not row then
  return 0
end
if row[2] ~= ARGV[2] or row[4] ~= tonumber(ARGV[4]) or row[3] < tonumber(ARGV[5]) then
  return 3
end
local entry = redis.call('XRANGE', KEYS[1], id, id)[1]
if entry then
  redis.call('XADD', KEYS[2], '*', 'idem.stream', KEYS[1], 'idem.id', id, 'idem.group', ARGV[1],
    'idem.deliveries', ARGV[4], 'idem.error', ARGV[7], unpack(entry[2]))
end
redis.call('XACK', KEYS[1], ARGV[1], id)
if not entry then
  return 2
end
-- Another group may not have read it yet.
if ARGV[6] == '1' or #redis.call('XINFO', 'GROUPS', KEYS[1]) == 1 then
  redis.call('XDEL', KEYS[1], id)
end
return 1
