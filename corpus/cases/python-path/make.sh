# 150 folders, and the modules in one more.
i=0
while [ $i -lt 150 ]; do mkdir -p lib/p$i; echo "x = 1" > lib/p$i/other$i.py; i=$((i + 1)); done
mkdir -p lib/own
i=0
while [ $i -lt 100 ]; do echo "value = $i" > lib/own/part$i.py; i=$((i + 1)); done
