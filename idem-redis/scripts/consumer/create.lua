#!lua flags=allow-oom
-- Creates what is missing of a stream, its group and a consumer.
-- KEYS[1] stream   ARGV[1] group   ARGV[2] consumer   ARGV[3] id after which a new group reads
-- ARGV[4] id up to which the group had done everything when it was last seen, or ''
-- {stream, group, consumer}: 1 for what was made, 0 for what was there

-- The id as a text that compares as the id does.
local function ordered(id)
  local millis, sequence = string.match(id, '(%d+)-(%d+)')
  return string.rep('0', 20 - #millis) .. millis .. string.rep('0', 20 - #sequence) .. sequence
end

local is_new = redis.call('EXISTS', KEYS[1]) == 0
local start = ARGV[3]
if ARGV[4] ~= '' then
  start = ARGV[4]
  if is_new then
    start = '0'
  else
    local info = redis.call('XINFO', 'STREAM', KEYS[1])
    for i = 1, #info, 2 do
      -- Another stream of that name, whose ids begin anew.
      if info[i] == 'last-generated-id' and ordered(info[i + 1]) < ordered(start) then
        start = '0'
      end
    end
  end
end
local group = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], start, 'MKSTREAM')
if group.err and not string.find(group.err, 'BUSYGROUP', 1, true) then
  return group
end
local consumer = redis.call('XGROUP', 'CREATECONSUMER', KEYS[1], ARGV[1], ARGV[2])
return {is_new and 1 or 0, group.err and 0 or 1, consumer}
