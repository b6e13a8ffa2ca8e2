#!lua flags=allow-oom
-- Lets others take messages at once that were not started, and does not count their delivery.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] consumer
-- then for each message: id, deliveries, idle time it gets in ms
-- how many were given back
local given = 0
for i = 3, #ARGV, 3 do
  local id, deliveries = ARGV[i], tonumber(ARGV[i + 1])
  local row = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)[1]
  if row and row[2] == ARGV[2] and row[4] == deliveries then
    given = given + #redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, id, 'IDLE', ARGV[i + 2],
      'RETRYCOUNT', deliveries - 1, 'JUSTID')
  end
end
return given
