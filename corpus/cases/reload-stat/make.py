import os
os.makedirs("src", exist_ok=True)
for i in range(1500):
    with open(f"src/m{i}.py", "w") as f:
        f.write("x = 1\n")
