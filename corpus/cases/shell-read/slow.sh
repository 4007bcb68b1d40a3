# Sums the second column, line by line.
s=0
while IFS=' ' read -r a b c; do s=$((s + b)); done < data.txt
echo $s
