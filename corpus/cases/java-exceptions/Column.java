/** Parses 1,500,000 cells, a fortieth of which is no date, at a depth of 40 calls. */
public class Column {
    static int parseDate(String s) {
        if (s.charAt(4) != '-') throw new IllegalArgumentException("not a date: " + s);
        return Integer.parseInt(s.substring(0, 4));
    }

    static int caught(String s) {
        try {
            return parseDate(s);
        } catch (IllegalArgumentException e) {
            return 0;
        }
    }

    static int checked(String s) {
        return s.charAt(4) == '-' ? parseDate(s) : 0;
    }

    static long column(boolean check, int depth) {
        if (depth > 0) return column(check, depth - 1) + 1;
        String[] cells = {"2023-01-05", "2022-11-30", "2021-02-14", "2020-07-01"};
        long sum = 0;
        for (int i = 0; i < 1_500_000; i++) {
            String s = i % 40 == 0 ? "unknown value" : cells[i % 4];
            sum += check ? checked(s) : caught(s);
        }
        return sum;
    }

    public static void main(String[] a) {
        System.out.println(column(a[0].equals("check"), 40));
    }
}
