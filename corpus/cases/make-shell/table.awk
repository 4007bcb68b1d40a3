# Makes a table of numbers: three passes over it with different work.
BEGIN {
    n = 190000
    for (i = 0; i < n; i++) text[i] = sprintf("%06d;%s", (i * 7919) % 1000003, i % 97)
    for (i = 0; i < n; i++) { split(text[i], f, ";"); count[f[2]] += f[1] }
    for (i = 0; i < n; i++) { if (match(text[i], /9+[0-4]/)) hits++; total += length(text[i]) }
    for (k in count) sum += count[k]
    print n, hits, total, sum
}
