#!lua flags=no-writes
-- Whether the user may do what a consumer does, and the streams are streams.
-- KEYS[1] stream   KEYS[2] dead letters, if there are any   ARGV[1] group
-- the commands that are refused, or {key, type} in place of one for a key of another type
local function denied(...)
  return not redis.acl_check_cmd(...)
end
local has_parts = {XGROUP = true, XINFO = true}
local found = {}
local function look(...)
  if denied(...) then
    local command = {...}
    found[#found + 1] = has_parts[command[1]] and command[1] .. ' ' .. command[2] or command[1]
  end
end
local stream, group = KEYS[1], ARGV[1]
look('XREADGROUP', 'GROUP', group, 'c', 'STREAMS', stream, '>')
look('XGROUP', 'CREATE', stream, group, '0', 'MKSTREAM')
look('XGROUP', 'CREATECONSUMER', stream, group, 'c')
look('XGROUP', 'DELCONSUMER', stream, group, 'c')
look('XPENDING', stream, group)
look('XCLAIM', stream, group, 'c', 0, '0-1', 'JUSTID')
look('XACK', stream, group, '0-1')
look('XINFO', 'STREAM', stream)
look('XINFO', 'GROUPS', stream)
look('XINFO', 'CONSUMERS', stream, group)
look('EXISTS', stream)
look('TYPE', stream)
if ARGV[2] == '1' or KEYS[2] then
  look('XDEL', stream, '0-1')
end
if KEYS[2] then
  look('XRANGE', stream, '0-1', '0-1')
  look('XADD', KEYS[2], '*', 'f', 'v')
  look('TYPE', KEYS[2])
end
if #found == 0 then
  for _, key in ipairs(KEYS) do
    local kind = redis.call('TYPE', key)['ok']
    if kind ~= 'stream' and kind ~= 'none' then
      return {{key, kind}}
    end
  end
end
return found
