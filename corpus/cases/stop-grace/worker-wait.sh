# The same worker; the shell waits with "wait", which a signal ends at once.
trap 'kill $! 2>/dev/null; exit 0' TERM
echo ready
while :; do
    sleep 30 &
    wait $!
done
