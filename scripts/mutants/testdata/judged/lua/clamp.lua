local function clamp(n)
  if n < 1 then return 0 end
  return n
end

return clamp(given)
