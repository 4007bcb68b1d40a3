public class Lines {
    public static void main(String[] args) {
        boolean format = args[0].equals("format");
        long length = 0;
        StringBuilder line = new StringBuilder();
        for (int number = 0; number < 250_000; number++) {
            if (format) {
                length += String.format("%s-%d;%d", "item", number, number * 7 % 1000).length();
            } else {
                line.setLength(0);
                line.append("item").append('-').append(number).append(';').append(number * 7 % 1000);
                length += line.length();
            }
        }
        System.out.println(length);
    }
}
