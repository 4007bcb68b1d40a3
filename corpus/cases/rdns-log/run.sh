# In a network of its own: a name server on port 53 that takes 10 ms, and the program.
set -e
echo "nameserver 127.0.0.1" > resolv.conf
mount --bind resolv.conf /etc/resolv.conf
python3 dns.py &
while [ ! -e up ]; do sleep 0.02; done
rm up
python3 serve.py "$1"
kill $!
