# Lines of 700 bytes through a pipe; the reader needs the length of each.
generate() {
    printf -v pad '%700s' x
    for ((i = 0; i < 250; i++)); do echo "$i $pad"; done
}
read_each() { n=0; while IFS= read -r l; do n=$((n + $(expr length "$l"))); done; echo $n; }
read_own() { n=0; while IFS= read -r l; do n=$((n + ${#l})); done; echo $n; }
generate | read_$1
