import java.net.Socket;

/** Asks a service forty things over some connections. */
public class Ask {
    static int ask(Socket s) throws Exception {
        s.getOutputStream().write("select 1".getBytes());
        return s.getInputStream().read(new byte[100]);
    }

    public static void main(String[] a) throws Exception {
        int k = Integer.parseInt(a[1]);
        Thread[] ts = new Thread[k];
        for (int t = 0; t < k; t++) {
            ts[t] = new Thread(() -> {
                try (Socket s = new Socket("127.0.0.1", Integer.parseInt(a[0]))) {
                    s.setTcpNoDelay(true);
                    for (int i = 0; i < 40 / k; i++) ask(s);
                } catch (Exception e) {
                    throw new RuntimeException(e);
                }
            });
            ts[t].start();
        }
        for (Thread t : ts) t.join();
        System.out.println("asked");
    }
}
