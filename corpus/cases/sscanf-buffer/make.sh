awk 'BEGIN { for (i = 0; i < 85000; i++) printf "%.4f\n", (i * 7919 % 100003) / 7 }' > points.txt
