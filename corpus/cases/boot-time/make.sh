awk 'BEGIN { for (i = 0; i < 5500; i++) print 100 + i, "(worker" i % 50 ")", 3000 + (i * 7919) % 100003 }' > processes.txt
