/** Writes 11,000 subtitles into one text. */
public class Subtitles {
    static String caption(int i) {
        return i + "\n00:00:" + i % 60 + ",000\ncaption number " + i + "\n\n";
    }

    static String plus(int n) {
        String s = "";
        for (int i = 0; i < n; i++) s += caption(i);
        return s;
    }

    static String builder(int n) {
        StringBuilder s = new StringBuilder();
        for (int i = 0; i < n; i++) s.append(caption(i));
        return s.toString();
    }

    public static void main(String[] a) {
        String s = a[0].equals("plus") ? plus(11000) : builder(11000);
        System.out.println(s.length() + " " + s.hashCode());
    }
}
