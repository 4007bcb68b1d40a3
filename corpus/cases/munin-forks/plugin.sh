# Prints a warning and a critical threshold for each field.
warning=800
field_critical=1300
get() { eval "printf %s \"\${$1}\""; }
by_sub() {
    w=$(get warning)
    c=$(get field_critical)
}
by_eval() {
    eval "w=\${warning}"
    eval "c=\${field_critical}"
}
i=0
while [ $i -lt 400 ]; do
    by_$1
    echo "field$i.warning $w"
    echo "field$i.critical $c"
    i=$((i + 1))
done
