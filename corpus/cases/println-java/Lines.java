import java.io.BufferedOutputStream;
import java.io.FileOutputStream;
import java.io.FileDescriptor;
import java.io.PrintStream;

public class Lines {
    public static void main(String[] arguments) {
        PrintStream out = arguments[0].equals("each")
            ? System.out
            : new PrintStream(new BufferedOutputStream(new FileOutputStream(FileDescriptor.out), 1 << 16));
        long sum = 0;
        for (int line = 0; line < 120000; line++) {
            sum += (long) line * line % 97;
            out.println("item " + line + " costs " + sum);
        }
        out.flush();
    }
}
