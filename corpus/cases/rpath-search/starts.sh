# Starts a program 25 times.
i=0
while [ $i -lt 25 ]; do "$1" || exit 1; i=$((i + 1)); done
