import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Runs small tasks, each in a thread of its own or in a pool of four. */
public class Tasks {
    static final AtomicLong sum = new AtomicLong();

    static void task(int i) {
        long x = i;
        for (int k = 0; k < 900_000; k++) x = x * 6364136223846793005L + 1;
        sum.addAndGet(x & 255);
    }

    public static void main(String[] a) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < 400; i++) {
            int n = i;
            if (a[0].equals("pool")) {
                pool.execute(() -> task(n));
                continue;
            }
            Thread t = new Thread(() -> task(n));
            t.start();
            t.join();
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.MINUTES);
        System.out.println(sum);
    }
}
