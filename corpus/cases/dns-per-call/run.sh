# In a network of its own: a name server on port 53 that takes 8 ms, and the client.
set -e
echo "nameserver 127.0.0.1" > resolv.conf
mount --bind resolv.conf /etc/resolv.conf
python3 dns.py &
while [ ! -e up ]; do sleep 0.02; done
rm up
python3 client.py "$1"
kill $!
