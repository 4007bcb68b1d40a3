import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.InputStream;
import java.io.OutputStream;

/** Copies a file and turns its digits by one. */
public class Copy {
    static int copy(InputStream in, OutputStream out) throws Exception {
        int n = 0;
        for (int c; (c = in.read()) >= 0; n++) out.write(c >= '0' ? '0' + (c - '0' + 1) % 10 : c);
        return n;
    }

    public static void main(String[] a) throws Exception {
        boolean plain = a[0].equals("plain");
        try (InputStream f = new FileInputStream("in.txt");
                OutputStream o = new FileOutputStream("out.txt");
                InputStream in = plain ? f : new BufferedInputStream(f);
                OutputStream out = plain ? o : new BufferedOutputStream(o)) {
            System.out.println(copy(in, out));
        }
    }
}
