# Ranks of players, kept in order while results come in.
by_sort = ARGV[0] == "sort"
seed = 17
ranks = []
1500.times do |number|
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  entry = [seed, "player-#{number}"]
  if by_sort
    ranks << entry
    ranks = ranks.sort_by { |points, name| [points, name] }
  else
    at = ranks.bsearch_index { |other| (other <=> entry) >= 0 } || ranks.size
    ranks.insert(at, entry)
  end
end
puts ranks[0][1], ranks[-1][1]
