#!lua flags=allow-oom
-- Keeps messages of this consumer from going idle.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] consumer   then for each message: id, deliveries
-- for each: 0 pending for nobody, 1 renewed, 2 deleted from the stream, 3 delivered again since
local found = {}
for i = 3, #ARGV, 2 do
  local id = ARGV[i]
  local row = redis.call('XPENDING', KEYS[1], ARGV[1], id, id, 1)[1]
  local answer = 0
  if row and (row[2] ~= ARGV[2] or row[4] ~= tonumber(ARGV[i + 1])) then
    answer = 3
  elseif row then
    -- The server claims nothing that has been deleted, and ends its being pending.
    local claimed = redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, id, 'JUSTID')
    answer = #claimed == 0 and 2 or 1
  end
  found[#found + 1] = answer
end
return found
