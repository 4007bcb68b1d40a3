import java.util.HashMap;
import java.util.Map;

/** Keeps 200,000 entries and makes short-lived ones beside them. */
public class Cache {
    record Entry(int id, long[] data) {}

    public static void main(String[] a) {
        Map<Integer, Entry> kept = new HashMap<>();
        for (int i = 0; i < 200_000; i++) kept.put(i, new Entry(i, new long[6]));
        long sum = 0;
        for (int i = 0; i < 3_000_000; i++) {
            Entry e = new Entry(i, new long[8]);
            e.data[i & 7] = i;
            sum += e.data[3] + kept.get(i % 200_000).id();
            if (i % 16 == 0) kept.put(i % 200_000, new Entry(i % 200_000, new long[6]));
        }
        System.out.println(sum);
    }
}
