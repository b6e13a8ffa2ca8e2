#!lua flags=allow-oom
-- Keeps messages of this consumer from going idle. No message comes twice.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] consumer
-- then for each message, in ascending order: id, deliveries; 100 at most
-- for each: 0 pending for nobody, 1 renewed, 2 deleted from the stream, 3 delivered again since; if all
-- are 1, how many messages in place of that
local key, group, consumer = KEYS[1], ARGV[1], ARGV[2]
-- One look at all of them takes a fraction of one at each. It is bounded, since there may be more
-- between them; what it does not reach is looked at by itself.
local seen = {}
for _, row in ipairs(redis.call('XPENDING', key, group, ARGV[3], ARGV[#ARGV - 1], #ARGV, consumer)) do
  seen[row[1]] = row[4]
end
local function look(id, deliveries)
  if seen[id] == deliveries then return 1 end
  local row = redis.call('XPENDING', key, group, id, id, 1)[1]
  if not row then return 0 end
  return row[2] == consumer and row[4] == deliveries and 1 or 3
end

local found, mine = {}, {}
for i = 3, #ARGV, 2 do
  local answer = look(ARGV[i], tonumber(ARGV[i + 1]))
  found[#found + 1] = answer
  if answer == 1 then
    mine[#mine + 1] = ARGV[i]
  end
end
if #mine == 0 then return found end
mine[#mine + 1] = 'JUSTID'
-- The server claims nothing that has been deleted, and ends its being pending.
local claimed = redis.call('XCLAIM', key, group, consumer, 0, unpack(mine))
if #claimed == #found then return #found end
local at = 1
for i, answer in ipairs(found) do
  if answer == 1 and claimed[at] == ARGV[2 * i + 1] then
    at = at + 1
  elseif answer == 1 then
    found[i] = 2
  end
end
return found
