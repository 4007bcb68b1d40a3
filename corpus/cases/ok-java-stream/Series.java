import java.util.stream.LongStream;

/** Counts the numbers below 600,000 whose Collatz series is long. */
public class Series {
    static int steps(long n) {
        int k = 0;
        for (; n != 1; k++) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
        return k;
    }

    public static void main(String[] a) {
        System.out.println(LongStream.range(1, 600_000).parallel().filter(n -> steps(n) > 200).count());
    }
}
