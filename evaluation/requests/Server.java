// Java's own HTTP server with a pool of four threads. Plans: lock, sleep, peer, pool (all four are
// busy), cpu. ARGS: PORT PEER-PORT TRUTH
import com.sun.net.httpserver.*;
import java.io.*;
import java.lang.management.*;
import java.net.*;
import java.util.concurrent.*;

class Server {
    static final ThreadMXBean CPU = ManagementFactory.getThreadMXBean();
    static final Object LOCK = new Object();
    static final ThreadLocal<Socket> PEER = new ThreadLocal<>();
    static int peerPort;
    static PrintStream file;

    static long sleep(long ms) throws Exception {
        long from = System.nanoTime();
        Thread.sleep(ms);
        return System.nanoTime() - from;
    }

    static long ask(long ms) throws Exception {
        if (PEER.get() == null) {
            PEER.set(new Socket("127.0.0.1", peerPort));
            PEER.get().setTcpNoDelay(true);
        }
        long from = System.nanoTime();
        PEER.get().getOutputStream().write((ms + "\n").getBytes());
        PEER.get().getInputStream().read(new byte[100]);
        return System.nanoTime() - from;
    }

    static long burn(double ms) {
        long from = CPU.getCurrentThreadCpuTime();
        while (CPU.getCurrentThreadCpuTime() < from + ms * 1e6) ;
        return CPU.getCurrentThreadCpuTime() - from;
    }

    static void serve(HttpExchange x) throws Exception {
        long recv = System.nanoTime(), lock, slept = 0, peer = 0;
        String[] path = x.getRequestURI().getPath().split("/");
        long ms = Long.parseLong(path[2]);
        synchronized (LOCK) {
            lock = System.nanoTime() - recv;
            if (path[1].equals("lock")) slept = sleep(ms);
        }
        if (path[1].equals("sleep") || path[1].equals("pool")) slept = sleep(ms);
        if (path[1].equals("peer")) peer = ask(ms);
        long cpu = burn(path[1].equals("cpu") ? ms : 0.1);
        x.sendResponseHeaders(200, 3);
        x.getResponseBody().write("ok\n".getBytes());
        x.close();
        file.printf("{\"port\":%d,\"n\":-1,\"plan\":\"%s\",\"recv\":%d,\"sent\":%d,\"queued\":0,\"cpu\":%d,"
            + "\"lock\":%d,\"sleep\":%d,\"peer\":%d,\"loop\":0}%n",
            x.getRemoteAddress().getPort(), path[1], recv, System.nanoTime(), cpu, lock, slept, peer);
    }

    public static void main(String[] args) throws Exception {
        peerPort = Integer.parseInt(args[1]);
        file = new PrintStream(new FileOutputStream(args[2], true), true);
        HttpServer s = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])), 1024);
        s.createContext("/", x -> { try { serve(x); } catch (Exception e) { throw new IOException(e); } });
        s.setExecutor(Executors.newFixedThreadPool(4));
        s.start();
    }
}
