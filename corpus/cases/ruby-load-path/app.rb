# Loads all parts and does some work; by name along the load path or by their full names.
folders = (0...120).map { |i| File.join(__dir__, "gems/g#{i}/lib") }
$LOAD_PATH.unshift(*folders) if ARGV[0] == 'path'
160.times do |i|
  name = "part#{i}.rb"
  ARGV[0] == 'path' ? load(name) : load(File.join(folders[119 - i % 20], name))
end
x = 1
3_000_000.times { |i| x = (x * 31 + i) & 0xffff }
puts $loaded, x
