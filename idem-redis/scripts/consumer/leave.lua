#!lua flags=allow-oom
-- Takes consumers out of the group that have nothing pending: this one, and those that have died.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] this consumer if it leaves, or ''
-- ARGV[3] what the names of the others begin with   ARGV[4] how long they have been away, in ms
-- how many were taken out
local left = 0
for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local of = {}
  for i = 1, #info, 2 do
    of[info[i]] = info[i + 1]
  end
  local name = of['name']
  local is_other = string.sub(name, 1, #ARGV[3]) == ARGV[3] and of['idle'] > tonumber(ARGV[4])
  if of['pending'] == 0 and (name == ARGV[2] or is_other) then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], name)
    left = left + 1
  end
end
return left
