#!lua flags=allow-oom
-- Takes back what a registration has made, unless somebody uses it by now.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] consumer   ARGV[3..5] '1' if it made stream, group, consumer
-- 1 done
local function is_pending(...)
  return #redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 1, ...) > 0
end
if ARGV[5] == '1' and not is_pending(ARGV[2]) then
  redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
end
if ARGV[4] == '1' and not is_pending() and #redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1]) == 0 then
  redis.call('XGROUP', 'DESTROY', KEYS[1], ARGV[1])
end
if ARGV[3] == '1' and #redis.call('XINFO', 'GROUPS', KEYS[1]) == 0 then
  local info = redis.call('XINFO', 'STREAM', KEYS[1])
  for i = 1, #info, 2 do
    if info[i] == 'last-generated-id' and info[i + 1] == '0-0' then
      redis.call('DEL', KEYS[1])
    end
  end
end
return 1
