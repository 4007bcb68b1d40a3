# The same, with the list of users read once.
BEGIN { while ((getline line < "users.txt") > 0) { split(line, w, " "); name[w[1]] = w[2] } }
{ n[name[$2]]++ }
END { for (u in n) s += n[u] * length(u); print s }
