# A repository of 150 small files.
set -e
git init -q repo
cd repo
i=0
while [ $i -lt 150 ]; do echo "content of file $i" > f$i; i=$((i + 1)); done
git add .
git -c user.name=a -c user.email=a@example.org commit -q -m files
