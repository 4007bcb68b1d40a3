import java.io.InputStream;
import java.io.OutputStream;
import java.net.Socket;

/** Sends 20 requests, each as a head and a body. */
public class Query {
    static int ask(InputStream in, OutputStream out) throws Exception {
        out.write("head".getBytes());
        out.write("select 1 from users;    ".getBytes());
        return in.readNBytes(8).length;
    }

    public static void main(String[] a) throws Exception {
        int n = 0;
        try (Socket s = new Socket("127.0.0.1", Integer.parseInt(a[0]))) {
            s.setTcpNoDelay(Boolean.parseBoolean(a[1]));
            for (int i = 0; i < 20; i++) n += ask(s.getInputStream(), s.getOutputStream());
        }
        System.out.println(n);
    }
}
