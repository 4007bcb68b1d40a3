# Looks for the owner of each file in the list of users.
function owner(id,    line, w, name) {
    while ((getline line < "users.txt") > 0) {
        split(line, w, " ")
        if (w[1] == id) name = w[2]
    }
    close("users.txt")
    return name
}
{ n[owner($2)]++ }
END { for (u in n) s += n[u] * length(u); print s }
