import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Asks a service for 30 names with a pool of "up to eight" threads, each with its connection. */
public class Lookup {
    static final class Link {
        final BufferedReader in;
        final OutputStream out;

        Link(int port) {
            try {
                Socket socket = new Socket("127.0.0.1", port);
                socket.setTcpNoDelay(true);
                in = new BufferedReader(new InputStreamReader(socket.getInputStream()));
                out = socket.getOutputStream();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        int ask(String name) throws IOException {
            out.write((name + "\n").getBytes(StandardCharsets.US_ASCII));
            return Integer.parseInt(in.readLine());
        }
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[0]);
        int core = Integer.parseInt(args[1]);
        ThreadLocal<Link> link = ThreadLocal.withInitial(() -> new Link(port));
        ThreadPoolExecutor pool =
                new ThreadPoolExecutor(core, 8, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>());
        List<Future<Integer>> answers = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            String name = "host-" + i * i;
            answers.add(pool.submit(() -> link.get().ask(name)));
        }
        int sum = 0;
        for (Future<Integer> answer : answers) {
            sum += answer.get();
        }
        pool.shutdown();
        System.out.println(sum);
        System.exit(0);
    }
}
