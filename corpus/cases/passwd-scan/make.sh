# 400 users, and 1,500 files of theirs.
awk 'BEGIN { for (i = 0; i < 400; i++) print i, "user" i, "/home/user" i, "some text" }' > users.txt
awk 'BEGIN { for (i = 0; i < 1500; i++) print "file" i, i * 7919 % 400 }' > owners.txt
