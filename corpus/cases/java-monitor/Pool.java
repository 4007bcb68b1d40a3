import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/** Four transfers add and remove 1,500 companions each, among 40,000 that stay. */
public class Pool {
    static final List<Integer> list = new ArrayList<>();
    static final ConcurrentHashMap<Integer, Integer> map = new ConcurrentHashMap<>();

    static synchronized void add(int id) {
        list.add(id);
    }

    static synchronized boolean remove(Integer id) {
        return list.remove(id);
    }

    static void transfer(int t, boolean monitor) {
        for (int i = 0; i < 1500; i++) {
            int id = 100_000 + t * 10_000 + i;
            if (monitor) add(id);
            else map.put(id, t);
            if (monitor ? !remove(id) : map.remove(id) == null) throw new IllegalStateException();
        }
    }

    public static void main(String[] a) throws Exception {
        boolean monitor = a[0].equals("monitor");
        for (int i = 0; i < 40_000; i++) {
            list.add(i);
            map.put(i, i);
        }
        Thread[] ts = new Thread[4];
        for (int t = 0; t < 4; t++) {
            int n = t;
            ts[t] = new Thread(() -> transfer(n, monitor));
            ts[t].start();
        }
        for (Thread t : ts) t.join();
        System.out.println(list.size());
    }
}
