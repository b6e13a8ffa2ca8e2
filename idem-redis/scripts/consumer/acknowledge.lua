#!lua flags=allow-oom
-- Acknowledges the messages of runs: those of one run together, or none of them. No message comes twice.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] consumer   ARGV[3] '1': deletes them as well
-- ARGV[4], ARGV[5] the least and the greatest id
-- then for each run: how many messages, and for each of them id, deliveries
-- for each message: 0 pending for nobody, 1 this consumer's, 3 delivered again since; those of a run are
-- acknowledged where all are 1. If all of all runs are 1, how many messages in place of that
local key, group, consumer = KEYS[1], ARGV[1], ARGV[2]
-- One look at all of them takes a fraction of one at each. It is bounded, since there may be many more
-- between them; what it does not reach is looked at by itself.
local seen = {}
for _, row in ipairs(redis.call('XPENDING', key, group, ARGV[4], ARGV[5], #ARGV, consumer)) do
  seen[row[1]] = row[4]
end
local function look(id, deliveries)
  if seen[id] == deliveries then return 1 end
  local row = redis.call('XPENDING', key, group, id, id, 1)[1]
  if not row then return 0 end
  return row[2] == consumer and row[4] == deliveries and 1 or 3
end

local found, done, at = {}, {}, 6
while at <= #ARGV do
  local last, before, all_mine = at + 2 * tonumber(ARGV[at]), #done, true
  for i = at + 1, last, 2 do
    local answer = look(ARGV[i], tonumber(ARGV[i + 1]))
    found[#found + 1] = answer
    done[#done + 1] = ARGV[i]
    all_mine = all_mine and answer == 1
  end
  for i = #done, all_mine and #done + 1 or before + 1, -1 do
    done[i] = nil
  end
  at = last + 1
end
-- Lua does not hand on any number of arguments at once.
for i = 1, #done, 1000 do
  local last = math.min(i + 999, #done)
  redis.call('XACK', key, group, unpack(done, i, last))
  if ARGV[3] == '1' then
    redis.call('XDEL', key, unpack(done, i, last))
  end
end
return #done == #found and #found or found
