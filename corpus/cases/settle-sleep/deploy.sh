# Five steps; each is done at once, and is followed by a sleep or by the next.
step() {
    local i n=0
    for ((i = 0; i < 20000; i++)); do n=$(((n * 31 + i) % 65521)); done
    echo "step $1: $n"
}
for s in 1 2 3 4 5; do
    step $s
    if [ "$1" = sleep ]; then sleep 0.2; fi
done
