import java.security.SecureRandom;
import java.util.concurrent.atomic.AtomicLong;

/** Four threads draw 100,000 nonces of 96 bytes each, and mix each into a sum. */
public class Nonces {
    static final AtomicLong drawn = new AtomicLong();

    static SecureRandom make() {
        try {
            SecureRandom r = SecureRandom.getInstance("SHA1PRNG");
            r.setSeed(7);
            return r;
        } catch (java.security.NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    static final SecureRandom one = make();
    static final ThreadLocal<SecureRandom> own = ThreadLocal.withInitial(Nonces::make);

    static void worker(boolean shared) {
        byte[] nonce = new byte[96];
        long x = 1, n = 0;
        for (int i = 0; i < 100_000; i++) {
            (shared ? one : own.get()).nextBytes(nonce);
            for (int k = 0; k < 60; k++) x = x * 31 + nonce[k];
            if (x != 0) n++;
        }
        drawn.addAndGet(n);
    }

    public static void main(String[] a) throws Exception {
        Thread[] ts = new Thread[4];
        for (int t = 0; t < 4; t++) {
            ts[t] = new Thread(() -> worker(a[0].equals("one")));
            ts[t].start();
        }
        for (Thread t : ts) t.join();
        System.out.println(drawn.get() > 390_000);
    }
}
