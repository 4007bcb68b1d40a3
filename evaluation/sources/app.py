"""A WSGI application that computes its answer."""


def app(_environ, start_response):
    body = b"%d\n" % sum(i * i % 7 for i in range(5000))
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
