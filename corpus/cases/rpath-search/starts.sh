# Starts a program 12 times.
i=0
while [ $i -lt 12 ]; do "$1" || exit 1; i=$((i + 1)); done
