/** Counts primes below 700,000, eight times. */
public class Sieve {
    static int primes(int n) {
        boolean[] composite = new boolean[n];
        int count = 0;
        for (int i = 2; i < n; i++) {
            if (composite[i]) continue;
            count++;
            for (long k = (long) i * i; k < n; k += i) composite[(int) k] = true;
        }
        return count;
    }

    public static void main(String[] a) {
        int sum = 0;
        for (int i = 0; i < 8; i++) sum += primes(700_000);
        System.out.println(sum);
    }
}
