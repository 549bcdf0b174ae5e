# Vitrine behind Varnish. `serve` needs --trusted-proxy 127.0.0.1/32 and --cache-max-age, which says for how long answers
# to GET without a token are kept. What has a token is passed on by the built-in rules that follow these.
vcl 4.1;

backend vitrine {
    .host = "127.0.0.1";
    .port = "8080";
}

sub vcl_recv {
    if (req.http.Upgrade ~ "(?i)websocket") {
        return (pipe);
    }
}

sub vcl_pipe {
    if (req.http.Upgrade) {
        set bereq.http.Upgrade = req.http.Upgrade;
        set bereq.http.Connection = req.http.Connection;
    }
}
