#!lua flags=allow-oom
-- Acknowledges the messages of runs: those of one run together, or none of them.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] consumer   ARGV[3] '1': deletes them as well
-- then for each run: how many messages, and for each of them id, deliveries
-- for each message: 0 pending for nobody, 1 this consumer's, 3 delivered again since; those of a run are
-- acknowledged where all are 1
local found, at = {}, 4
while at <= #ARGV do
  local last, all_mine = at + 2 * tonumber(ARGV[at]), true
  for i = at + 1, last, 2 do
    local row = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[i], ARGV[i], 1)[1]
    local is_mine = row and row[2] == ARGV[2] and row[4] == tonumber(ARGV[i + 1])
    found[#found + 1] = not row and 0 or is_mine and 1 or 3
    all_mine = all_mine and is_mine
  end
  for i = at + 1, all_mine and last or 0, 2 do
    redis.call('XACK', KEYS[1], ARGV[1], ARGV[i])
    if ARGV[3] == '1' then
      redis.call('XDEL', KEYS[1], ARGV[i])
    end
  end
  at = last + 1
end
return found
