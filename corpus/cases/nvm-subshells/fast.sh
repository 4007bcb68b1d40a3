# The same, with answers in a variable.
trim() { REPLY=${1#v}; }
alias_of() { REPLY="v$(($1 % 22)).$(($1 % 7)).0"; }
resolve() { alias_of "$1"; trim "$REPLY"; }
for ((i = 0; i < 120; i++)); do
    resolve $i
    [ -n "$REPLY" ] || exit 1
done
echo "$REPLY"
