# The start of a version manager: its functions answer through $(...).
trim() { local v=$1; v=${v#v}; echo "$v"; }
plain() { printf '%s' "$1"; }
alias_of() { echo "v$(($1 % 22)).$(($1 % 7)).0"; }
resolve() { local v; v=$(alias_of "$1"); v=$(trim "$v"); echo "$(plain "$v")"; }
for ((i = 0; i < 120; i++)); do
    r=$(resolve $i)
    [ -n "$r" ] || exit 1
done
echo "$r"
