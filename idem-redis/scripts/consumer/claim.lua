#!lua flags=allow-oom
-- Takes over messages that have been idle for long enough.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] consumer
-- then for each message: id, deliveries as they were seen, least idle time in ms
-- for each: {id, fields} taken over, 0 somebody was faster, 2 deleted from the stream
local found = {}
for i = 3, #ARGV, 3 do
  local id, idle = ARGV[i], ARGV[i + 2]
  local row = redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', idle, id, id, 1)[1]
  local answer = 0
  if row and row[4] == tonumber(ARGV[i + 1]) then
    answer = redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], idle, id)[1] or 2
  end
  found[#found + 1] = answer
end
return found
