// The JDK's HTTP server with a pool of eight threads. Of PLANT requests one is planted: it asks
// another service (at PEER), which takes its time. ARGS: PORT PEER
import com.sun.net.httpserver.*;
import java.net.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

class Service {
    static final int EVERY = Integer.parseInt(System.getenv().getOrDefault("PLANT", "0"));
    static final AtomicInteger COUNT = new AtomicInteger();
    static int peer;

    static void enrich() throws Exception {
        try (var body = new URL("http://127.0.0.1:" + peer + "/").openStream()) {
            body.readAllBytes();
        }
    }

    static void serve(HttpExchange x) throws Exception {
        x.getRequestBody().readAllBytes();
        if (EVERY > 0 && COUNT.incrementAndGet() % EVERY == 0) enrich();
        x.sendResponseHeaders(200, 3);
        x.getResponseBody().write("ok\n".getBytes());
        x.close();
    }

    public static void main(String[] args) throws Exception {
        peer = Integer.parseInt(args[1]);
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 1024);
        server.setExecutor(Executors.newFixedThreadPool(8));
        server.createContext("/", x -> {
            try {
                serve(x);
            } catch (Exception error) {
                throw new java.io.IOException(error);
            }
        });
        server.start();
    }
}
