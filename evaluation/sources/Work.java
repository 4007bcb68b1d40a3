// Work for a JVM: one hot method, much garbage, a contended monitor, sleep, and a server that
// computes an answer.
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executors;

public class Work {
    static volatile long sink;
    static final Object LOCK = new Object();

    static long hot(int rounds) {
        long sum = 0;
        for (int i = 1; i < rounds; i++) sum = (sum * 31 + (i % 97) * (long) i) % 1000003;
        return sum;
    }

    static boolean before(long end) {
        return System.nanoTime() < end;
    }

    static void collect(long end) {
        Object[] kept = new Object[1000];
        for (int i = 0; before(end); i++) {
            kept[i % kept.length] = new byte[10000 + i % 5000];
        }
        sink = kept.length;
    }

    static void lock(long end) throws InterruptedException {
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                while (before(end)) {
                    synchronized (LOCK) {
                        sink += hot(200000);
                    }
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
    }

    static void server(int port) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress("127.0.0.1", port), 64);
        server.createContext("/", exchange -> {
            byte[] answer = (hot(200000) + "\n").getBytes();
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(4));
        server.start();
        Thread.currentThread().join();
    }

    public static void main(String[] arguments) throws Exception {
        double number = Double.parseDouble(arguments[1]);
        long end = System.nanoTime() + (long) (number * 1e9);
        switch (arguments[0]) {
            case "hot" -> { while (before(end)) sink += hot(1000000); }
            case "collect" -> collect(end);
            case "lock" -> lock(end);
            case "sleep" -> Thread.sleep((long) (number * 1000));
            case "server" -> server((int) number);
            default -> System.exit(2);
        }
    }
}
