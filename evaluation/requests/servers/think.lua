-- wrk: each connection thinks for 0 to 2 THINK ms between its requests. Prints how many were
-- answered, and p50 and p99 in us.
local think = tonumber(os.getenv("THINK"))
function delay() return math.random(0, 2 * think) end
function done(summary, latency, requests)
  io.write(string.format("%d %d %d %d\n", summary.requests, latency:percentile(50),
    latency:percentile(99), summary.errors.status + summary.errors.read + summary.errors.timeout))
end
