#!lua flags=no-writes
-- Up to where the group has done everything.
-- KEYS[1] stream   ARGV[1] group
-- {1, first id that is pending}, or {0, last id that was delivered}
local pending = redis.call('XPENDING', KEYS[1], ARGV[1])
if pending[1] > 0 then
  return {1, pending[2]}
end
for _, info in ipairs(redis.call('XINFO', 'GROUPS', KEYS[1])) do
  local of = {}
  for i = 1, #info, 2 do
    of[info[i]] = info[i + 1]
  end
  if of['name'] == ARGV[1] then
    return {0, of['last-delivered-id']}
  end
end
