"""Resolves one name again and again with dnspython, which keeps no answers unless told to.

Arguments: the name server's address, how often.
"""

import sys

import dns.resolver

resolver = dns.resolver.Resolver(configure=False)
resolver.nameservers = [sys.argv[1]]
for _ in range(int(sys.argv[2])):
    resolver.resolve("db.example.test.", "A")
