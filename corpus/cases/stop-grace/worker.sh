# A worker that waits for work and wants to leave when it is asked to.
trap 'exit 0' TERM
echo ready
while :; do
    sleep 30
done
