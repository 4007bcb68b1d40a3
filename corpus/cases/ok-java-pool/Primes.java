import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

public class Primes {
    static int primes(int from, int to) {
        int found = 0;
        for (int number = from; number < to; number++) {
            boolean prime = number > 1;
            for (int factor = 2; prime && factor * factor <= number; factor++) {
                prime = number % factor != 0;
            }
            found += prime ? 1 : 0;
        }
        return found;
    }

    public static void main(String[] arguments) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(2);
        List<Future<Integer>> parts = new ArrayList<>();
        for (int part = 0; part < 40; part++) {
            int from = part * 40000;
            parts.add(pool.submit(() -> primes(from, from + 40000)));
        }
        int found = 0;
        for (Future<Integer> part : parts) {
            found += part.get();
        }
        pool.shutdown();
        System.out.println(found);
    }
}
