/* Calls what cannot be unwound. */
long spins_lost(long turns);
int main(void)
{
    return spins_lost(400000000) == 0;
}
