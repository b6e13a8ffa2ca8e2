#!lua flags=allow-oom
-- The number of the owner's reservation: the server's time in microseconds when first asked for.
-- KEYS[1] record   ARGV[1] head of the reservation
-- the number as 8 bytes, the greatest first; nil: refused
local stands = redis.call('GET', KEYS[1])
-- A record that is shorter than its head cannot be read: somebody else's.
if not stands or #stands < 68 or string.sub(stands, 1, 18) ~= ARGV[1] then
  return false
end
local fence = string.sub(stands, 43, 50)
if fence ~= string.rep('\0', 8) then
  return fence
end
-- Exact until the year 2255: a Lua number holds whole numbers up to 2^53.
local time = redis.call('TIME')
local rest = tonumber(time[1]) * 1000000 + tonumber(time[2])
fence = ''
for _ = 1, 8 do
  fence = string.char(rest % 256) .. fence
  rest = math.floor(rest / 256)
end
redis.call('SETRANGE', KEYS[1], 42, fence)
return fence
