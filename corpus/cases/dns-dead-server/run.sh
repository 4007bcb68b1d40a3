# In a network of its own: a name server on 127.0.0.1, and a silent socket on 127.0.0.2.
set -e
printf 'nameserver %s\nnameserver 127.0.0.1\noptions timeout:1\n' "$1" > resolv.conf
mount --bind resolv.conf /etc/resolv.conf
python3 dns.py &
while [ ! -e up ]; do sleep 0.02; done
rm up
./look
kill $!
