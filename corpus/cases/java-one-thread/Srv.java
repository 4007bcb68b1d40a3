import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.net.InetSocketAddress;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;

/** "/own" serves in the dispatcher's thread, "/pool" in one of ten; a page takes 15 ms. */
public class Srv {
    static void page(HttpExchange x) {
        try (x) {
            Thread.sleep(15);
            byte[] b = "page".getBytes();
            x.sendResponseHeaders(200, b.length);
            x.getResponseBody().write(b);
        } catch (Exception e) {
            throw new RuntimeException(e);
        }
    }

    public static void main(String[] a) throws Exception {
        HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(a[0])), 64);
        Executor pool = Executors.newFixedThreadPool(10);
        s.createContext("/own", Srv::page);
        s.createContext("/pool", x -> pool.execute(() -> page(x)));
        s.start();
    }
}
