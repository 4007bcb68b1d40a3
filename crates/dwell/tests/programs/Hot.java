// Methods that the virtual machine compiles: for so many milliseconds, or until it is killed, one
// thread computes and another waits for a lock that nobody gives.
public class Hot {
    static final Object NEVER = new Object();

    static int scatter(int value, int rounds) {
        for (int i = 0; i < rounds; i++) value = (value * 16777619) ^ i;
        return value;
    }

    static void waits() {
        synchronized (NEVER) {
            try {
                NEVER.wait();
            } catch (InterruptedException error) {
                throw new RuntimeException(error);
            }
        }
    }

    public static void main(String[] args) {
        long milliseconds = Long.parseLong(args[0]);
        Thread waiter = new Thread(Hot::waits, "waiter");
        waiter.setDaemon(true);
        waiter.start();
        System.out.println("ready");
        int value = 1;
        long begun = System.nanoTime();
        while (milliseconds == 0 || System.nanoTime() - begun < milliseconds * 1000000) {
            value = scatter(value, 50000);
        }
        System.out.println(value != 0);
    }
}
