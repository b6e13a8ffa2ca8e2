#!lua flags=no-writes
-- Which commands the user may send. Asked here, a command that is denied leaves no trace.
-- ARGV: for each command, how many words it has, and these
-- for each command 1 may, 0 may not, -1 there is no such command
local may, at = {}, 1
while at <= #ARGV do
  local last = at + tonumber(ARGV[at])
  local known, allowed = pcall(redis.acl_check_cmd, unpack(ARGV, at + 1, last))
  may[#may + 1] = known and (allowed and 1 or 0) or -1
  at = last + 1
end
return may
