# Lists the hosts 25 times, as a completion that is asked again and again.
by_pipes() {
    cat <(cat config | grep -i '^host ' | grep -v '[*?%]' | sed 's/^[Hh]ost //' | tr ' ' '\n') \
        <(cat known | cut -d' ' -f1 | tr ',' '\n' | grep -v '^10\.') \
        <(cat hosts | grep -v '^#' | sed 's/#.*//' | awk '{ print $2 }') | sort -u
}
by_one() {
    awk 'FILENAME == "config" && tolower($1) == "host" { for (i = 2; i <= NF; i++) if ($i !~ /[*?%]/) n[$i] }
         FILENAME == "known" { split($1, w, ","); for (k in w) if (w[k] !~ /^10\./) n[w[k]] }
         FILENAME == "hosts" && !/^#/ { n[$2] }
         END { for (h in n) print h }' config known hosts | sort
}
for ((r = 0; r < 25; r++)); do by_$1; done | cksum
