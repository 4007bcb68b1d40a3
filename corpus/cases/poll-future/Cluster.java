// Runs fourteen commands on a node of a cluster. Each needs the answer of the one before.
import java.util.ArrayList;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

class Cluster {
    static ArrayList<String> keys(long seed, int n) {
        ArrayList<String> keys = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            seed = seed * 6364136223846793005L + 1442695040888963407L;
            keys.add("slot:" + (seed >>> 50) + ":" + (seed >>> 40 & 63));
        }
        return keys;
    }

    static TreeMap<String, Integer> count(ArrayList<String> keys) {
        TreeMap<String, Integer> found = new TreeMap<>();
        for (String k : keys) found.merge(k, 1, Integer::sum);
        return found;
    }

    static long digest(TreeMap<String, Integer> found) {
        long sum = 17;
        for (var e : found.entrySet()) {
            String s = e.getKey() + "=" + e.getValue();
            for (int i = 0; i < s.length(); i++) sum = sum * 31 + s.charAt(i);
        }
        return sum;
    }

    static long command(long seed, int n) {
        return digest(count(keys(seed, n)));
    }

    static long collect(Future<Long> answer, boolean poll) throws Exception {
        while (poll && !answer.isDone()) Thread.sleep(20);
        return answer.get();
    }

    public static void main(String[] args) throws Exception {
        boolean poll = args[0].equals("poll");
        ExecutorService node = Executors.newSingleThreadExecutor();
        long sum = 1;
        for (int i = 0; i < 14; i++) {
            long seed = sum;
            int n = 15000 + 2100 * (i * 5 % 14);
            sum = collect(node.submit(() -> command(seed, n)), poll);
        }
        System.out.println(sum);
        node.shutdown();
    }
}
