# Serves 50 requests (here: some work for each) and logs each with its client.
import socket, sys
log = open("access.log", "w")

def log_request(address, i):
    who = socket.getfqdn(address) if sys.argv[1] == "name" else address
    log.write(f"{who} GET /page/{i}\n")

total = 0
for i in range(50):
    total += sum(k % 7 for k in range(40000))
    log_request(f"10.1.2.{i % 9}", i)
print(total)
