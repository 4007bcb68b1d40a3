# A configuration, known hosts and a table of hosts.
i=0
while [ $i -lt 60 ]; do
    printf 'Host web%s db%s\n    HostName 10.0.0.%s\n' $i $i $i >> config
    echo "srv$i.example.org,10.1.0.$i ssh-ed25519 AAAA" >> known
    echo "10.2.0.$i    box$i  # a box" >> hosts
    i=$((i + 1))
done
