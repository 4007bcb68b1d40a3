// A part of a server: reads its settings, orders them, and is done.
import java.util.TreeMap;

class Part {
    public static void main(String[] args) {
        TreeMap<String, Integer> settings = new TreeMap<>();
        long x = args[0].hashCode();
        for (int i = 0; i < 280000; i++) {
            x = x * 6364136223846793005L + 1442695040888963407L;
            settings.merge(args[0] + "." + (x >>> 51), (int) (x >>> 40 & 15), Math::max);
        }
        StringBuilder text = new StringBuilder();
        settings.forEach((k, v) -> text.append(k).append('=').append(v).append('\n'));
        System.out.println(args[0] + " " + text.toString().hashCode());
    }
}
