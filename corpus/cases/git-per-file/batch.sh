# Prints the content of all files with one command.
cd repo
git ls-tree --name-only HEAD | sed 's/^/HEAD:/' | git cat-file --batch='%(objecttype)' \
    | grep content | md5sum
