# Sums the squares of all lines, with a command for each square.
{
    command = "expr " $1 " '*' " $1
    command | getline square
    close(command)
    sum += square
}
END { print sum }
