# Fetches the configuration of 40 devices in pieces; each piece goes to the log of the session, and
# the configuration of each device gets a check sum and a count of its lines.
require "digest"

careful = ARGV[0] != "light"
log = File.open("session.log", "w")
sums = []

40.times do |device|
  config = +""
  3.times do |piece|
    text = "device #{device} interface #{piece} address 10.0.#{device}.#{piece} mtu 1500\n" * 4
    log.write(text)
    careful ? log.fsync : log.flush
    config << text
  end
  File.write("current", config)
  sums << (careful ? `sha256sum current`.split.first : Digest::SHA256.hexdigest(config))
  sums << (careful ? `wc -l < current`.to_i : config.count("\n"))
end

log.close
puts Digest::SHA256.hexdigest(sums.join), File.size("session.log")
File.delete("session.log", "current")
