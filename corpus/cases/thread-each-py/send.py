import sys
import threading

sent = []


def send(number):
    sent.append(sum(i * number for i in range(300)) % 97)


def each():
    for number in range(1500):
        thread = threading.Thread(target=send, args=(number,))
        thread.start()
        thread.join()


def one():
    for number in range(1500):
        send(number)


each() if sys.argv[1] == "each" else one()
print(sum(sent))
