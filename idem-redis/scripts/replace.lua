#!lua
-- Puts a record in the place of the one that was seen. Not at maxmemory: it starts new work.
-- KEYS[1] record   ARGV[1] head that was seen   ARGV[2] the new record   ARGV[3] its life in ms
-- ARGV[4] empty, or: only a lapsed reservation with at most so many ms of its life left
-- 0 nothing there, 1 replaced, or the record that stands
local stands = redis.call('GET', KEYS[1])
if not stands then
  return 0
end
-- A record that is shorter than its head cannot be read: somebody else's.
local head = #stands >= 68 and string.sub(stands, 1, 18)
local new = string.sub(ARGV[2], 1, 18)
if new ~= ARGV[1] and head == new then
  -- The repeat of a replace whose reply was lost.
  return 1
end

local function has_lapsed()
  if string.byte(stands, 2) ~= 0 then
    return false
  end
  local retention = 0
  for at = 35, 42 do
    retention = retention * 256 + string.byte(stands, at)
  end
  local left = redis.call('PTTL', KEYS[1])
  if left < 0 then
    return false
  end
  -- Counted in whole milliseconds it may be up to one too few, and a lease must not end too early.
  left = left + 1
  return left <= retention and left <= tonumber(ARGV[4])
end

if head == ARGV[1] and (ARGV[4] == '' or has_lapsed()) then
  redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
  redis.pcall('SPUBLISH', KEYS[1], '')
  return 1
end
return stands
