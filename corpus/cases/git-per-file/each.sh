# Prints the content of each file with a command of its own.
cd repo
git ls-tree --name-only HEAD | while read -r f; do git cat-file -p "HEAD:$f"; done | md5sum
